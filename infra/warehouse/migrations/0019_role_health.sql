-- How a part of the program is that only one process has, as that process last said.
CREATE TABLE IF NOT EXISTS role_health
(
    -- key vault
    part LowCardinality(String),
    -- answering, away, stopped
    state LowCardinality(String),
    since DateTime('UTC'),
    told_at DateTime('UTC'),
    -- What is wrong, in one sentence; empty where nothing is.
    fault String,
    -- Validators whose secret it lacks, and public keys of some of them with commas between them.
    missing UInt32,
    missing_named String,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY part;
