-- A builder may pay in several transactions, from several wallets, or through a contract: a block has rows of evidence, and its class
-- is made of them and of what is known of the proposer (schemas/tables/block-revenues.ts).
ALTER TABLE execution_blocks DROP COLUMN IF EXISTS payment_recipient;
ALTER TABLE execution_blocks DROP COLUMN IF EXISTS payment_wei;
ALTER TABLE execution_blocks DROP COLUMN IF EXISTS payment_succeeded;
-- What the header has to say, hex: a hint at who made the block, and whether it is a builder's name.
ALTER TABLE execution_blocks ADD COLUMN IF NOT EXISTS extra_data String AFTER coinbase;
ALTER TABLE execution_blocks ADD COLUMN IF NOT EXISTS names_builder UInt8 AFTER extra_data;
-- Whether it ends with what may be a payment to somebody, so that its coinbase may be a builder's.
ALTER TABLE execution_blocks ADD COLUMN IF NOT EXISTS pays_somebody UInt8 AFTER names_builder;
-- 0: an earlier release told the block and has looked at its last transaction alone; what it was read as stays.
ALTER TABLE execution_blocks ADD COLUMN IF NOT EXISTS has_evidence UInt8 AFTER pays_somebody;

-- Transactions of a block by which whoever made it may have paid its proposer: what the coinbase has sent, and what others have at
-- the end of the block.
CREATE TABLE IF NOT EXISTS block_payments
(
    chain LowCardinality(String),
    block_hash FixedString(66),
    transaction_index UInt32,
    transaction_hash FixedString(66),
    sender FixedString(42),
    recipient FixedString(42),
    value_wei UInt256,
    succeeded UInt8,
    -- coinbase, or other: somebody else, at the end of the block.
    payer LowCardinality(String),
    pays_tip UInt8,
    -- It has called or made a contract, which may have passed the value on.
    runs_code UInt8,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, block_hash, transaction_index);

-- Balances of the addresses that a tracked proposer is known to be paid at, before its block and after it, by the word of a node.
CREATE TABLE IF NOT EXISTS block_balances
(
    chain LowCardinality(String),
    block_hash FixedString(66),
    address FixedString(42),
    before_wei UInt256,
    after_wei UInt256,
    -- What the block itself explains of the difference: withdrawals, transactions to the address and by it with their fees, tips.
    withdrawals_wei UInt256,
    received_wei UInt256,
    spent_wei UInt256,
    tips_wei UInt256,
    -- The rest, which contracts have paid to the address, or it to them.
    internal_wei Int256,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, block_hash, address);

-- What relays say that a block paid: a claim, which never takes the place of what the chain shows.
CREATE TABLE IF NOT EXISTS relay_claims
(
    chain LowCardinality(String),
    block_hash FixedString(66),
    relay String,
    value_wei UInt256,
    fee_recipient FixedString(42),
    proposer_pubkey FixedString(98),
    builder_pubkey FixedString(98),
    slot UInt64,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, block_hash, relay);

-- The log is read again from its beginning at the next start: rows of earlier releases lack the evidence, and versions are made otherwise.
TRUNCATE TABLE execution_blocks;
TRUNCATE TABLE daily_rewards;
TRUNCATE TABLE closed_days;
TRUNCATE TABLE settlements;
