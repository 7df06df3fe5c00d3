-- Tokens of contracts that log as ERC-20 does (Axie, CryptoArte, Cryptovoxels, MakersPlace) are told: logs are read again from the log's
-- beginning, and who holds what is folded of them. A block counts as told once its parts are there again.
TRUNCATE TABLE IF EXISTS execution_log_parts;
TRUNCATE TABLE IF EXISTS nft_transfers;
TRUNCATE TABLE IF EXISTS nft_blocks;
TRUNCATE TABLE IF EXISTS nft_changes;
TRUNCATE TABLE IF EXISTS nft_token_holders;
TRUNCATE TABLE IF EXISTS nft_holder_tokens;
TRUNCATE TABLE IF EXISTS nft_totals;
TRUNCATE TABLE IF EXISTS nft_transfer_lists;

-- Filled again from the log, so that an answer tells why it is not known who has deployed a contract.
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
    -- ERC721, ERC1155, UNKNOWN; empty where there is no contract
    token_type LowCardinality(String),
    total_supply UInt256,
    has_total_supply UInt8,
    -- Zeros: unknown, for `deploy_reason`.
    deployer FixedString(20),
    -- -1: unknown, for `deploy_reason`.
    deploy_block Int64,
    deploy_reason LowCardinality(String),
    -- What an answer tells, as a JSON object: so many columns of a hundred contracts are read three times as long.
    told String MATERIALIZED toJSONString(CAST(
        (
            if(has_name = 1, name, NULL), if(has_symbol = 1, symbol, NULL), token_type,
            if(has_total_supply = 1, toString(total_supply), NULL), lower(hex(deployer)), toString(deploy_block), deploy_reason,
            toUnixTimestamp(read_at), block_number
        ),
        'Tuple(name Nullable(String), symbol Nullable(String), type String, total_supply Nullable(String), deployer String, deploy_block String, deploy_reason String, read_sec UInt32, block UInt64)'
    )),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, contract)
SETTINGS index_granularity = 128, min_compress_block_size = 4096, max_compress_block_size = 8192;
