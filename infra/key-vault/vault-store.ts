import { randomUUID } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { AppError } from '../../schemas/errors.ts'
import type { KeptRequest } from '../ports/key-vault.ts'
import { inTransaction, openSqliteFile, type SqliteSubject, withSqliteErrors } from '../sqlite-file.ts'
import { seal, unseal } from './sealing.ts'

/**
 * `vault` has one row: the vault's name in all that is sealed, and a known text, sealed, which shows whether a key is the right one.
 *
 * A seed has a random name and no number: after a copy was put back, numbers would count on from the copy's and mean other seeds.
 *
 * WITHOUT ROWID tables keep their primary key unique by themselves; a pubkey or a path that comes twice fails the transaction.
 */
const SCHEMA = `
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
  ) STRICT, WITHOUT ROWID;
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
`
const SCHEMA_VERSION = 1
const CHECK_TEXT = 'this key opens this vault'

/** A key as it is kept: its secret follows from the seed and the index. */
export interface KeyRow {
  /** 48 bytes. */
  readonly pubkey: Uint8Array
  readonly seedId: string
  readonly pathIndex: number
  readonly chain: string
  /** 32 bytes. */
  readonly withdrawalCredentials: Uint8Array
}

export interface StoreOptions {
  readonly file: string
  /** 32 bytes; not kept. */
  readonly sealingKey: Uint8Array
  /** Where the key came from, for the sentence when it is the wrong one. */
  readonly keyName: string
}

/**
 * Opens the vault's file, and makes it where there is none. Throws AppError `usage` when the key is not the one that it was sealed
 * with, `key_vault` when the file is damaged, which every seed is tried for.
 */
export function openVaultStore({ file, sealingKey, keyName }: StoreOptions): VaultStore {
  const subject: SqliteSubject = {
    file,
    code: 'key_vault',
    withoutCopy: 'Without one, the secrets of all keys that it held are lost.',
  }
  const db = openSqliteFile({ ...subject, schema: SCHEMA, schemaVersion: SCHEMA_VERSION, synchronous: 'FULL' })
  try {
    return withSqliteErrors(subject, () => {
      db.exec('PRAGMA foreign_keys = ON')
      const store = new VaultStore(db, subject, vaultIdOf(db, sealingKey) ?? wrongKey(file, keyName))
      store.checkSeeds(sealingKey)
      return store
    })
  } catch (error) {
    db.close()
    throw error
  }
}

/** The vault's name, made when the file is new; undefined when the key does not open it. */
function vaultIdOf(db: DatabaseSync, sealingKey: Uint8Array): string | undefined {
  const found = db.prepare('SELECT id, sealed_check FROM vault').get() as
    | { readonly id: string; readonly sealed_check: Uint8Array }
    | undefined
  if (found !== undefined) return unseal(sealingKey, found.sealed_check, checkContext(found.id)) && found.id
  const id = randomUUID()
  const check = seal(sealingKey, Buffer.from(CHECK_TEXT), checkContext(id))
  db.prepare('INSERT INTO vault (id, sealed_check) VALUES (?, ?)').run(id, check)
  return id
}

function wrongKey(file: string, keyName: string): never {
  throw new AppError(
    'usage',
    `The key in ${keyName} does not open the key vault ${file}: give the key that it was sealed with.`,
  )
}

const checkContext = (vaultId: string) => `check of ${vaultId}`

/** What is on the disk of a vault. Every method that writes is durable when it returns. Not safe for two processes. */
export class VaultStore implements Disposable {
  readonly #db: DatabaseSync
  readonly #subject: SqliteSubject
  readonly #vaultId: string
  readonly #selectRequest: StatementSync
  readonly #insertRequest: StatementSync
  readonly #insertKey: StatementSync
  readonly #selectKey: StatementSync

  constructor(db: DatabaseSync, subject: SqliteSubject, vaultId: string) {
    this.#db = db
    this.#subject = subject
    this.#vaultId = vaultId
    this.#selectRequest = db.prepare('SELECT body_hash, answer FROM requests WHERE account = ? AND request_id = ?')
    this.#insertRequest = db.prepare(
      'INSERT INTO requests (account, request_id, body_hash, answer, created_at_ms) VALUES (?, ?, ?, ?, ?)',
    )
    this.#selectKey = db.prepare('SELECT 1 FROM keys WHERE pubkey = ?')
    this.#insertKey = db.prepare(
      `INSERT INTO keys (pubkey, seed_id, path_index, chain, account, request_id, withdrawal_credentials, created_at_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    )
  }

  /** Throws AppError `key_vault` for a seed that does not open: it was changed since it was sealed. */
  checkSeeds(sealingKey: Uint8Array): void {
    for (const { id } of this.#db.prepare('SELECT id FROM seeds').all()) {
      this.readSeed(String(id), sealingKey).fill(0)
    }
  }

  /** Seals a seed under a name of its own, which is returned. */
  addSeed(seed: Uint8Array, sealingKey: Uint8Array): string {
    const id = randomUUID()
    const sealed = seal(sealingKey, seed, this.#seedContext(id))
    this.#do(() =>
      this.#db.prepare('INSERT INTO seeds (id, sealed, created_at_ms) VALUES (?, ?, ?)').run(id, sealed, Date.now()),
    )
    return id
  }

  /** For the caller to overwrite. Throws AppError `key_vault` when it is not there or does not open. */
  readSeed(id: string, sealingKey: Uint8Array): Buffer {
    const row = this.#do(() => this.#db.prepare('SELECT sealed FROM seeds WHERE id = ?').get(id))
    const sealed = row?.sealed
    const seed = sealed instanceof Uint8Array ? unseal(sealingKey, sealed, this.#seedContext(id)) : undefined
    if (seed !== undefined) return seed
    const { file, withoutCopy } = this.#subject
    throw new AppError(
      'key_vault',
      `${file} is damaged (seed ${id} does not open): put a copy in its place. ${withoutCopy}`,
    )
  }

  /** Writes request and keys in one transaction. Throws AppError `key_vault`, and writes nothing, when one of them is there. */
  commit(requestId: string, { account, bodyHash, answer }: KeptRequest, keys: readonly KeyRow[]): void {
    this.#do(() =>
      inTransaction(this.#db, () => {
        const nowMs = Date.now()
        this.#insertRequest.run(account, requestId, bodyHash, answer, nowMs)
        for (const { pubkey, seedId, pathIndex, chain, withdrawalCredentials } of keys) {
          this.#insertKey.run(pubkey, seedId, pathIndex, chain, account, requestId, withdrawalCredentials, nowMs)
        }
      }),
    )
  }

  request(account: string, requestId: string): KeptRequest | undefined {
    const row = this.#do(() => this.#selectRequest.get(account, requestId)) as
      | { readonly body_hash: string; readonly answer: string }
      | undefined
    return row && { account, bodyHash: row.body_hash, answer: row.answer }
  }

  hasKey(pubkey: Uint8Array): boolean {
    return this.#do(() => this.#selectKey.get(pubkey)) !== undefined
  }

  [Symbol.dispose](): void {
    if (this.#db.isOpen) this.#db.close()
  }

  #seedContext(id: string): string {
    return `seed ${id} of ${this.#vaultId}`
  }

  #do<Result>(work: () => Result): Result {
    return withSqliteErrors(this.#subject, work)
  }
}
