-- How far what was read of contracts, or of tokens, is told: the newest event of each bucket, whose versions grow.
CREATE TABLE IF NOT EXISTS nft_metadata_positions
(
    chain LowCardinality(String),
    -- contracts, tokens
    kind LowCardinality(String),
    bucket UInt16,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, kind, bucket);
