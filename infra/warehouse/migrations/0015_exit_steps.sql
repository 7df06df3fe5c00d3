-- How far the exit of a validator has come: the newest time of each step. The step of the highest version is where it stands.
CREATE TABLE IF NOT EXISTS exit_steps
(
    chain LowCardinality(String),
    pubkey FixedString(98),
    -- requested, cancelled, signed, submitted, on_chain, failed
    step LowCardinality(String),
    time DateTime('UTC'),
    -- The chain's when it was signed or submitted, or the exit's own once it is on chain; 0 where the log tells none.
    epoch UInt64,
    -- Why it has failed.
    reason LowCardinality(String),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, pubkey, step);
