-- 0 while the log is being read into tables that were made anew: until its end at that time they are a part of what they were.
ALTER TABLE filled_from ADD COLUMN IF NOT EXISTS is_whole UInt8 DEFAULT 1;
