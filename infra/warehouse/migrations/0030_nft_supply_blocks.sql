-- Filled again from the log: tokens that were ever moved, whatever became of the block, and the blocks in which they came or went.
DROP TABLE IF EXISTS nft_tokens;
CREATE TABLE nft_tokens
(
    chain LowCardinality(String),
    contract FixedString(20),
    token_id FixedString(32),
    -- In which it was minted or burned; 0: it was moved.
    supply_block UInt64,
    -- ERC721, ERC1155: by the log that moved it.
    standard LowCardinality(String),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, contract, token_id, supply_block)
SETTINGS index_granularity = 1024;
