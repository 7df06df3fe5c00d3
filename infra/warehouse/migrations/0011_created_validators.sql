-- Validators whose keys were made here, whether a deposit was ever sent for them or not.
CREATE TABLE IF NOT EXISTS created_validators
(
    chain LowCardinality(String),
    pubkey FixedString(98),
    account String,
    withdrawal_credentials FixedString(66),
    deposit_from FixedString(42),
    fee_recipient FixedString(42),
    created_at DateTime('UTC'),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, pubkey);
