-- What was settled of days when they were locked: whatever is found out of their blocks later, these rows stay. Those count whose lock is
-- among settlement_locks.
CREATE TABLE IF NOT EXISTS locked_settlements
(
    chain LowCardinality(String),
    account LowCardinality(String),
    slot UInt64,
    lock_id String,
    block_number UInt64,
    validator_index UInt32,
    pubkey FixedString(98),
    time DateTime('UTC'),
    fee_address FixedString(42),
    revenue_class LowCardinality(String),
    revenue_wei UInt256,
    fee_rate String,
    service_fee_wei UInt256,
    user_reward_wei UInt256,
    -- Of the record when it was locked, as statements say it.
    settled_version UInt64,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, account, slot, lock_id);

-- Locks that have kept what was settled, of all days up to one.
CREATE TABLE IF NOT EXISTS settlement_locks
(
    account LowCardinality(String),
    lock_id String,
    through Date,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (account, lock_id);

-- 1: the correction is of one block, because more is known of it than when its day was locked.
ALTER TABLE settlement_corrections ADD COLUMN IF NOT EXISTS is_of_block UInt8 AFTER reason;
ALTER TABLE settlement_corrections ADD COLUMN IF NOT EXISTS slot UInt64 AFTER is_of_block;
ALTER TABLE settlement_corrections ADD COLUMN IF NOT EXISTS block_number UInt64 AFTER slot;
