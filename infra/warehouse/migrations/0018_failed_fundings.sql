-- Staking transactions that were broadcast, and how each ended: of the steps of one that of the highest version is where it stands. A row for
-- each validator that it deposits for, or one that names none: its end.
CREATE TABLE IF NOT EXISTS staking_steps
(
    chain LowCardinality(String),
    transaction_hash FixedString(66),
    -- broadcast, mined, failed, replaced, refused, unsent
    step LowCardinality(String),
    -- Of `broadcast`; empty of all others.
    pubkey String,
    time DateTime('UTC'),
    -- Of the final block that it is in: of `mined` and `failed`, 0 otherwise.
    block_number UInt64,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, transaction_hash, step, pubkey);

-- How far the queue of deposits had got at each look at the head: no request of an earlier slot waited any more.
CREATE TABLE IF NOT EXISTS deposit_queue_fronts
(
    chain LowCardinality(String),
    epoch UInt32,
    front_slot UInt64,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, epoch);
