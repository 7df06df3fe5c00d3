import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { AppError } from '../../schemas/errors.ts'
import type { CreatedRequest, RequestPlace } from '../ports/key-keeping.ts'
import type { KeptRequest } from '../ports/key-vault.ts'

const MAC_KEY_BYTES = 32
const MAC_OF = 'sha256'
/** An answer has some hundred kilobytes at most. */
const PAGE_REQUESTS = 20

interface RequestRow {
  readonly account: string
  readonly request_id: string
  readonly body_hash: string
  readonly answer: string
  readonly created_at_ms: number
  readonly chain: string
  readonly mac: Uint8Array | null
}

type AnswerRow = Omit<RequestRow, 'created_at_ms' | 'chain'>

const SELECT = `
  SELECT r.account, r.request_id, r.body_hash, r.answer, r.created_at_ms, m.mac,
    (SELECT chain FROM keys k WHERE k.account = r.account AND k.request_id = r.request_id LIMIT 1) AS chain
  FROM requests r LEFT JOIN answer_macs m ON m.account = r.account AND m.request_id = r.request_id`

/** Without the chain, which has to be looked for in all keys. */
const SELECT_ALL = `
  SELECT r.account, r.request_id, r.body_hash, r.answer, m.mac
  FROM requests r LEFT JOIN answer_macs m ON m.account = r.account AND m.request_id = r.request_id`

export interface AnswerStoreOptions {
  readonly file: string
  readonly vaultId: string
  /** 32 bytes; not kept. */
  readonly sealingKey: Uint8Array
}

/**
 * Requests and what they were answered, authenticated by a key that follows from the key-encryption key (HMAC-SHA-256, RFC 2104; HKDF,
 * RFC 5869): who can write to the file, and has no key, changes no deposit that is still to be sent.
 */
export class KeptAnswers {
  readonly #file: string
  readonly #macKey: Buffer
  readonly #select: StatementSync
  readonly #selectAfter: StatementSync
  readonly #selectAll: StatementSync
  readonly #insert: StatementSync
  readonly #insertMac: StatementSync

  constructor(db: DatabaseSync, { file, vaultId, sealingKey }: AnswerStoreOptions) {
    this.#file = file
    this.#macKey = Buffer.from(hkdfSync(MAC_OF, sealingKey, vaultId, 'epochline key vault: answers', MAC_KEY_BYTES))
    this.#select = db.prepare(`${SELECT} WHERE r.account = ? AND r.request_id = ?`)
    this.#selectAfter = db.prepare(
      `${SELECT} WHERE (r.account, r.request_id) > (?, ?) ORDER BY r.account, r.request_id LIMIT ${PAGE_REQUESTS}`,
    )
    this.#selectAll = db.prepare(SELECT_ALL)
    this.#insert = db.prepare(
      'INSERT INTO requests (account, request_id, body_hash, answer, created_at_ms) VALUES (?, ?, ?, ?, ?)',
    )
    this.#insertMac = db.prepare('INSERT INTO answer_macs (account, request_id, mac) VALUES (?, ?, ?)')
  }

  /** Throws AppError `key_vault` for one that was changed since it was kept. */
  get(account: string, requestId: string): KeptRequest | undefined {
    const row = this.#select.get(account, requestId) as unknown as RequestRow | undefined
    return row && this.#checked(row)
  }

  /** Within the transaction of its keys. */
  add(requestId: string, request: KeptRequest, nowMs: number): void {
    const { account, bodyHash, answer } = request
    this.#insert.run(account, requestId, bodyHash, answer, nowMs)
    this.#insertMac.run(account, requestId, this.#macOf(requestId, request))
  }

  /** A page in the order of account and id; throws as `get`. */
  after(place: RequestPlace | undefined): readonly CreatedRequest[] {
    const rows = this.#selectAfter.all(place?.account ?? '', place?.requestId ?? '') as unknown as readonly RequestRow[]
    return rows.map((row) => ({
      requestId: row.request_id,
      request: this.#checked(row),
      chain: row.chain,
      createdAtMs: row.created_at_ms,
    }))
  }

  /** Of a file of version 1, once: what is there is taken as it is. Within a transaction. */
  authenticateAll(): void {
    for (const row of this.#selectAll.iterate() as Iterable<unknown>) {
      const { account, request_id: requestId, body_hash: bodyHash, answer, mac } = row as AnswerRow
      if (mac === null) this.#insertMac.run(account, requestId, this.#macOf(requestId, { account, bodyHash, answer }))
    }
  }

  /** How many are not what was kept. */
  countChanged(): number {
    let changed = 0
    for (const row of this.#selectAll.iterate() as Iterable<unknown>) if (!this.#isKept(row as AnswerRow)) changed++
    return changed
  }

  #checked(row: RequestRow): KeptRequest {
    const { account, body_hash: bodyHash, answer } = row
    if (this.#isKept(row)) return { account, bodyHash, answer }
    throw new AppError(
      'key_vault',
      `${this.#file} was changed by somebody else: the answer to a request of ${account} is not the one that was kept. Put a copy in its place, and let nobody fund the validators of that request.`,
    )
  }

  #isKept({ account, request_id: requestId, body_hash: bodyHash, answer, mac }: AnswerRow): boolean {
    const expected = this.#macOf(requestId, { account, bodyHash, answer })
    return mac?.length === expected.length && timingSafeEqual(mac, expected)
  }

  /** JSON keeps the fields apart: no two requests have the same text. */
  #macOf(requestId: string, { account, bodyHash, answer }: KeptRequest): Buffer {
    const text = JSON.stringify([account, requestId, bodyHash, answer])
    return createHmac(MAC_OF, this.#macKey).update(text).digest()
  }
}
