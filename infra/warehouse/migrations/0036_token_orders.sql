-- Which order a token is for, and until when; empty for one that is for what all share.
ALTER TABLE access_tokens
    ADD COLUMN IF NOT EXISTS order_id String DEFAULT '' AFTER only_contracts,
    ADD COLUMN IF NOT EXISTS order_until String DEFAULT '' AFTER order_id;
