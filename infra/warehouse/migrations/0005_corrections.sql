-- Settlement records that an operator wrote for what locked ones lack or have too much: signed amounts, never a block's.
CREATE TABLE IF NOT EXISTS settlement_corrections
(
    chain LowCardinality(String),
    account LowCardinality(String),
    number UInt32,
    time DateTime('UTC'),
    pubkey FixedString(98),
    validator_index UInt32,
    user_reward_wei Int256,
    service_fee_wei Int256,
    reason String,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, account, number);
