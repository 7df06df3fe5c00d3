-- Until when orders are paid that were extended: of their keys the later of this and `access_tokens.order_until` counts.
CREATE TABLE IF NOT EXISTS order_ends
(
    order_id String,
    until String,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY order_id;
