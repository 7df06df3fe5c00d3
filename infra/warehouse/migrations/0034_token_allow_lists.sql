-- From where a token may be used, and for which calls of the gateway: entries with commas between them, none for a list that it has not.
ALTER TABLE access_tokens
    ADD COLUMN IF NOT EXISTS only_origins String DEFAULT '' AFTER only_chain,
    ADD COLUMN IF NOT EXISTS only_ips String DEFAULT '' AFTER only_origins,
    ADD COLUMN IF NOT EXISTS only_methods String DEFAULT '' AFTER only_ips,
    ADD COLUMN IF NOT EXISTS only_contracts String DEFAULT '' AFTER only_methods;
