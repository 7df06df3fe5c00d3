-- 1: an event of this id was processed after all, and nothing is missing because of it any more.
ALTER TABLE dead_letters ADD COLUMN IF NOT EXISTS is_resolved UInt8 DEFAULT 0;
