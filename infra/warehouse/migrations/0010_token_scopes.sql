-- What a token is for: scopes and families with commas between them, no families or no chain for all of them. Tokens of before only
-- read. The chain is no part of a row's identity, so it is not called `chain`.
ALTER TABLE access_tokens
    ADD COLUMN IF NOT EXISTS name String DEFAULT '' AFTER account,
    ADD COLUMN IF NOT EXISTS scopes LowCardinality(String) DEFAULT 'read' AFTER name,
    ADD COLUMN IF NOT EXISTS families LowCardinality(String) DEFAULT '' AFTER scopes,
    ADD COLUMN IF NOT EXISTS only_chain LowCardinality(String) DEFAULT '' AFTER families;
