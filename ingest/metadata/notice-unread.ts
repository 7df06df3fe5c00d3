import type { JobQueue } from '../../infra/ports/job-queue.ts'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { readNftContract, rereadNftContract } from '../../schemas/jobs/read-nft.ts'
import { REVERTED_SQL } from '../../schemas/tables/reverted-blocks.ts'

/** Changes of a contract that come one after the other are read once; and a run of one that changes all the time rests so long. */
export const REREAD_DELAY_MS = 10_000
/** Contracts of one question; those beyond them the next look asks for. */
const CONTRACTS_MAX = 5_000
/** Ranges of tokens that a contract says have changed, the newest, each of which is compared with all of its tokens. */
const RANGES_MAX = 100
/** How often all tables are asked what was missed: what a queue lost, what came while nobody looked, what is due again. */
const SEARCH_EVERY_MS = 30_000
/** What a contract says of itself is read again so often at most while its tokens are minted or burned. */
const CONTRACT_RESTS_SEC = 60

const KINDS = ['moved', 'changed'] as const
type Kind = (typeof KINDS)[number]

/** Marks of older events, and of its own event those up to a contract; all of them without one. */
interface Seen {
  readonly version: bigint
  /** Hex without 0x. */
  readonly contract: string | undefined
}

const NOTHING_SEEN: Seen = { version: 0n, contract: undefined }
/** Behind all addresses. */
const ALL_SEEN = 'g'

interface Search {
  readonly kind: Kind
  /** SELECT of `address`, hex without 0x, each once. */
  readonly sql: string
}

/** What is to be read by what the tables have: tokens, what contracts say of themselves, and what has changed of both. */
const SEARCHES: readonly Search[] = [
  {
    kind: 'moved',
    sql: `SELECT DISTINCT lower(hex(contract)) AS address FROM nft_tokens
      WHERE chain = {chain:String} AND (contract, token_id) NOT IN (
        SELECT contract, token_id FROM nft_token_states FINAL
        WHERE chain = {chain:String} AND (error = '' OR next_retry > toDateTime({nowSec:UInt32}))
      )`,
  },
  {
    kind: 'moved',
    sql: `SELECT DISTINCT lower(hex(contract)) AS address FROM nft_tokens
      INNER JOIN (
        SELECT contract, token_id, block_number AS read FROM nft_token_states FINAL WHERE chain = {chain:String} AND error != ''
      ) AS failed USING (contract, token_id)
      WHERE chain = {chain:String} AND supply_block > read`,
  },
  {
    kind: 'changed',
    sql: `SELECT lower(hex(own.contract)) AS address FROM (
        SELECT contract, block_number AS read, has_total_supply, block_hash IN (${REVERTED_SQL}) AS is_reverted
        FROM nft_contracts FINAL WHERE chain = {chain:String} AND read_at <= toDateTime({restedSec:UInt32})
      ) AS own
      LEFT JOIN (
        SELECT contract, max(supply_block) AS supplied FROM nft_tokens WHERE chain = {chain:String} GROUP BY contract
      ) AS tokens ON tokens.contract = own.contract
      WHERE is_reverted OR (has_total_supply = 1 AND read < supplied)`,
  },
  {
    kind: 'changed',
    sql: `SELECT DISTINCT lower(hex(contract)) AS address FROM nft_tokens
      WHERE chain = {chain:String} AND (contract, token_id) IN (
        SELECT contract, token_id FROM nft_token_states FINAL
        WHERE chain = {chain:String} AND block_hash IN (${REVERTED_SQL})
        UNION ALL
        SELECT contract, token_id FROM (
          SELECT contract, token_id, block_number AS read FROM nft_token_states FINAL WHERE chain = {chain:String}
        ) AS states
        INNER JOIN (
          SELECT contract, first_id AS token_id, max(block_number) AS changed FROM nft_metadata_changes
          WHERE chain = {chain:String} AND event != 'ContractURIUpdated' AND first_id = last_id GROUP BY contract, first_id
        ) AS changes USING (contract, token_id)
        WHERE read < changed
        UNION ALL
        SELECT contract, token_id FROM (
          SELECT contract, token_id, block_number AS read FROM nft_token_states FINAL WHERE chain = {chain:String}
        ) AS states
        INNER JOIN (
          SELECT contract, first_id, last_id, max(block_number) AS changed FROM nft_metadata_changes
          WHERE chain = {chain:String} AND event != 'ContractURIUpdated' AND first_id < last_id
          GROUP BY contract, first_id, last_id ORDER BY changed DESC LIMIT ${RANGES_MAX} BY contract
        ) AS changes USING contract
        WHERE read < changed AND token_id >= first_id AND token_id <= last_id
      )`,
  },
  {
    kind: 'changed',
    sql: `SELECT lower(hex(changes.contract)) AS address FROM (
        SELECT contract, max(block_number) AS changed FROM nft_metadata_changes
        WHERE chain = {chain:String} AND event = 'ContractURIUpdated' GROUP BY contract
      ) AS changes
      INNER JOIN (SELECT contract, block_number AS read FROM nft_contracts FINAL WHERE chain = {chain:String}) AS own
        ON own.contract = changes.contract
      WHERE read < changed`,
  },
]

const SEARCH_SQL = SEARCHES.map(
  ({ sql }, nth) =>
    `SELECT ${nth} AS nth, address FROM (${sql}) WHERE address > {behind${nth}:String} ORDER BY address LIMIT {limit:UInt32}`,
).join(' UNION ALL ')

export interface Noticing {
  readonly warehouse: WarehouseReader
  readonly jobQueue: Pick<JobQueue, 'request'>
  /** Unix seconds. */
  readonly nowSec: () => number
  /** Milliseconds that only grow. */
  readonly nowMs: () => number
}

/**
 * Finds the contracts of a chain of which there is something to read, and asks the queue for one job each: however much a contract says
 * has changed, it waits once. Marks tell of what is new; what they do not tell of, a search of the tables does.
 */
export class UnreadNoticer {
  readonly #noticing: Noticing
  readonly #chain: string
  /** The last mark that was seen, by kind and bucket. */
  readonly #seen = new Map<string, Seen>()
  /** Of each search the last contract that was found, where there may be more behind it. */
  #found: readonly string[] = SEARCHES.map(() => '')
  #searchedMs = Number.NEGATIVE_INFINITY
  #hasLooked = false

  constructor(noticing: Noticing, chain: string) {
    this.#noticing = noticing
    this.#chain = chain
  }

  /** Returns how many contracts were asked for. */
  async look(): Promise<number> {
    const { nowMs } = this.#noticing
    const marked = await this.#newMarks()
    let asked = 0
    for (const { kind, contract } of marked) {
      await this.#ask(kind, contract)
      asked++
    }
    if (nowMs() < this.#searchedMs + SEARCH_EVERY_MS) return asked
    const found = await this.#search()
    for (const { kind, contract } of found) await this.#ask(kind, contract)
    // Where there are more, the next search goes on behind them: whoever has something to be read all the time holds up nobody.
    this.#searchedMs = nowMs()
    return asked + found.length
  }

  async #ask(kind: Kind, contract: string): Promise<void> {
    const input = { chain: this.#chain, contract }
    const { jobQueue } = this.#noticing
    if (kind === 'moved') await jobQueue.request(readNftContract.name, readNftContract.idOf(input), input)
    else
      await jobQueue.request(rereadNftContract.name, rereadNftContract.idOf(input), input, { delayMs: REREAD_DELAY_MS })
  }

  async #newMarks(): Promise<readonly { readonly kind: Kind; readonly contract: string }[]> {
    const { warehouse } = this.#noticing
    const newest = await warehouse.query<{ kind: Kind; bucket: number; version: string }>(
      `SELECT toString(kind) AS kind, bucket, max(version) AS version FROM nft_marks WHERE chain = {chain:String}
       GROUP BY kind, bucket`,
      { chain: this.#chain },
    )
    // A contract may have a mark in each bucket.
    const marked = new Map<string, { kind: Kind; contract: string }>()
    for (const { kind, bucket, version } of newest) {
      const key = `${kind} ${bucket}`
      const seen = this.#seen.get(key) ?? NOTHING_SEEN
      if (BigInt(version) < seen.version || (BigInt(version) === seen.version && seen.contract === undefined)) continue
      let now: Seen = { version: BigInt(version), contract: undefined }
      // What was there before the first look the search finds, as far as it is to be read.
      if (this.#hasLooked) {
        const rows = await warehouse.query<{ address: string; first: string }>(
          `SELECT lower(hex(contract)) AS address, min(version) AS first FROM nft_marks
           WHERE chain = {chain:String} AND kind = {kind:String} AND bucket = {bucket:UInt16}
             AND (version > {seen:UInt64} OR version = {seen:UInt64} AND lower(hex(contract)) > {contract:String})
             AND version <= {version:UInt64}
           GROUP BY contract ORDER BY first, address LIMIT {limit:UInt32}`,
          {
            ...{ chain: this.#chain, kind, bucket, seen: seen.version, contract: seen.contract ?? ALL_SEEN },
            ...{ version, limit: CONTRACTS_MAX },
          },
        )
        for (const { address } of rows) marked.set(`${kind} ${address}`, { kind, contract: `0x${address}` })
        const last = rows[CONTRACTS_MAX - 1]
        if (last !== undefined) now = { version: BigInt(last.first), contract: last.address }
      }
      this.#seen.set(key, now)
    }
    this.#hasLooked = true
    return [...marked.values()]
  }

  async #search(): Promise<readonly { readonly kind: Kind; readonly contract: string }[]> {
    const { warehouse, nowSec } = this.#noticing
    const now = nowSec()
    const behind = Object.fromEntries(this.#found.map((address, nth) => [`behind${nth}`, address]))
    const rows = await warehouse.query<{ nth: number; address: string }>(SEARCH_SQL, {
      ...{ chain: this.#chain, nowSec: now, restedSec: now - CONTRACT_RESTS_SEC, limit: CONTRACTS_MAX },
      ...behind,
    })
    this.#found = SEARCHES.map((_, nth) => {
      const ofSearch = rows.filter((row) => row.nth === nth).map(({ address }) => address)
      return ofSearch.length < CONTRACTS_MAX ? '' : (ofSearch.toSorted().at(-1) as string)
    })
    return rows.map(({ nth, address }) => ({ kind: (SEARCHES[nth] as Search).kind, contract: `0x${address}` }))
  }
}
