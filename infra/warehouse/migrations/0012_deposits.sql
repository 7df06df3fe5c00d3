-- The deposit contract of each chain, as its beacon node tells it.
CREATE TABLE IF NOT EXISTS deposit_contracts
(
    chain LowCardinality(String),
    address FixedString(42),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY chain;

-- Logs of deposits, by whatever contract emitted them, of whatever block was announced: only those of the chain's deposit contract in
-- blocks that are canonical are deposits.
CREATE TABLE IF NOT EXISTS deposits
(
    chain LowCardinality(String),
    pubkey FixedString(98),
    contract FixedString(42),
    block_hash FixedString(66),
    log_index UInt32,
    block_number UInt64,
    time DateTime('UTC'),
    transaction_hash FixedString(66),
    withdrawal_credentials FixedString(66),
    amount_gwei UInt64,
    -- Hash tree root of the deposit data, the signature included.
    deposit_data_root FixedString(66),
    -- Place among the contract's deposits.
    deposit_index UInt64,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY (chain, toYYYYMM(time))
ORDER BY (chain, pubkey, contract, block_hash, log_index);

-- Filled again from the log: rows of before lack amount and root, by which a deposit is told from a stranger's.
DROP TABLE IF EXISTS created_validators;
CREATE TABLE created_validators
(
    chain LowCardinality(String),
    pubkey FixedString(98),
    account String,
    withdrawal_credentials FixedString(66),
    deposit_from FixedString(42),
    fee_recipient FixedString(42),
    amount_gwei UInt64,
    -- Of the deposit that was signed; empty where the log does not tell it.
    deposit_data_root String,
    created_at DateTime('UTC'),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, pubkey);
