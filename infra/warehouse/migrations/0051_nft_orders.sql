-- Logs of a block are no longer spread by their contracts, over buckets below 16. A block that was read both ways has parts of both: each
-- reading is counted by itself. Made anew, the table is filled from the log, and with it what else is read of logs.
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
ORDER BY (chain, block_number, block_hash, bucket, part);

-- The newest event of each bucket that has tokens of a contract (`moved`), or changes (`changed`): versions of one bucket grow, and are not
-- compared with another's.
DROP TABLE IF EXISTS nft_marks;
CREATE TABLE nft_marks
(
    chain LowCardinality(String),
    kind LowCardinality(String),
    contract FixedString(20),
    bucket UInt16,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, kind, bucket, contract);

-- What is folded, in orders that begin behind chain and start: all rows of a part have the same ones, by which they would be compared before
-- anything else whenever they are sorted, merged, or looked for. Folded again.
DROP TABLE IF EXISTS nft_blocks;
CREATE TABLE nft_blocks
(
    chain LowCardinality(String),
    -- The first block that is folded: blocks before it change what everybody holds afterwards.
    start UInt64,
    block_number UInt64,
    block_hash FixedString(32),
    parent_hash FixedString(32),
    time DateTime('UTC'),
    -- How many transfers the chain has up to the block, and those of ERC-721 among them.
    transfers UInt64,
    singles UInt64
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (block_number, block_hash);

DROP TABLE IF EXISTS nft_changes;
CREATE TABLE nft_changes
(
    chain LowCardinality(String),
    start UInt64,
    block_number UInt64,
    block_hash FixedString(32),
    contract FixedString(20),
    token_id FixedString(32),
    standard LowCardinality(String),
    holder FixedString(20),
    -- `amount` is the lowest 256 bits of what was received less what was sent up to the block; `excess` the bits above it, which contracts
    -- that keep to their standard leave at 0; -1 where more was sent than received.
    amount UInt256,
    excess Int64
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (block_number, block_hash, contract, token_id, standard, holder)
SETTINGS primary_key_ratio_of_unique_prefix_values_to_skip_suffix_columns = 1;

-- The same in the orders in which it is asked for. The zero address, which holds nothing, has how many hold a token of ERC-1155.
DROP TABLE IF EXISTS nft_token_holders;
CREATE TABLE nft_token_holders
(
    chain LowCardinality(String),
    start UInt64,
    contract FixedString(20),
    token_id FixedString(32),
    standard LowCardinality(String),
    holder FixedString(20),
    block_number UInt64,
    block_hash FixedString(32),
    amount UInt256,
    excess Int64,
    -- Since when what is held after the block is held without a break, and the time of that block.
    since_block UInt64,
    since_time DateTime('UTC')
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (contract, token_id, standard, holder, block_number, block_hash)
SETTINGS index_granularity = 1024, primary_key_ratio_of_unique_prefix_values_to_skip_suffix_columns = 1,
    vertical_merge_algorithm_min_columns_to_activate = 1;

DROP TABLE IF EXISTS nft_holder_tokens;
CREATE TABLE nft_holder_tokens
(
    chain LowCardinality(String),
    start UInt64,
    holder FixedString(20),
    contract FixedString(20),
    token_id FixedString(32),
    standard LowCardinality(String),
    block_number UInt64,
    block_hash FixedString(32),
    amount UInt256,
    excess Int64,
    since_block UInt64,
    since_time DateTime('UTC')
)
ENGINE = ReplacingMergeTree
PARTITION BY (chain, start)
ORDER BY (holder, contract, token_id, standard, block_number, block_hash)
SETTINGS index_granularity = 1024, primary_key_ratio_of_unique_prefix_values_to_skip_suffix_columns = 1,
    vertical_merge_algorithm_min_columns_to_activate = 1;

-- What there is after a block: of a contract, of an account, of what an account has of a contract, by contracts (`contract_account`) and by
-- accounts (`account_contract`).
DROP TABLE IF EXISTS nft_totals;
CREATE TABLE nft_totals
(
    chain LowCardinality(String),
    start UInt64,
    kind Enum8('contract' = 0, 'account' = 1, 'contract_account' = 2, 'account_contract' = 3),
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
ORDER BY (kind, key, other, block_number, block_hash)
SETTINGS index_granularity = 1024, primary_key_ratio_of_unique_prefix_values_to_skip_suffix_columns = 1,
    vertical_merge_algorithm_min_columns_to_activate = 1;

-- Transfers of folded blocks, with who has sent their transactions, and what is odd about them: all (no key), those of a contract's tokens,
-- from an account, to one; none from or to the zero address.
DROP TABLE IF EXISTS nft_transfer_lists;
CREATE TABLE nft_transfer_lists
(
    chain LowCardinality(String),
    start UInt64,
    kind Enum8('all' = 0, 'contract' = 1, 'from' = 2, 'to' = 3),
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
ORDER BY (kind, key, block_number, log_index, batch_index, block_hash)
SETTINGS index_granularity = 1024, primary_key_ratio_of_unique_prefix_values_to_skip_suffix_columns = 1,
    vertical_merge_algorithm_min_columns_to_activate = 1;
