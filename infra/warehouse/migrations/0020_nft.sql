-- Tokens that went from one address to another, as the logs of a block tell it, of whatever block was announced: reverted ones too.
-- Bytes are as they are in the log.
CREATE TABLE IF NOT EXISTS nft_transfers
(
    chain LowCardinality(String),
    block_number UInt64,
    block_hash FixedString(32),
    log_index UInt32,
    -- Place in the log: a batch, or a range, is one log with many transfers.
    batch_index UInt32,
    time DateTime('UTC'),
    transaction_index UInt32,
    transaction_hash FixedString(32),
    contract FixedString(20),
    -- ERC721, ERC1155
    standard LowCardinality(String),
    event LowCardinality(String),
    from_address FixedString(20),
    to_address FixedString(20),
    -- Big-endian: in the order of the numbers.
    token_id FixedString(32),
    amount UInt256,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
-- Not by time, which a block in the place of another may change.
PARTITION BY (chain, intDiv(block_number, 216000))
ORDER BY (chain, block_number, block_hash, log_index, batch_index);

-- Logs of events that move tokens, of which nothing could be made: what their contracts hold is not known from then on.
CREATE TABLE IF NOT EXISTS nft_odd_logs
(
    chain LowCardinality(String),
    block_number UInt64,
    block_hash FixedString(32),
    log_index UInt32,
    contract FixedString(20),
    event LowCardinality(String),
    -- malformed, too_long, long_range
    reason LowCardinality(String),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY (chain, intDiv(block_number, 216000))
ORDER BY (chain, block_number, block_hash, log_index);

-- Blocks by their numbers, with what leads from one to the next.
CREATE TABLE IF NOT EXISTS execution_heights
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

-- Blocks that left the canonical chain; one that came back has `is_reverted` 0.
CREATE TABLE IF NOT EXISTS reverted_blocks
(
    chain LowCardinality(String),
    block_number UInt64,
    block_hash FixedString(32),
    is_reverted UInt8,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, block_number, block_hash);

-- Filled again from the log, in the order in which it is asked for.
DROP TABLE IF EXISTS execution_log_parts;
CREATE TABLE execution_log_parts
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
ORDER BY (chain, block_number, block_hash, part);

-- What follows is folded, block after block, of canonical blocks that are there without a gap from `start` on. A row is a function of
-- the chain up to its block, which the hash names: written twice it is the same, and one of a block that was reverted is left out where
-- rows are read (reverted_blocks). Nobody holds what is at the zero address.

-- Blocks that are folded.
CREATE TABLE IF NOT EXISTS nft_blocks
(
    chain LowCardinality(String),
    start UInt64,
    block_number UInt64,
    block_hash FixedString(32),
    parent_hash FixedString(32),
    time DateTime('UTC')
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (chain, start, block_number, block_hash);

-- What holders had before a block and have after it. `amount` is the lowest 256 bits of what was received less what was sent;
-- `excess` the bits above it, which contracts that keep to their standard leave at 0; -1 where more was sent than received.
CREATE TABLE IF NOT EXISTS nft_changes
(
    chain LowCardinality(String),
    start UInt64,
    block_number UInt64,
    block_hash FixedString(32),
    contract FixedString(20),
    token_id FixedString(32),
    standard LowCardinality(String),
    holder FixedString(20),
    amount_before UInt256,
    excess_before Int64,
    amount UInt256,
    excess Int64
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (chain, start, block_number, block_hash, contract, token_id, standard, holder);

-- The same after the block, in the orders in which it is asked for.
CREATE TABLE IF NOT EXISTS nft_token_holders
(
    chain LowCardinality(String),
    start UInt64,
    contract FixedString(20),
    token_id FixedString(32),
    standard LowCardinality(String),
    holder FixedString(20),
    block_number UInt64,
    block_hash FixedString(32),
    amount UInt256,
    excess Int64
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (chain, start, contract, token_id, standard, holder, block_number, block_hash)
SETTINGS index_granularity = 1024;

CREATE TABLE IF NOT EXISTS nft_holder_tokens
(
    chain LowCardinality(String),
    start UInt64,
    holder FixedString(20),
    contract FixedString(20),
    token_id FixedString(32),
    standard LowCardinality(String),
    block_number UInt64,
    block_hash FixedString(32),
    amount UInt256,
    excess Int64
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (chain, start, holder, contract, token_id, standard, block_number, block_hash)
SETTINGS index_granularity = 1024;

-- How many tokens of a contract somebody holds after a block, and the sum of their amounts; and what changed with the block.
CREATE TABLE IF NOT EXISTS nft_holding_changes
(
    chain LowCardinality(String),
    start UInt64,
    block_number UInt64,
    block_hash FixedString(32),
    contract FixedString(20),
    holder FixedString(20),
    tokens_before UInt64,
    tokens UInt64,
    amount UInt256,
    excess Int64
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (chain, start, block_number, block_hash, contract, holder);

CREATE TABLE IF NOT EXISTS nft_contract_holders
(
    chain LowCardinality(String),
    start UInt64,
    contract FixedString(20),
    holder FixedString(20),
    block_number UInt64,
    block_hash FixedString(32),
    tokens UInt64,
    amount UInt256,
    excess Int64
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (chain, start, contract, holder, block_number, block_hash)
SETTINGS index_granularity = 1024;

CREATE TABLE IF NOT EXISTS nft_holder_contracts
(
    chain LowCardinality(String),
    start UInt64,
    holder FixedString(20),
    contract FixedString(20),
    block_number UInt64,
    block_hash FixedString(32),
    tokens UInt64,
    amount UInt256,
    excess Int64
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (chain, start, holder, contract, block_number, block_hash)
SETTINGS index_granularity = 1024;

-- How many there are after a block.
CREATE TABLE IF NOT EXISTS nft_holder_totals
(
    chain LowCardinality(String),
    start UInt64,
    holder FixedString(20),
    block_number UInt64,
    block_hash FixedString(32),
    holdings UInt64,
    contracts UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (chain, start, holder, block_number, block_hash)
SETTINGS index_granularity = 1024;

CREATE TABLE IF NOT EXISTS nft_contract_totals
(
    chain LowCardinality(String),
    start UInt64,
    contract FixedString(20),
    block_number UInt64,
    block_hash FixedString(32),
    -- Pairs of a token and who holds it.
    holdings UInt64,
    holders UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (chain, start, contract, block_number, block_hash)
SETTINGS index_granularity = 1024;

-- Of ERC-1155 alone: other tokens have one holder.
CREATE TABLE IF NOT EXISTS nft_token_totals
(
    chain LowCardinality(String),
    start UInt64,
    contract FixedString(20),
    token_id FixedString(32),
    block_number UInt64,
    block_hash FixedString(32),
    holders UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (chain, start, contract, token_id, block_number, block_hash)
SETTINGS index_granularity = 1024;
