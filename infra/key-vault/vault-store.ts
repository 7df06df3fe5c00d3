import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { AppError } from '../../schemas/errors.ts'
import { syncFile } from '../durable-folder.ts'
import type { CreatedRequest, RequestPlace } from '../ports/key-keeping.ts'
import type { KeptRequest } from '../ports/key-vault.ts'
import { inTransaction, openSqliteFile, type SqliteSubject, withSqliteErrors } from '../sqlite-file.ts'
import { KeptAnswers } from './kept-answers.ts'
import { type ImportedRow, KeptKeys, type KeyPlace, type KeyRow } from './kept-keys.ts'
import { seal, unseal } from './sealing.ts'
import { VAULT_SCHEMA, VAULT_SCHEMA_VERSION } from './vault-schema.ts'

/** What no vault has, and SQLite keeps all the same: each counts the rows that are so. */
const IMPOSSIBLE = {
  'a key is of no length or place that keys have': `
    SELECT (SELECT count(*) FROM keys WHERE length(pubkey) <> 48 OR path_index NOT BETWEEN 0 AND 4294967295)
      + (SELECT count(*) FROM imported_keys WHERE length(pubkey) <> 48) AS n`,
  'a request is of no time':
    'SELECT count(*) AS n FROM requests WHERE created_at_ms NOT BETWEEN 0 AND 9007199254740991',
  'a key is marked as exported that is not there': `
    SELECT count(*) AS n FROM exported_keys
    WHERE pubkey NOT IN (SELECT pubkey FROM keys) AND pubkey NOT IN (SELECT pubkey FROM imported_keys)`,
} as const

const CHECK_TEXT = 'this key opens this vault'

export interface StoreOptions {
  readonly file: string
  /** 32 bytes; not kept. */
  readonly sealingKey: Uint8Array
  /** Where the key came from, for the sentence when it is the wrong one. */
  readonly keyName: string
  /** A file without a vault is damaged, and none is made in it. */
  readonly isThere?: boolean
}

/** The file is not what a vault has written. */
export class DamagedVault extends AppError {
  /** What of it, as a sentence's part. */
  readonly what: string

  constructor(what: string, { file, withoutCopy }: SqliteSubject) {
    super('key_vault', `${file} is damaged (${what}): put a copy in its place. ${withoutCopy}`)
    this.what = what
  }
}

/** Whether a file is a database of something else. Of one that cannot be read, whoever opens it says what it is. */
export function isOtherDatabase(file: string): boolean {
  try {
    using db = new DatabaseSync(file)
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
    return tables.length > 0 && !tables.some(({ name }) => name === 'vault')
  } catch {
    return false
  }
}

/**
 * Opens the vault's file, and makes it where there is none. Throws AppError `usage` when the key is not the one that it was sealed
 * with, `key_vault` when the file is damaged, which every seed is tried for.
 */
export function openVaultStore({ file, sealingKey, keyName, isThere = false }: StoreOptions): VaultStore {
  const subject: SqliteSubject = {
    file,
    code: 'key_vault',
    withoutCopy: 'Without one, the secrets of all keys that it held are lost.',
  }
  const db = openSqliteFile({
    ...subject,
    schema: VAULT_SCHEMA,
    schemaVersion: VAULT_SCHEMA_VERSION,
    synchronous: 'FULL',
  })
  try {
    return withSqliteErrors(subject, () => {
      db.exec('PRAGMA foreign_keys = ON')
      if (isThere && db.prepare('SELECT 1 FROM vault').get() === undefined)
        throw new DamagedVault('there is no vault in it', subject)
      const identity = identityOf(db, sealingKey) ?? wrongKey(file, keyName)
      const answers = new KeptAnswers(db, { file, vaultId: identity.id, sealingKey })
      if (identity.isOfVersion1) toVersion2(db, { id: identity.id, answers, sealingKey })
      const store = new VaultStore(db, { subject, vaultId: identity.id, answers })
      store.checkSeeds(sealingKey)
      return store
    })
  } catch (error) {
    db.close()
    throw error
  }
}

interface Identity {
  readonly id: string
  readonly isOfVersion1: boolean
}

/** The vault's name, made when the file is new; undefined when the key does not open it. */
function identityOf(db: DatabaseSync, sealingKey: Uint8Array): Identity | undefined {
  const found = db.prepare('SELECT id, sealed_check FROM vault').get() as
    | { readonly id: string; readonly sealed_check: Uint8Array }
    | undefined
  if (found === undefined) {
    const id = randomUUID()
    db.prepare('INSERT INTO vault (id, sealed_check) VALUES (?, ?)').run(id, sealedCheck(id, sealingKey))
    return { id, isOfVersion1: false }
  }
  const { id, sealed_check: check } = found
  if (unseal(sealingKey, check, checkContext(id)) !== undefined) return { id, isOfVersion1: false }
  return unseal(sealingKey, check, version1CheckContext(id)) && { id, isOfVersion1: true }
}

/**
 * Authenticates what version 1 has kept, and says so in what is sealed: not in the number of the format, which anybody can write, so
 * that nobody takes a MAC away and has another one made.
 */
function toVersion2(
  db: DatabaseSync,
  { id, answers, sealingKey }: { readonly id: string; readonly answers: KeptAnswers; readonly sealingKey: Uint8Array },
): void {
  inTransaction(db, () => {
    answers.authenticateAll()
    db.prepare('UPDATE vault SET sealed_check = ?').run(sealedCheck(id, sealingKey))
  })
}

function wrongKey(file: string, keyName: string): never {
  throw new AppError(
    'usage',
    `The key in ${keyName} does not open the key vault ${file}: give the key that it was sealed with.`,
  )
}

function sealedCheck(vaultId: string, sealingKey: Uint8Array): Uint8Array {
  return seal(sealingKey, Buffer.from(CHECK_TEXT), checkContext(vaultId))
}

const version1CheckContext = (vaultId: string) => `check of ${vaultId}`
const checkContext = (vaultId: string) => `check of ${vaultId}, answers authenticated`

/** What is on the disk of a vault. Every method that writes is durable when it returns. Not safe for two processes. */
export class VaultStore implements Disposable {
  readonly #db: DatabaseSync
  readonly #subject: SqliteSubject
  readonly #vaultId: string
  readonly #answers: KeptAnswers
  readonly #keys: KeptKeys

  constructor(
    db: DatabaseSync,
    {
      subject,
      vaultId,
      answers,
    }: { readonly subject: SqliteSubject; readonly vaultId: string; readonly answers: KeptAnswers },
  ) {
    this.#db = db
    this.#subject = subject
    this.#vaultId = vaultId
    this.#answers = answers
    this.#keys = new KeptKeys(db)
  }

  /** Throws AppError `key_vault` for a seed that does not open: it was changed since it was sealed. */
  checkSeeds(sealingKey: Uint8Array): void {
    for (const { id } of this.#db.prepare('SELECT id FROM seeds').all()) {
      this.readSeed(String(id), sealingKey).fill(0)
    }
  }

  /**
   * Reads all of the file: SQLite's pages and indices, what refers to what, and every answer. Throws AppError `key_vault` where it is not
   * what was kept. Seeds and keys are opened elsewhere.
   */
  checkRows(): void {
    this.#do(() => {
      const pages = this.#db.prepare('PRAGMA integrity_check(1)').get()?.integrity_check
      if (pages !== 'ok') this.damaged('SQLite finds pages or indices that do not fit together')
      if (this.#db.prepare('PRAGMA foreign_key_check').get() !== undefined)
        this.damaged('rows refer to rows that are gone')
      for (const [what, statement] of Object.entries(IMPOSSIBLE))
        if (this.#db.prepare(statement).get()?.n !== 0) this.damaged(what)
      const changed = this.#answers.countChanged()
      if (changed > 0) this.damaged(`${changed} answers to requests are not those that were kept`)
    })
  }

  /** Whether this key opens the vault. Throws AppError `key_vault` when the file cannot be read. */
  isKey(sealingKey: Uint8Array): boolean {
    return this.#do(() => identityOf(this.#db, sealingKey)?.id === this.#vaultId)
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
    return seed ?? this.damaged(`seed ${id} does not open`)
  }

  /** Seals the secret of an imported key. */
  sealImported(pubkey: Uint8Array, secret: Uint8Array, sealingKey: Uint8Array): Uint8Array {
    return seal(sealingKey, secret, this.#keyContext(pubkey))
  }

  /** For the caller to overwrite. Throws AppError `key_vault` when it does not open. */
  openImported(pubkey: Uint8Array, sealed: Uint8Array, sealingKey: Uint8Array): Buffer {
    return unseal(sealingKey, sealed, this.#keyContext(pubkey)) ?? this.damaged('an imported key does not open')
  }

  /** Writes request and keys in one transaction. Throws AppError `key_vault`, and writes nothing, when one of them is there. */
  commit(requestId: string, request: KeptRequest, keys: readonly KeyRow[]): void {
    const of = { account: request.account, requestId, nowMs: Date.now() }
    this.#inTransaction(() => {
      this.#answers.add(requestId, request, of.nowMs)
      for (const key of keys) this.#keys.add(key, of)
    })
  }

  /** Throws AppError `key_vault` for one that somebody has changed. */
  request(account: string, requestId: string): KeptRequest | undefined {
    return this.#do(() => this.#answers.get(account, requestId))
  }

  requestsAfter(place: RequestPlace | undefined): readonly CreatedRequest[] {
    return this.#do(() => this.#answers.after(place))
  }

  hasKey(pubkey: Uint8Array): boolean {
    return this.#do(() => this.#keys.has(pubkey))
  }

  placeOf(pubkey: Uint8Array): KeyPlace | undefined {
    return this.#do(() => this.#keys.placeOf(pubkey))
  }

  addImported(key: ImportedRow): void {
    this.#do(() => this.#keys.addImported(key, Date.now()))
  }

  isExported(pubkey: Uint8Array): boolean {
    return this.#do(() => this.#keys.isExported(pubkey))
  }

  markExported(pubkeys: readonly Uint8Array[]): void {
    this.#inTransaction(() => {
      for (const pubkey of pubkeys) this.#keys.markExported(pubkey, Date.now())
    })
  }

  countKeys(): number {
    return this.#do(() => this.#keys.count())
  }

  /** Of all keys, 48 bytes each. */
  pubkeys(): readonly Uint8Array[] {
    return this.#do(() => this.#keys.all())
  }

  /** Copies all of it into a file that is there and empty. */
  copyInto(file: string): void {
    this.#do(() => this.#db.prepare('VACUUM INTO ?').run(file))
    syncFile(file)
  }

  damaged(what: string): never {
    throw new DamagedVault(what, this.#subject)
  }

  [Symbol.dispose](): void {
    if (this.#db.isOpen) this.#db.close()
  }

  #seedContext(id: string): string {
    return `seed ${id} of ${this.#vaultId}`
  }

  #keyContext(pubkey: Uint8Array): string {
    return `imported key ${Buffer.from(pubkey).toString('hex')} of ${this.#vaultId}`
  }

  #inTransaction(work: () => void): void {
    this.#do(() => inTransaction(this.#db, work))
  }

  #do<Result>(work: () => Result): Result {
    return withSqliteErrors(this.#subject, work)
  }
}
