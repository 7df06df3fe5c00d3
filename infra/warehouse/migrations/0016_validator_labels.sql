-- What accounts call their validators; empty where a label was taken away.
CREATE TABLE IF NOT EXISTS validator_labels
(
    chain LowCardinality(String),
    account String,
    pubkey FixedString(98),
    label String,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, account, pubkey);
