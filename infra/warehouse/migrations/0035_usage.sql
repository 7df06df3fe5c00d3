-- What keys have asked: one row a minute, as the process that has counted it (`writer`) told it last. Hours, days and several processes are sums.
CREATE TABLE IF NOT EXISTS usage_minutes
(
    account LowCardinality(String),
    -- When units were taken.
    minute DateTime('UTC'),
    token_hash FixedString(64),
    protocol LowCardinality(String),
    network LowCardinality(String),
    -- The client's own word, a route, or `other`.
    method LowCardinality(String),
    status UInt16,
    writer FixedString(16),
    calls UInt32,
    billed UInt32,
    request_bytes UInt64,
    answer_bytes UInt64,
    pushes UInt32,
    time_us UInt64,
    -- Calls by how long they took (schemas/usage-times.ts): 36 numbers of 32 bits, little-endian.
    times FixedString(144) CODEC(ZSTD(1)),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(minute)
ORDER BY (account, minute, token_hash, protocol, network, method, status, writer)
TTL minute + INTERVAL 400 DAY
SETTINGS ttl_only_drop_parts = 1;
