-- What waits at a chain's head, as JSON (schemas/tables/chain-queues.ts): one row a chain, made anew each epoch.
CREATE TABLE IF NOT EXISTS chain_queues
(
    chain LowCardinality(String),
    slot UInt64,
    facts String CODEC(ZSTD(1)),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY chain;
