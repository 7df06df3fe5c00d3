-- Fewer tables of the fold, with fewer rows: all lists of transfers are one, and so is all that is counted. Folded again.
TRUNCATE TABLE IF EXISTS nft_blocks;
DROP TABLE IF EXISTS nft_folded_transfers;
DROP TABLE IF EXISTS nft_contract_transfers;
DROP TABLE IF EXISTS nft_account_transfers;
DROP TABLE IF EXISTS nft_transfer_totals;
DROP TABLE IF EXISTS nft_contract_holders;
DROP TABLE IF EXISTS nft_holder_contracts;
DROP TABLE IF EXISTS nft_holder_totals;
DROP TABLE IF EXISTS nft_contract_totals;
DROP TABLE IF EXISTS nft_token_totals;
TRUNCATE TABLE IF EXISTS nft_changes;
TRUNCATE TABLE IF EXISTS nft_token_holders;
TRUNCATE TABLE IF EXISTS nft_holder_tokens;

-- How many transfers the chain has up to the block, and those of ERC-721 among them.
ALTER TABLE nft_blocks ADD COLUMN IF NOT EXISTS transfers UInt64;
ALTER TABLE nft_blocks ADD COLUMN IF NOT EXISTS singles UInt64;

-- In nft_token_holders the zero address, which holds nothing, has how many hold a token of ERC-1155: other tokens have one holder.

-- Transfers of folded blocks, with who has sent their transactions, and what is odd about them: all (kind `all`, no key), those of a
-- contract's tokens (`contract`), from an account (`from`), to one (`to`); none from or to the zero address.
CREATE TABLE IF NOT EXISTS nft_transfer_lists
(
    chain LowCardinality(String),
    start UInt64,
    kind LowCardinality(String),
    key FixedString(20),
    block_number UInt64,
    log_index UInt32,
    batch_index UInt32,
    block_hash FixedString(32),
    time DateTime('UTC'),
    transaction_index UInt32,
    transaction_hash FixedString(32),
    contract FixedString(20),
    standard LowCardinality(String),
    event LowCardinality(String),
    from_address FixedString(20),
    to_address FixedString(20),
    token_id FixedString(32),
    amount UInt256,
    -- Zeros where it is not known.
    sender FixedString(20),
    -- from_not_holder, from_lacks_amount, minted_again, no_amount; several with commas between them
    reasons LowCardinality(String)
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (chain, start, kind, key, block_number, log_index, batch_index, block_hash)
SETTINGS index_granularity = 1024;

-- What there is after a block: of a contract (kind `contract`), of an account (`account`), of what an account has of a contract, by
-- contracts (`contract_account`) and by accounts (`account_contract`).
CREATE TABLE IF NOT EXISTS nft_totals
(
    chain LowCardinality(String),
    start UInt64,
    kind LowCardinality(String),
    key FixedString(20),
    -- Of the two the one that is not the key; zeros where there is one.
    other FixedString(20),
    block_number UInt64,
    block_hash FixedString(32),
    -- Tokens that are held; one that several hold counts for each of them.
    tokens UInt64,
    -- Of one account's tokens of one contract, together.
    amount UInt256,
    excess Int64,
    -- Accounts that hold a contract's tokens, contracts whose tokens an account holds.
    others UInt64,
    -- Transfers from an account, and to it, with those of ERC-721 among them; those of a contract's tokens are in `sent`.
    sent UInt64,
    sent_singles UInt64,
    received UInt64,
    received_singles UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (chain, start, kind, key, other, block_number, block_hash)
SETTINGS index_granularity = 1024;
