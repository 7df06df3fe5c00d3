-- Validators have one owner on each day. `account_validators` stays what it was, every account that was ever made the owner of a
-- validator: through it settling finds the accounts that it may have settled a block for.

-- From a UTC+8 day on, until the next row of the same validator, it is the account's; nobody's where the account is empty.
CREATE TABLE IF NOT EXISTS validator_owners
(
    chain LowCardinality(String),
    pubkey FixedString(98),
    from_day Date,
    account String,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, pubkey, from_day);

-- What the log said until now: since the start of all history, and the newest fact counts.
INSERT INTO validator_owners
SELECT chain, pubkey, toDate(0), account, version FROM account_validators FINAL;

-- Accounts that see the figures of a validator without being its owner.
CREATE TABLE IF NOT EXISTS watched_validators
(
    account String,
    chain LowCardinality(String),
    pubkey FixedString(98),
    version UInt64,
    is_deleted UInt8
)
ENGINE = ReplacingMergeTree(version, is_deleted)
PARTITION BY chain
ORDER BY (account, chain, pubkey);
