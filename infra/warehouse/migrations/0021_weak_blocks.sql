-- Blocks whose logs were checked by less than their receipts root, as their chain is configured. Blocks that are not here were
-- checked by it. In the order in which it is asked for: whether there is any of a kind.
CREATE TABLE IF NOT EXISTS weak_blocks
(
    chain LowCardinality(String),
    block_number UInt64,
    block_hash FixedString(32),
    -- bloom, none
    logs_check LowCardinality(String),
    -- Whether it is known which transactions succeeded, and what they cost.
    has_outcomes UInt8,
    version UInt64,
    is_deleted UInt8
)
ENGINE = ReplacingMergeTree(version, is_deleted)
PARTITION BY (chain, intDiv(block_number, 216000))
ORDER BY (chain, logs_check, block_number, block_hash);
