-- Slots of the final chain without a block, with whose turn they were. Rows count that have the version of their epoch's row of epoch_proofs.
CREATE TABLE IF NOT EXISTS missed_slots
(
    chain LowCardinality(String),
    slot UInt64,
    epoch UInt32,
    day Date,
    proposer_index UInt32,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY (chain, intDiv(epoch, 6750))
ORDER BY (chain, slot);

-- 1: it is known whose turn each slot of the epoch was, so that a slot that is not in missed_slots was not missed.
ALTER TABLE epoch_proofs ADD COLUMN IF NOT EXISTS has_proposers UInt8 AFTER state_root;
-- 1: nodes were asked whether they tell the same, so that one which is not in epoch_differences did not tell otherwise.
ALTER TABLE epoch_proofs ADD COLUMN IF NOT EXISTS is_compared UInt8 AFTER has_proposers;

-- What the transition into an epoch and its blocks credited to all validators of the chain, tracked or not. Rows count as those of missed_slots do.
CREATE TABLE IF NOT EXISTS network_epochs
(
    chain LowCardinality(String),
    epoch UInt32,
    -- UTC+8 day of its first slot.
    day Date,
    active_validators UInt32,
    effective_balance_gwei Int64,
    source_gwei Int64,
    target_gwei Int64,
    head_gwei Int64,
    inactivity_gwei Int64,
    sync_gwei Int64,
    proposer_gwei Int64,
    slashing_penalty_gwei Int64,
    -- What source, target and head had been with every vote right and in time.
    ideal_attestations_gwei Int64,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, epoch);

-- Nodes that told something of an epoch otherwise than figures go by. Rows count as those of missed_slots do.
CREATE TABLE IF NOT EXISTS epoch_differences
(
    chain LowCardinality(String),
    epoch UInt32,
    -- By its place in the configuration, never its address.
    node String,
    what LowCardinality(String),
    client String,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, epoch, node, what);
