-- Validators with a whole row that is left out because an epoch was computed of a state that no block names.
ALTER TABLE closed_days ADD COLUMN IF NOT EXISTS validators_unanchored UInt32 AFTER validators_unexplained;

-- Days are closed again: they were served at a level that they do not have any more.
TRUNCATE TABLE daily_rewards;
TRUNCATE TABLE closed_days;
