-- What a block paid its proposer depends on what is known of the proposer, which may be told later than the block: blocks keep the
-- evidence, and the class is made of both (schemas/tables/block-revenues.ts).
ALTER TABLE execution_blocks DROP COLUMN IF EXISTS revenue_class;
ALTER TABLE execution_blocks DROP COLUMN IF EXISTS revenue_wei;
ALTER TABLE execution_blocks DROP COLUMN IF EXISTS claimed_wei;
ALTER TABLE execution_blocks DROP COLUMN IF EXISTS recipient;
-- Whom the coinbase sent value in the last transaction; empty when it sent none to anybody else.
ALTER TABLE execution_blocks ADD COLUMN IF NOT EXISTS payment_recipient String AFTER priority_fees_wei;
ALTER TABLE execution_blocks ADD COLUMN IF NOT EXISTS payment_wei UInt256 AFTER payment_recipient;
ALTER TABLE execution_blocks ADD COLUMN IF NOT EXISTS payment_succeeded UInt8 AFTER payment_wei;
-- Whether header and transactions are those that the block's hash commits to; 0 also where nobody checked.
ALTER TABLE execution_blocks ADD COLUMN IF NOT EXISTS matches_hash UInt8 AFTER log_parts;

-- Blocks of the day whose revenue is unexplained, and what they claim to have paid: no part of el_reward_wei.
ALTER TABLE daily_rewards ADD COLUMN IF NOT EXISTS blocks_unexplained UInt32 AFTER blocks;
ALTER TABLE daily_rewards ADD COLUMN IF NOT EXISTS unexplained_wei UInt256 AFTER blocks_unexplained;

-- Addresses that the operator said a validator is paid at; one that was taken back stays, and is not its own.
CREATE TABLE IF NOT EXISTS fee_recipients
(
    chain LowCardinality(String),
    pubkey FixedString(98),
    fee_recipient FixedString(42),
    is_own UInt8,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, pubkey, fee_recipient);

-- The log is read again from its beginning at the next start: rows of earlier releases lack the evidence.
TRUNCATE TABLE execution_blocks;
TRUNCATE TABLE daily_rewards;
TRUNCATE TABLE closed_days;
TRUNCATE TABLE settlements;
TRUNCATE TABLE filled_from;
