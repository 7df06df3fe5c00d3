-- Every table is a projection of the event log. A row's identity is its sort key; `version` comes from positions in the log,
-- so writing a row again changes nothing and a newer fact replaces an older one. Read with FINAL.
-- Amounts: *_gwei Int64, *_wei UInt256/Int256. Days are UTC+8 dates.
-- Rows of several chains share a table: the chain comes first in sort key and partition, so that one chain can be replaced or
-- dropped without touching the others. A sort key cannot be changed, hence new tables: they are filled from the log again.

DROP TABLE IF EXISTS chain;
DROP TABLE IF EXISTS beacon_blocks;
DROP TABLE IF EXISTS execution_blocks;
DROP TABLE IF EXISTS finalized_blocks;
DROP TABLE IF EXISTS epochs;
DROP TABLE IF EXISTS validator_epochs;
DROP TABLE IF EXISTS ledger_entries;
DROP TABLE IF EXISTS day_balances;
DROP TABLE IF EXISTS validators;
DROP TABLE IF EXISTS access_tokens;
DROP TABLE IF EXISTS account_validators;
DROP TABLE IF EXISTS fee_rates;
DROP TABLE IF EXISTS daily_rewards;
DROP TABLE IF EXISTS closed_days;
DROP TABLE IF EXISTS settlements;
DROP TABLE IF EXISTS dead_letters;

-- The clocks of the chains that have a beacon chain.
CREATE TABLE IF NOT EXISTS chains
(
    chain LowCardinality(String),
    genesis_time_sec UInt64,
    seconds_per_slot UInt32,
    slots_per_epoch UInt32,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY chain;

-- Blocks as the head shows them; a reverted block is deleted by a newer version.
CREATE TABLE IF NOT EXISTS beacon_blocks
(
    chain LowCardinality(String),
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
PARTITION BY (chain, intDiv(slot, 216000))
ORDER BY (chain, slot, block_root);

-- Execution blocks with what they paid; a reverted block is deleted by a newer version.
CREATE TABLE IF NOT EXISTS execution_blocks
(
    chain LowCardinality(String),
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
    -- How many rows of execution_log_parts the block has; -1 where no event holds its logs.
    log_parts Int32 DEFAULT -1,
    version UInt64,
    is_deleted UInt8
)
ENGINE = ReplacingMergeTree(version, is_deleted)
PARTITION BY (chain, intDiv(block_number, 216000))
ORDER BY (chain, block_hash);

-- The block up to which an execution chain is final: one row per chain.
CREATE TABLE IF NOT EXISTS execution_finality
(
    chain LowCardinality(String),
    block_number UInt64,
    block_hash FixedString(66),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY chain;

-- The events that an execution block's token and system logs came in: a block's logs are complete when all `parts` are there.
CREATE TABLE IF NOT EXISTS execution_log_parts
(
    chain LowCardinality(String),
    block_number UInt64,
    block_hash FixedString(66),
    bucket UInt16,
    part UInt16,
    parts UInt16,
    logs UInt32,
    bytes UInt64,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY (chain, intDiv(block_number, 216000))
ORDER BY (chain, block_hash, part);

-- Finalized blocks with the consensus rewards of their proposers; a slot of a complete epoch without a row was missed.
CREATE TABLE IF NOT EXISTS finalized_blocks
(
    chain LowCardinality(String),
    slot UInt64,
    epoch UInt32,
    day Date,
    block_root FixedString(66),
    proposer_index UInt32,
    execution_block_hash FixedString(66),
    execution_block_number UInt64,
    fee_recipient FixedString(42),
    -- 0: the proposer's rewards were not asked for, because it was not tracked; then they are 0.
    has_rewards UInt8 DEFAULT 1,
    attestations_gwei Int64,
    sync_aggregate_gwei Int64,
    proposer_slashings_gwei Int64,
    attester_slashings_gwei Int64,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY (chain, intDiv(epoch, 6750))
ORDER BY (chain, slot);

-- The events that a finalized epoch consists of, `kind` validators or day_balances (by range) or blocks: those that the blocks
-- event names (is_expected), and those whose rows are in the warehouse. An epoch is complete when none is missing or too short.
-- `rows` is part of the key: a part that was made again for fewer validators does not hide the rows that are there.
CREATE TABLE IF NOT EXISTS epoch_parts
(
    chain LowCardinality(String),
    epoch UInt32,
    kind LowCardinality(String),
    range UInt32,
    is_expected UInt8,
    rows UInt32,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, epoch, kind, range, is_expected, rows);

-- Finalized epochs of which everything is in the warehouse: derived from `epoch_parts`, once all parts are there.
CREATE TABLE IF NOT EXISTS epochs
(
    chain LowCardinality(String),
    epoch UInt32,
    first_slot UInt64,
    last_slot UInt64,
    blocks UInt16,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, epoch);

-- One row per tracked validator and epoch: what the transition into the epoch credited, and the state at the epoch's end.
CREATE TABLE IF NOT EXISTS validator_epochs
(
    chain LowCardinality(String),
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
PARTITION BY (chain, intDiv(epoch, 6750))
ORDER BY (chain, epoch, validator_index);

-- What else changed the balance of a tracked validator or a proposer, signed by its effect: rewards (sync, proposer,
-- slashing_penalty) and capital (withdrawal, deposit, returned_from_queue). `reference` tells entries of one slot, validator
-- and kind apart by the protocol's own number: a withdrawal index, a place in the deposit queue.
CREATE TABLE IF NOT EXISTS ledger_entries
(
    chain LowCardinality(String),
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
PARTITION BY (chain, intDiv(epoch, 6750))
ORDER BY (chain, slot, validator_index, kind, reference);

-- Balances that a day starts with: post-state of the last slot before it.
CREATE TABLE IF NOT EXISTS day_balances
(
    chain LowCardinality(String),
    day Date,
    validator_index UInt32,
    balance_gwei Int64,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY (chain, toYYYYMM(day))
ORDER BY (chain, day, validator_index);

-- Names of tracked validators that the registry knows.
CREATE TABLE IF NOT EXISTS validators
(
    chain LowCardinality(String),
    validator_index UInt32,
    pubkey FixedString(98),
    withdrawal_credentials FixedString(66),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, validator_index);

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
    chain LowCardinality(String),
    pubkey FixedString(98),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (account, chain, pubkey);

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
    chain LowCardinality(String),
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
PARTITION BY (chain, toYYYYMM(day))
ORDER BY (chain, day, validator_index);

-- Days that are complete and closed: written after the day's rows.
CREATE TABLE IF NOT EXISTS closed_days
(
    chain LowCardinality(String),
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
PARTITION BY chain
ORDER BY (chain, day);

-- Settled execution revenue: one row per account and finalized block; deleted by a newer version when the block's revenue is
-- no longer proven.
CREATE TABLE IF NOT EXISTS settlements
(
    chain LowCardinality(String),
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
PARTITION BY chain
ORDER BY (chain, account, slot);

-- Events that could not be processed, with the reason. The chain is empty where the event does not tell it.
CREATE TABLE IF NOT EXISTS dead_letters
(
    chain LowCardinality(String),
    event_id String,
    consumer_group LowCardinality(String),
    topic LowCardinality(String),
    event_type String,
    event_time DateTime64(3, 'UTC'),
    reason String,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, consumer_group, topic, event_id);

-- The log that the tables were filled from: rows of one log are never replaced by versions of another.
CREATE TABLE IF NOT EXISTS filled_from
(
    log_id String,
    since DateTime('UTC')
)
ENGINE = MergeTree
ORDER BY since;

-- Removals of chains whose rows are dropped: each is done once.
CREATE TABLE IF NOT EXISTS dropped_chains
(
    removal_id String
)
ENGINE = MergeTree
ORDER BY removal_id;

-- What a rebuild has finished beside the live tables and is putting in their place: repeated after an interruption.
CREATE TABLE IF NOT EXISTS rebuild_exchanges
(
    started DateTime64(3, 'UTC'),
    chain String,
    -- Tables, and up to where the log is in them: processors/loop/exchange.ts.
    content String,
    version UInt64,
    is_deleted UInt8
)
ENGINE = ReplacingMergeTree(version, is_deleted)
ORDER BY started;
