-- Every table is a projection of the event log. A row's identity is its sort key; `version` comes from positions in the log,
-- so writing a row again changes nothing and a newer fact replaces an older one. Read with FINAL.
-- Amounts: *_gwei Int64, *_wei UInt256/Int256. Days are UTC+8 dates.

-- The chain that the log tells of: one row.
CREATE TABLE IF NOT EXISTS chain
(
    network LowCardinality(String),
    genesis_time_sec UInt64,
    seconds_per_slot UInt32,
    slots_per_epoch UInt32,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY network;

-- Blocks as the head shows them; a reverted block is deleted by a newer version.
CREATE TABLE IF NOT EXISTS beacon_blocks
(
    slot UInt64,
    block_root FixedString(66),
    parent_root FixedString(66),
    proposer_index UInt32,
    execution_block_hash FixedString(66),
    execution_block_number UInt64,
    version UInt64,
    is_deleted UInt8
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (slot, block_root);

-- Execution blocks with what they paid; a reverted block is deleted by a newer version.
CREATE TABLE IF NOT EXISTS execution_blocks
(
    block_hash FixedString(66),
    block_number UInt64,
    time DateTime('UTC'),
    coinbase FixedString(42),
    transactions UInt32,
    base_fee_per_gas_wei UInt256,
    priority_fees_wei UInt256,
    -- How the revenue was found: local, builder_payment, unexplained.
    revenue_class LowCardinality(String),
    -- What the recipient provably received; 0 where the class is unexplained.
    revenue_wei UInt256,
    -- What the block claims to have paid; differs from the revenue only where the class is unexplained.
    claimed_wei UInt256,
    -- Who got the revenue; it need not belong to the proposer.
    recipient FixedString(42),
    version UInt64,
    is_deleted UInt8
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY block_hash;

-- Finalized blocks with the consensus rewards of their proposers; a slot of a complete epoch without a row was missed.
CREATE TABLE IF NOT EXISTS finalized_blocks
(
    slot UInt64,
    epoch UInt32,
    day Date,
    block_root FixedString(66),
    proposer_index UInt32,
    execution_block_hash FixedString(66),
    execution_block_number UInt64,
    fee_recipient FixedString(42),
    attestations_gwei Int64,
    sync_aggregate_gwei Int64,
    proposer_slashings_gwei Int64,
    attester_slashings_gwei Int64,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY intDiv(epoch, 6750)
ORDER BY slot;

-- Finalized epochs of which everything is in the warehouse: written after the epoch's other rows.
CREATE TABLE IF NOT EXISTS epochs
(
    epoch UInt32,
    first_slot UInt64,
    last_slot UInt64,
    blocks UInt16,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY epoch;

-- One row per tracked validator and epoch: what the transition into the epoch credited, and the state at the epoch's end.
CREATE TABLE IF NOT EXISTS validator_epochs
(
    epoch UInt32 CODEC(DoubleDelta, ZSTD),
    -- Day of the epoch's first slot: what the transition credits belongs to it.
    day Date CODEC(DoubleDelta, ZSTD),
    validator_index UInt32 CODEC(DoubleDelta, ZSTD),
    source_gwei Int64 CODEC(ZSTD),
    target_gwei Int64 CODEC(ZSTD),
    head_gwei Int64 CODEC(ZSTD),
    inactivity_gwei Int64 CODEC(ZSTD),
    balance_gwei Int64 CODEC(Delta, ZSTD),
    effective_balance_gwei Int64 CODEC(ZSTD),
    -- Position in the Beacon API's list of statuses: schemas/events/beacon-epoch.ts.
    status UInt8 CODEC(ZSTD),
    slashed UInt8 CODEC(ZSTD),
    activation_epoch UInt64 CODEC(ZSTD),
    exit_epoch UInt64 CODEC(ZSTD),
    withdrawable_epoch UInt64 CODEC(ZSTD),
    version UInt64 CODEC(DoubleDelta, ZSTD)
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY intDiv(epoch, 6750)
ORDER BY (epoch, validator_index);

-- What else changed the balance of a tracked validator or a proposer, signed by its effect: rewards (sync, proposer,
-- slashing_penalty) and capital (withdrawal, deposit, returned_from_queue). `reference` tells entries of one slot, validator
-- and kind apart by the protocol's own number: a withdrawal index, a place in the deposit queue.
CREATE TABLE IF NOT EXISTS ledger_entries
(
    slot UInt64 CODEC(DoubleDelta, ZSTD),
    epoch UInt32 CODEC(DoubleDelta, ZSTD),
    day Date CODEC(DoubleDelta, ZSTD),
    validator_index UInt32 CODEC(Delta, ZSTD),
    kind LowCardinality(String),
    reference UInt64 CODEC(ZSTD),
    amount_gwei Int64 CODEC(ZSTD),
    version UInt64 CODEC(DoubleDelta, ZSTD)
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY intDiv(epoch, 6750)
ORDER BY (slot, validator_index, kind, reference);

-- Balances that a day starts with: post-state of the last slot before it.
CREATE TABLE IF NOT EXISTS day_balances
(
    day Date,
    validator_index UInt32,
    balance_gwei Int64,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (day, validator_index);

-- Names of tracked validators that the registry knows.
CREATE TABLE IF NOT EXISTS validators
(
    validator_index UInt32,
    pubkey FixedString(98),
    withdrawal_credentials FixedString(66),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY validator_index;

CREATE TABLE IF NOT EXISTS access_tokens
(
    token_hash FixedString(64),
    account LowCardinality(String),
    version UInt64,
    is_deleted UInt8
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY token_hash;

CREATE TABLE IF NOT EXISTS account_validators
(
    account LowCardinality(String),
    pubkey FixedString(98),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (account, pubkey);

CREATE TABLE IF NOT EXISTS fee_rates
(
    account LowCardinality(String),
    effective_from DateTime('UTC'),
    rate String,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (account, effective_from);

-- One row per closed day and validator that was tracked during it. residual_gwei is the balance change that components and
-- flows do not explain: 0, or the figures are not to be trusted.
CREATE TABLE IF NOT EXISTS daily_rewards
(
    day Date,
    validator_index UInt32,
    -- 0: the detail covers a part of the day only (the validator was tracked during it). Then amounts are sums over that
    -- part, counted in totals and never shown as a day's figures, and there are no balances and no residual: they are 0.
    is_whole UInt8 DEFAULT 1,
    source_gwei Int64,
    target_gwei Int64,
    head_gwei Int64,
    inactivity_gwei Int64,
    sync_gwei Int64,
    proposer_gwei Int64,
    slashing_penalty_gwei Int64,
    cl_reward_gwei Int64,
    el_reward_wei UInt256,
    blocks UInt32,
    deposits_gwei Int64,
    withdrawals_gwei Int64,
    returned_from_queue_gwei Int64,
    balance_start_gwei Int64,
    balance_end_gwei Int64,
    residual_gwei Int64,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (day, validator_index);

-- Days that are complete and closed: written after the day's rows.
CREATE TABLE IF NOT EXISTS closed_days
(
    day Date,
    first_slot UInt64,
    last_slot UInt64,
    -- Those with a whole row, those of them with a residual, and those with a row that is not whole.
    validators UInt32,
    validators_unexplained UInt32,
    validators_incomplete UInt32,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY day;

-- Settled execution revenue: one row per account and finalized block; deleted by a newer version when the block's revenue is
-- no longer proven.
CREATE TABLE IF NOT EXISTS settlements
(
    account LowCardinality(String),
    slot UInt64,
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
    version UInt64,
    is_deleted UInt8
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY (account, slot);

-- Events that could not be processed, with the reason.
CREATE TABLE IF NOT EXISTS dead_letters
(
    event_id String,
    consumer_group LowCardinality(String),
    topic LowCardinality(String),
    event_type String,
    event_time DateTime64(3, 'UTC'),
    reason String,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (consumer_group, topic, event_id);
