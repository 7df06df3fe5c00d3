-- Tokens that were ever moved, whatever became of the block: what there is to read.
CREATE TABLE IF NOT EXISTS nft_tokens
(
    chain LowCardinality(String),
    contract FixedString(20),
    token_id FixedString(32),
    -- ERC721, ERC1155: by the log that moved it.
    standard LowCardinality(String),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, contract, token_id)
SETTINGS index_granularity = 1024;

-- Logs by which contracts say that what they tell of tokens has changed: from `first_id` to `last_id`.
CREATE TABLE IF NOT EXISTS nft_metadata_changes
(
    chain LowCardinality(String),
    contract FixedString(20),
    block_number UInt64,
    block_hash FixedString(32),
    log_index UInt32,
    -- MetadataUpdate, BatchMetadataUpdate, URI; ContractURIUpdated, which is of no token
    event LowCardinality(String),
    first_id FixedString(32),
    last_id FixedString(32),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, contract, block_number, block_hash, log_index)
SETTINGS index_granularity = 1024;

-- The newest event of the log that has tokens of a contract (`moved`), or changes (`changed`): versions of one bucket grow.
CREATE TABLE IF NOT EXISTS nft_marks
(
    chain LowCardinality(String),
    kind LowCardinality(String),
    contract FixedString(20),
    bucket UInt16,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, kind, contract);

-- What contracts say of themselves, as it was read last.
CREATE TABLE IF NOT EXISTS nft_contracts
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
SETTINGS index_granularity = 1024;

-- The document of a token that was read last, with what it says.
CREATE TABLE IF NOT EXISTS nft_documents
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
SETTINGS index_granularity = 256;

-- How the last attempt to read a token's document ended.
CREATE TABLE IF NOT EXISTS nft_token_states
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
SETTINGS index_granularity = 1024;
