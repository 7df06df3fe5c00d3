-- How the figures of an epoch came about: one row for each epoch whose blocks were told. Rows of its ledger and residuals count that have
-- the version of this row: what an earlier event told of the epoch, and this one does not, is no more.
CREATE TABLE IF NOT EXISTS epoch_proofs
(
    chain LowCardinality(String),
    epoch UInt32,
    -- consistent or anchored, where the figures were computed of states; reported, where a node's reward endpoints told them.
    level LowCardinality(String),
    -- Version of the formulas, and the root of the state after the epoch's last slot; 0 and empty where none was read.
    formulas UInt16,
    state_root String,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, epoch);

-- What states and blocks do not explain of a tracked validator's balance, where that is not 0.
CREATE TABLE IF NOT EXISTS epoch_residuals
(
    chain LowCardinality(String),
    epoch UInt32,
    validator_index UInt32,
    residual_gwei Int64,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY (chain, intDiv(epoch, 6750))
ORDER BY (chain, epoch, validator_index);

-- Flows that were a part of no sum before, signed by their effect on the balance; slashing_penalty_gwei has both penalties of a slashing.
ALTER TABLE daily_rewards ADD COLUMN IF NOT EXISTS moved_to_queue_gwei Int64 AFTER returned_from_queue_gwei;
ALTER TABLE daily_rewards ADD COLUMN IF NOT EXISTS consolidations_in_gwei Int64 AFTER moved_to_queue_gwei;
ALTER TABLE daily_rewards ADD COLUMN IF NOT EXISTS consolidations_out_gwei Int64 AFTER consolidations_in_gwei;
-- How far the day is proven: schemas/tables/day-levels.ts. cl_reward_gwei has the residual where it is the node's rounding.
ALTER TABLE daily_rewards ADD COLUMN IF NOT EXISTS level LowCardinality(String) DEFAULT 'consistent' AFTER residual_gwei;
-- Validators with a whole row whose residual is the node's rounding; validators_unexplained has those with more.
ALTER TABLE closed_days ADD COLUMN IF NOT EXISTS validators_rounded UInt32 AFTER validators;

-- The log is read again from its beginning at the next start, since epochs have no rows here yet. Days' versions are made otherwise.
TRUNCATE TABLE daily_rewards;
TRUNCATE TABLE closed_days;
