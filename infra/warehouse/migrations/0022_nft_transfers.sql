-- Who has sent each transaction, of whatever block was announced: of all but a block's last one, who its node says did.
CREATE TABLE IF NOT EXISTS execution_senders
(
    chain LowCardinality(String),
    block_number UInt64,
    block_hash FixedString(32),
    transaction_index UInt32,
    sender FixedString(20),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY (chain, intDiv(block_number, 216000))
ORDER BY (chain, block_number, block_hash, transaction_index);

-- Filled again from the log: a block whose height is there has its senders.
DROP TABLE IF EXISTS execution_heights;
CREATE TABLE execution_heights
(
    chain LowCardinality(String),
    block_number UInt64,
    block_hash FixedString(66),
    parent_hash String,
    time DateTime('UTC'),
    -- How many rows of execution_log_parts the block has; -1 where no event holds its logs.
    log_parts Int32,
    version UInt64,
    is_deleted UInt8
)
ENGINE = ReplacingMergeTree(version, is_deleted)
PARTITION BY (chain, intDiv(block_number, 216000))
ORDER BY (chain, block_number, block_hash);

-- Logs of which nothing could be made, by their contracts. Filled again from the log.
DROP TABLE IF EXISTS nft_odd_logs;
CREATE TABLE nft_odd_logs
(
    chain LowCardinality(String),
    contract FixedString(20),
    block_number UInt64,
    block_hash FixedString(32),
    log_index UInt32,
    event LowCardinality(String),
    -- malformed, too_long, long_range
    reason LowCardinality(String),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, contract, block_number, block_hash, log_index)
SETTINGS index_granularity = 1024;

-- Since when what is held after the block is held without a break, and the time of the block.
ALTER TABLE nft_changes ADD COLUMN IF NOT EXISTS since_block UInt64;
ALTER TABLE nft_changes ADD COLUMN IF NOT EXISTS since_time DateTime('UTC');
ALTER TABLE nft_token_holders ADD COLUMN IF NOT EXISTS since_block UInt64;
ALTER TABLE nft_token_holders ADD COLUMN IF NOT EXISTS since_time DateTime('UTC');
ALTER TABLE nft_holder_tokens ADD COLUMN IF NOT EXISTS since_block UInt64;
ALTER TABLE nft_holder_tokens ADD COLUMN IF NOT EXISTS since_time DateTime('UTC');

-- Folded again, with what was added.
TRUNCATE TABLE IF EXISTS nft_blocks;
TRUNCATE TABLE IF EXISTS nft_changes;
TRUNCATE TABLE IF EXISTS nft_token_holders;
TRUNCATE TABLE IF EXISTS nft_holder_tokens;
TRUNCATE TABLE IF EXISTS nft_holding_changes;
TRUNCATE TABLE IF EXISTS nft_contract_holders;
TRUNCATE TABLE IF EXISTS nft_holder_contracts;
TRUNCATE TABLE IF EXISTS nft_holder_totals;
TRUNCATE TABLE IF EXISTS nft_contract_totals;
TRUNCATE TABLE IF EXISTS nft_token_totals;

-- Transfers of folded blocks, with who has sent their transactions, and what is odd about them; the same in three orders.
CREATE TABLE IF NOT EXISTS nft_folded_transfers
(
    chain LowCardinality(String),
    start UInt64,
    block_number UInt64,
    log_index UInt32,
    batch_index UInt32,
    block_hash FixedString(32),
    time DateTime('UTC'),
    transaction_index UInt32,
    transaction_hash FixedString(32),
    contract FixedString(20),
    standard LowCardinality(String),
    event LowCardinality(String),
    from_address FixedString(20),
    to_address FixedString(20),
    token_id FixedString(32),
    amount UInt256,
    -- Zeros where it is not known.
    sender FixedString(20),
    -- from_not_holder, from_lacks_amount, minted_again, no_amount; several with commas between them
    reasons LowCardinality(String)
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (chain, start, block_number, log_index, batch_index, block_hash)
SETTINGS index_granularity = 1024;

CREATE TABLE IF NOT EXISTS nft_contract_transfers
(
    chain LowCardinality(String),
    start UInt64,
    contract FixedString(20),
    block_number UInt64,
    log_index UInt32,
    batch_index UInt32,
    block_hash FixedString(32),
    time DateTime('UTC'),
    transaction_index UInt32,
    transaction_hash FixedString(32),
    standard LowCardinality(String),
    event LowCardinality(String),
    from_address FixedString(20),
    to_address FixedString(20),
    token_id FixedString(32),
    amount UInt256,
    sender FixedString(20),
    reasons LowCardinality(String)
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (chain, start, contract, block_number, log_index, batch_index, block_hash)
SETTINGS index_granularity = 1024;

-- Of each that has sent (`from`) or received (`to`).
CREATE TABLE IF NOT EXISTS nft_account_transfers
(
    chain LowCardinality(String),
    start UInt64,
    account FixedString(20),
    side LowCardinality(String),
    block_number UInt64,
    log_index UInt32,
    batch_index UInt32,
    block_hash FixedString(32),
    time DateTime('UTC'),
    transaction_index UInt32,
    transaction_hash FixedString(32),
    contract FixedString(20),
    standard LowCardinality(String),
    event LowCardinality(String),
    other FixedString(20),
    token_id FixedString(32),
    amount UInt256,
    sender FixedString(20),
    reasons LowCardinality(String)
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (chain, start, account, side, block_number, log_index, batch_index, block_hash)
SETTINGS index_granularity = 1024;

-- How many transfers there were up to a block: of the chain (kind `all`, no key), a contract, a sender (`from`), a receiver (`to`).
CREATE TABLE IF NOT EXISTS nft_transfer_totals
(
    chain LowCardinality(String),
    start UInt64,
    kind LowCardinality(String),
    key FixedString(20),
    block_number UInt64,
    block_hash FixedString(32),
    transfers UInt64,
    -- Those of ERC-721 among them.
    singles UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (chain, start, kind, key, block_number, block_hash)
SETTINGS index_granularity = 1024;
