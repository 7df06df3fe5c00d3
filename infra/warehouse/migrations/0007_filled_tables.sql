-- Names and ids of the tables that were filled, as JSON: one that was dropped and made again has another id, and is empty.
ALTER TABLE filled_from ADD COLUMN IF NOT EXISTS tables String DEFAULT '';
