-- How long a validator was active on a day, and with how much: what its rewards are in proportion to.
ALTER TABLE daily_rewards ADD COLUMN IF NOT EXISTS active_epochs UInt32 AFTER residual_gwei;
-- Sum over these epochs of the effective balance at the end of each.
ALTER TABLE daily_rewards ADD COLUMN IF NOT EXISTS effective_balance_epochs_gwei Int64 AFTER active_epochs;

-- The table lies by day; who asks of few validators and many days reads this order (api/rewards/validator-days.ts). A row that a merge leaves
-- out leaves it here too. DELETE FROM is refused: the engine would leave the rows in the projection.
ALTER TABLE daily_rewards MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';
ALTER TABLE daily_rewards ADD PROJECTION IF NOT EXISTS by_validator (SELECT * ORDER BY chain, validator_index, day);

-- Sums of a validator's closed days by month (its first day, UTC+8): what totals and months are read from, instead of days. All rows of a
-- month have one version, the sum of the versions of its closed days: rows of another one are of other days.
CREATE TABLE IF NOT EXISTS monthly_rewards
(
    chain LowCardinality(String),
    month Date,
    validator_index UInt32,
    -- Days that the sums are over: whole ones that are explained. Of these, those with a node's rounding in them.
    days UInt8,
    days_rounded UInt8,
    source_gwei Int64,
    target_gwei Int64,
    head_gwei Int64,
    inactivity_gwei Int64,
    sync_gwei Int64,
    proposer_gwei Int64,
    slashing_penalty_gwei Int64,
    cl_reward_gwei Int64,
    el_reward_wei UInt256,
    blocks UInt32,
    deposits_gwei Int64,
    withdrawals_gwei Int64,
    returned_from_queue_gwei Int64,
    moved_to_queue_gwei Int64,
    consolidations_in_gwei Int64,
    consolidations_out_gwei Int64,
    balance_start_gwei Int64,
    balance_end_gwei Int64,
    residual_gwei Int64,
    active_epochs UInt32,
    effective_balance_epochs_gwei Int64,
    -- What counts in totals: days that are not whole too.
    total_cl_reward_gwei Int64,
    total_el_reward_wei UInt256,
    -- Days that the validator has a row of: the first, the last, and those that nothing explains, which are in no sum.
    first_day Date,
    last_day Date,
    days_unexplained Array(Date),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY (chain, toYear(month))
ORDER BY (chain, month, validator_index);

-- Months whose rows are there: written after them, with their version.
CREATE TABLE IF NOT EXISTS closed_months
(
    chain LowCardinality(String),
    month Date,
    days UInt8,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, month);

-- Closed again, with the columns above.
TRUNCATE TABLE daily_rewards;
TRUNCATE TABLE closed_days;
