-- Where a validator is paid is said from a UTC+8 day on, and counts until the next row of the same validator and address. What was
-- said until now holds for all of history.
ALTER TABLE fee_recipients ADD COLUMN IF NOT EXISTS from_day Date AFTER fee_recipient, MODIFY ORDER BY (chain, pubkey, fee_recipient, from_day);
