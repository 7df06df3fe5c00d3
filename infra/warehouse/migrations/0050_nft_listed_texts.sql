-- Filled again from the log, so that lists have no names, descriptions and URIs of any length.
DROP TABLE IF EXISTS nft_token_told;
CREATE TABLE nft_token_told
(
    chain LowCardinality(String),
    -- The contract and the token's id: one value is looked up in less time than two.
    token FixedString(52),
    -- document: what was read last; state: how the last attempt to read it ended
    kind LowCardinality(String),
    -- JSON, as lists tell it: without long texts.
    told String,
    -- JSON with all of them; empty where nothing is left out.
    whole String,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, token, kind)
SETTINGS index_granularity = 128, min_compress_block_size = 4096, max_compress_block_size = 8192;
