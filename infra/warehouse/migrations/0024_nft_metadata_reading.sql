-- Filled again from the log, in pieces of the table that suit lookups of a hundred contracts or tokens, and with a text that is searched.
DROP TABLE IF EXISTS nft_contracts;
CREATE TABLE nft_contracts
(
    chain LowCardinality(String),
    contract FixedString(20),
    -- It was read after this block, at this time.
    block_number UInt64,
    block_hash FixedString(32),
    read_at DateTime('UTC'),
    -- A text may be empty, or not there.
    name String,
    has_name UInt8,
    symbol String,
    has_symbol UInt8,
    search_text String MATERIALIZED concat(lowerUTF8(name), '\n', lowerUTF8(symbol)),
    -- ERC721, ERC1155, UNKNOWN; empty where there is no contract
    token_type LowCardinality(String),
    total_supply UInt256,
    has_total_supply UInt8,
    -- Zeros: unknown, for `deploy_reason`.
    deployer FixedString(20),
    -- -1: unknown, for `deploy_reason`.
    deploy_block Int64,
    deploy_reason LowCardinality(String),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, contract)
SETTINGS index_granularity = 128;

DROP TABLE IF EXISTS nft_documents;
CREATE TABLE nft_documents
(
    chain LowCardinality(String),
    contract FixedString(20),
    token_id FixedString(32),
    block_number UInt64,
    read_at DateTime('UTC'),
    json String,
    title String,
    has_title UInt8,
    description String,
    has_description UInt8,
    -- Empty: there are none.
    media String,
    media_type String,
    media_external String,
    -- JSON; empty: there are none.
    attributes String,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, contract, token_id)
SETTINGS index_granularity = 128;

DROP TABLE IF EXISTS nft_token_states;
CREATE TABLE nft_token_states
(
    chain LowCardinality(String),
    contract FixedString(20),
    token_id FixedString(32),
    -- The contract was asked after this block, at this time.
    block_number UInt64,
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
