-- Logs of exit-request contracts, by whatever contract emitted them, of whatever block was announced: only those of the contract that is
-- configured for the chain, in final blocks, are requests.
CREATE TABLE IF NOT EXISTS exit_calls
(
    chain LowCardinality(String),
    contract FixedString(42),
    block_hash FixedString(66),
    log_index UInt32,
    block_number UInt64,
    time DateTime('UTC'),
    transaction_hash FixedString(66),
    -- Who has sent it: whether the validators are the sender's own is for who reads it to see.
    withdrawal_address FixedString(42),
    -- listed, all, faulty
    kind LowCardinality(String),
    -- Why it asks for nothing.
    fault LowCardinality(String),
    -- Of listed: 96 hex digits each, one after the other.
    pubkeys String,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY (chain, toYYYYMM(time))
ORDER BY (chain, contract, block_hash, log_index);

-- What became of those that were final.
CREATE TABLE IF NOT EXISTS exit_call_ends
(
    chain LowCardinality(String),
    block_hash FixedString(66),
    log_index UInt32,
    time DateTime('UTC'),
    transaction_hash FixedString(66),
    withdrawal_address FixedString(42),
    -- taken, ignored
    status LowCardinality(String),
    -- Why it was ignored.
    reason LowCardinality(String),
    -- Exits that it has scheduled.
    scheduled UInt32,
    -- Validators of one that was taken that were left as they are, by reason: JSON, numbers by name.
    passed_over String,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, block_hash, log_index);
