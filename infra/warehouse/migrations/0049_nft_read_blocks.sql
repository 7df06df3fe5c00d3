-- Filled again from the log, so that what was read after a block that was reverted since is read again.
DROP TABLE IF EXISTS nft_token_states;
CREATE TABLE nft_token_states
(
    chain LowCardinality(String),
    contract FixedString(20),
    token_id FixedString(32),
    -- The contract was asked after this block, at this time.
    block_number UInt64,
    block_hash FixedString(32),
    read_at DateTime('UTC'),
    token_uri String,
    has_token_uri UInt8,
    -- Empty: it was read.
    error LowCardinality(String),
    -- Since it was read last.
    attempts UInt32,
    -- 1970: it was read.
    next_retry DateTime('UTC'),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, contract, token_id)
SETTINGS index_granularity = 128;
