-- 0047 has emptied what is read of logs, but left the table itself, by which it is known what a log was read into: nothing was read again, and
-- nobody held anything. Made anew, it is filled from the log, and who holds what is folded of it.
DROP TABLE IF EXISTS execution_log_parts;
CREATE TABLE execution_log_parts
(
    chain LowCardinality(String),
    block_number UInt64,
    block_hash FixedString(66),
    bucket UInt16,
    part UInt16,
    parts UInt16,
    logs UInt32,
    bytes UInt64,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY (chain, intDiv(block_number, 216000))
ORDER BY (chain, block_number, block_hash, part);
