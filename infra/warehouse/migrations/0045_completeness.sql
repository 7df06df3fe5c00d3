-- Which days of the month the sums are over: a bit each, that of its first day the lowest. How many of them lie behind a day is told by it.
ALTER TABLE monthly_rewards ADD COLUMN IF NOT EXISTS days_whole UInt32 AFTER days;

-- Summed again at the next start, of the days, which stay; until then totals are read of these.
TRUNCATE TABLE monthly_rewards;
TRUNCATE TABLE closed_months;

-- Looks for tracked validators in a chain's registry: whose keys account facts up to a version name were looked for, and are asked about in
-- epochs from one on; from none where others tell them, which is the highest number.
CREATE TABLE IF NOT EXISTS registry_looks
(
    chain LowCardinality(String),
    accounts_version UInt64,
    from_epoch UInt32,
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY chain
ORDER BY (chain, accounts_version, from_epoch);
