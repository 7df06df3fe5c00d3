-- What is searched, apart from what is looked up: larger pieces are scanned in less time.
CREATE TABLE IF NOT EXISTS nft_contract_names
(
    chain LowCardinality(String),
    contract FixedString(20),
    -- Name and symbol, lower-case, each between line breaks, so that a beginning and an end are parts, too.
    search_text String CODEC(NONE),
    address_text String MATERIALIZED lower(hex(contract)) CODEC(NONE),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, contract)
SETTINGS index_granularity = 1024;

-- Words of names and symbols, those that contracts were called before, too: what somebody may have meant who has made a typing error.
CREATE TABLE IF NOT EXISTS nft_words
(
    chain LowCardinality(String),
    -- Bytes: one typing error or two leave nearly as many.
    letters UInt16,
    word String,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, letters, word)
SETTINGS index_granularity = 1024;

ALTER TABLE nft_contracts DROP COLUMN IF EXISTS search_text, DROP COLUMN IF EXISTS address_text;
