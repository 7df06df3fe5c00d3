import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ExportedKey } from '../ports/key-keeping.ts'

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

/** A secret of its own. */
export interface ImportedRow {
  /** 48 bytes. */
  readonly pubkey: Uint8Array
  /** As `seal` makes it. */
  readonly sealed: Uint8Array
  readonly path: string
  readonly chain: string
  readonly account: string
}

/** Where the secret of a key is, and what is known of it. */
export type KeyPlace = Pick<ExportedKey, 'chain' | 'account' | 'created'> &
  (
    | { readonly kind: 'derived'; readonly seedId: string; readonly pathIndex: number }
    | { readonly kind: 'imported'; readonly sealed: Uint8Array; readonly path: string }
  )

interface DerivedRecord {
  readonly seed_id: string
  readonly path_index: number
  readonly chain: string
  readonly account: string
  readonly request_id: string
  readonly withdrawal_credentials: Uint8Array
}

/** The keys of a vault's file, created and imported, and which of them were handed out. */
export class KeptKeys {
  readonly #insert: StatementSync
  readonly #selectDerived: StatementSync
  readonly #insertImported: StatementSync
  readonly #selectImported: StatementSync
  readonly #mark: StatementSync
  readonly #selectMark: StatementSync
  readonly #count: StatementSync
  readonly #selectAll: StatementSync

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare(
      `INSERT INTO keys (pubkey, seed_id, path_index, chain, account, request_id, withdrawal_credentials, created_at_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#selectDerived = db.prepare(
      'SELECT seed_id, path_index, chain, account, request_id, withdrawal_credentials FROM keys WHERE pubkey = ?',
    )
    this.#insertImported = db.prepare(
      'INSERT INTO imported_keys (pubkey, sealed, path, chain, account, created_at_ms) VALUES (?, ?, ?, ?, ?, ?)',
    )
    this.#selectImported = db.prepare('SELECT sealed, path, chain, account FROM imported_keys WHERE pubkey = ?')
    this.#mark = db.prepare('INSERT OR REPLACE INTO exported_keys (pubkey, exported_at_ms) VALUES (?, ?)')
    this.#selectMark = db.prepare('SELECT 1 FROM exported_keys WHERE pubkey = ?')
    this.#count = db.prepare('SELECT (SELECT count(*) FROM keys) + (SELECT count(*) FROM imported_keys) AS keys')
    this.#selectAll = db.prepare('SELECT pubkey FROM keys UNION ALL SELECT pubkey FROM imported_keys')
  }

  /** Within the transaction of its request. */
  add(key: KeyRow, of: { readonly account: string; readonly requestId: string; readonly nowMs: number }): void {
    const { pubkey, seedId, pathIndex, chain, withdrawalCredentials } = key
    this.#insert.run(pubkey, seedId, pathIndex, chain, of.account, of.requestId, withdrawalCredentials, of.nowMs)
  }

  addImported({ pubkey, sealed, path, chain, account }: ImportedRow, nowMs: number): void {
    this.#insertImported.run(pubkey, sealed, path, chain, account, nowMs)
  }

  /** Undefined for a key that is not here. */
  placeOf(pubkey: Uint8Array): KeyPlace | undefined {
    const derived = this.#selectDerived.get(pubkey) as unknown as DerivedRecord | undefined
    if (derived !== undefined) return toPlace(derived)
    const imported = this.#selectImported.get(pubkey) as unknown as Omit<ImportedRow, 'pubkey'> | undefined
    return imported && { kind: 'imported', created: undefined, ...imported }
  }

  has(pubkey: Uint8Array): boolean {
    return this.placeOf(pubkey) !== undefined
  }

  isExported(pubkey: Uint8Array): boolean {
    return this.#selectMark.get(pubkey) !== undefined
  }

  markExported(pubkey: Uint8Array, nowMs: number): void {
    this.#mark.run(pubkey, nowMs)
  }

  all(): readonly Uint8Array[] {
    return this.#selectAll.all().map(({ pubkey }) => pubkey as Uint8Array)
  }

  count(): number {
    return Number(this.#count.get()?.keys)
  }
}

function toPlace(row: DerivedRecord): KeyPlace {
  const created = { requestId: row.request_id, withdrawalCredentials: new Uint8Array(row.withdrawal_credentials) }
  const { seed_id: seedId, path_index: pathIndex, chain, account } = row
  return { kind: 'derived', seedId, pathIndex, chain, account, created }
}
