/**
 * `vault` has one row: the vault's name in all that is sealed, and a known text, sealed, which shows whether a key is the right one.
 *
 * A seed has a random name and no number: after a copy was put back, numbers would count on from the copy's and mean other seeds.
 *
 * `answer_macs` has a row for each request: whoever can write to the file cannot change an answer. `imported_keys` are secrets of their
 * own, sealed one by one. `exported_keys` are those that were handed out, whose validator may run elsewhere.
 *
 * WITHOUT ROWID tables keep their primary key unique by themselves; a pubkey or a path that comes twice fails the transaction. `requests`
 * has row numbers: an answer may have a quarter of a megabyte, and in a tree by key each comparison would read all of one. Files of before
 * have it without them, which only takes longer: a hundred keys look for their request in 20 ms instead of one.
 */
export const VAULT_SCHEMA = `
  CREATE TABLE IF NOT EXISTS vault (
    id TEXT NOT NULL PRIMARY KEY,
    sealed_check BLOB NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS seeds (
    id TEXT NOT NULL PRIMARY KEY,
    sealed BLOB NOT NULL,
    created_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS requests (
    account TEXT NOT NULL,
    request_id TEXT NOT NULL,
    body_hash TEXT NOT NULL,
    answer TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (account, request_id)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS keys (
    pubkey BLOB NOT NULL PRIMARY KEY,
    seed_id TEXT NOT NULL REFERENCES seeds (id),
    path_index INTEGER NOT NULL,
    chain TEXT NOT NULL,
    account TEXT NOT NULL,
    request_id TEXT NOT NULL,
    withdrawal_credentials BLOB NOT NULL,
    created_at_ms INTEGER NOT NULL,
    UNIQUE (seed_id, path_index),
    FOREIGN KEY (account, request_id) REFERENCES requests (account, request_id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS answer_macs (
    account TEXT NOT NULL,
    request_id TEXT NOT NULL,
    mac BLOB NOT NULL,
    PRIMARY KEY (account, request_id),
    FOREIGN KEY (account, request_id) REFERENCES requests (account, request_id)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS imported_keys (
    pubkey BLOB NOT NULL PRIMARY KEY,
    sealed BLOB NOT NULL,
    path TEXT NOT NULL,
    chain TEXT NOT NULL,
    account TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS exported_keys (
    pubkey BLOB NOT NULL PRIMARY KEY,
    exported_at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`

/** Version 1 had none of the last three: what it has kept is authenticated from the first start of version 2 on. */
export const VAULT_SCHEMA_VERSION = 2
