-- The slot that the chain was at when a validator was created; -1 where the log tells only the time.
ALTER TABLE created_validators ADD COLUMN IF NOT EXISTS created_at_slot Int64 DEFAULT -1 AFTER created_at;
