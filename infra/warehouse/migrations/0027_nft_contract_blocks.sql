-- Filled again from the log, so that an answer tells after which block a contract was read.
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
    -- Each between line breaks, so that a beginning and an end are parts, too.
    search_text String MATERIALIZED concat('\n', lowerUTF8(name), '\n', lowerUTF8(symbol), '\n') CODEC(NONE),
    address_text String MATERIALIZED lower(hex(contract)) CODEC(NONE),
    -- ERC721, ERC1155, UNKNOWN; empty where there is no contract
    token_type LowCardinality(String),
    total_supply UInt256,
    has_total_supply UInt8,
    -- Zeros: unknown, for `deploy_reason`.
    deployer FixedString(20),
    -- -1: unknown, for `deploy_reason`.
    deploy_block Int64,
    deploy_reason LowCardinality(String),
    -- What an answer tells, as a JSON object: twelve columns of a hundred contracts are read three times as long.
    told String MATERIALIZED toJSONString(CAST(
        (
            if(has_name = 1, name, NULL), if(has_symbol = 1, symbol, NULL), token_type,
            if(has_total_supply = 1, toString(total_supply), NULL), lower(hex(deployer)), toString(deploy_block),
            toUnixTimestamp(read_at), block_number
        ),
        'Tuple(name Nullable(String), symbol Nullable(String), type String, total_supply Nullable(String), deployer String, deploy_block String, read_sec UInt32, block UInt64)'
    )),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, contract)
SETTINGS index_granularity = 128, min_compress_block_size = 4096, max_compress_block_size = 8192;
