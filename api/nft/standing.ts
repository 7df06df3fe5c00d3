import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import type { LogsCheck } from '../../schemas/events/execution-block.ts'
import { WEAK_CHECKS_SQL, type WeakCheckRow, weakestCheck } from '../../schemas/tables/block-coverage.ts'
import { textSql } from '../../schemas/tables/literals.ts'
import { notRevertedSql, REVERTED_SQL } from '../../schemas/tables/reverted-blocks.ts'
import { Looks } from '../http/looks.ts'
import { KeptTold } from './kept-told.ts'
import type { ToldContract } from './told-contracts.ts'
import type { ToldToken } from './told-tokens.ts'

/** A block that an answer describes. */
export interface Snapshot {
  readonly number: number
  /** Hex with 0x. */
  readonly hash: string
  readonly timeSec: number
}

/** What the tables have of a chain, as it stood when it was looked at. */
export interface NftStanding {
  /** First block of the fold that answers. */
  readonly start: number
  /** Of the fold, in each table of what is folded, as the engine calls it. */
  readonly partition: string
  /** The newest block that everything is folded of. */
  readonly head: Snapshot
  /** The newest block that is final and folded; undefined before the first. */
  readonly finalizedNumber: number | undefined
  /** The weakest check that any block from `start` through the head has passed. */
  readonly check: LogsCheck
  /** Blocks whose rows count for nobody, as a condition of SQL on `block_hash`. */
  readonly notReverted: string
  /** Whether rows of a block count for nobody, by its hash as `hex` writes it. */
  readonly isReverted: (hash: string) => boolean
  /** Whether any contract has logged what nobody can read. */
  readonly hasOddLogs: boolean
  /** Differs when a block was reverted, or came back. */
  readonly reverts: string
  /** What contracts say of themselves, as far as it was asked for while they say the same. */
  readonly toldContracts: KeptTold<ToldContract>
  /** The same of tokens, as lists tell it: by contract and id. */
  readonly toldTokens: KeptTold<ToldToken>
  /** Differs when anything has changed that an answer is made of. */
  readonly position: string
  /** What page keys are signed with: the log's identity, which nobody is told. */
  readonly secret: string
}

/** So old may be what is known of a chain when a question comes, unless nothing was written since. */
const AGE_MS_MAX = 100
/** A reorg that is not wholly told yet is looked for among so many of the newest blocks. */
const RECENT_BLOCKS = 128

const CHAIN = '{chain:String}'
const OF_CHAIN = `chain = ${CHAIN}`

const REVERTS = 'toString((count(), sum(cityHash64(block_hash, is_reverted, version))))'
const TOLD_REVERTS = `FROM reverted_blocks WHERE ${OF_CHAIN}`

interface Fact {
  /** What it is made of. */
  readonly tables: readonly string[]
  /** Rows of `part`, where it has several, and `value`. What a table has of a chain, or of a fold, is counted without reading it: both are in its partitions. */
  readonly sql: string
}

/** What is told of a chain beside its newest blocks. */
const FACTS = {
  starts: {
    tables: ['nft_blocks'],
    sql: `SELECT '' AS part, concat(toString(start), ' ', partitionID(${CHAIN}, start)) AS value
      FROM (SELECT start FROM nft_blocks WHERE ${OF_CHAIN} GROUP BY start)`,
  },
  final: {
    tables: ['execution_finality', 'finalized_blocks'],
    sql: `SELECT '' AS part, toString(block_number) AS value FROM execution_finality FINAL WHERE ${OF_CHAIN}
      UNION ALL SELECT '', toString(execution_block_number) FROM (
        SELECT execution_block_number FROM finalized_blocks WHERE ${OF_CHAIN} ORDER BY slot DESC LIMIT 1
      )`,
  },
  reverts: { tables: ['reverted_blocks'], sql: `SELECT '' AS part, ${REVERTS} AS value ${TOLD_REVERTS}` },
  odd: {
    tables: ['nft_odd_logs'],
    sql: `SELECT '' AS part, toString(count()) AS value FROM nft_odd_logs WHERE ${OF_CHAIN}`,
  },
  exchanges: {
    tables: ['rebuild_exchanges'],
    sql: `SELECT '' AS part, toString((count(), sum(cityHash64(started, version)))) AS value FROM rebuild_exchanges`,
  },
  log: {
    tables: ['filled_from'],
    sql: `SELECT '' AS part, log_id AS value FROM (SELECT log_id FROM filled_from ORDER BY since DESC LIMIT 1)`,
  },
  metadata: {
    tables: ['nft_metadata_positions'],
    sql: `SELECT toString(kind) AS part, toString(sum(newest)) AS value FROM (
        SELECT kind, bucket, max(version) AS newest FROM nft_metadata_positions WHERE ${OF_CHAIN} GROUP BY kind, bucket
      ) GROUP BY kind`,
  },
  weak: {
    tables: ['weak_blocks'],
    sql: `SELECT '' AS part, toString(count() > 0) AS value FROM (SELECT 1 FROM weak_blocks WHERE ${OF_CHAIN} AND is_deleted = 0 LIMIT 1)`,
  },
} as const satisfies Readonly<Record<string, Fact>>
type FactName = keyof typeof FACTS
const FACT_NAMES = Object.keys(FACTS) as FactName[]

const recentSql = (notReverted: string): string => `
SELECT block_number AS number, concat('0x', lower(hex(block_hash))) AS hash, concat('0x', lower(hex(parent_hash))) AS parent,
  toUnixTimestamp(time) AS time_sec
FROM nft_blocks
WHERE ${OF_CHAIN} AND start = {start:UInt64} AND ${notReverted}
ORDER BY block_number DESC LIMIT ${RECENT_BLOCKS}`

/** What a look reads. */
const LOOKED_AT = FACT_NAMES.flatMap((name) => FACTS[name].tables)
const REVERT_TABLES = FACTS.reverts.tables

interface FactRow {
  readonly fact: FactName
  readonly part: string
  readonly value: string
}

interface ToldFact {
  /** What was written to its tables before it was asked for; undefined where nobody knows, or something was being written. */
  readonly writes: number | undefined
  readonly rows: readonly FactRow[]
}

interface BlockRow {
  readonly number: string
  readonly hash: string
  readonly parent: string
  readonly time_sec: number
}

/** What is known of the tables of tokens, as old as `Looks` may be. */
export class NftStandings {
  readonly #warehouse: WarehouseReader
  readonly #looks: Looks<NftStanding | undefined>
  readonly #known = new Map<string, NftStanding>()
  readonly #facts = new Map<string, ReadonlyMap<FactName, ToldFact>>()
  readonly #reverted = new Map<string, { readonly reverts: string; readonly hashes: ReadonlySet<string> }>()
  /** What reverts were written before the last look that found what the standing says. */
  readonly #reverts = new WeakMap<NftStanding, number>()

  constructor(warehouse: WarehouseReader, ageMsMax = AGE_MS_MAX, nowMs?: () => number) {
    this.#warehouse = warehouse
    this.#looks = new Looks({
      look: (chain) => this.#look(chain),
      writes: () => warehouse.writesOf?.(LOOKED_AT),
      writing: () => warehouse.writing?.(LOOKED_AT),
      // Written once for all blocks that are folded at a time.
      news: () => warehouse.writesOf?.(['nft_blocks']),
      ageMsMax,
      ...(nowMs === undefined ? {} : { nowMs }),
    })
  }

  /** Undefined before the first block is folded. One object for as long as nothing has changed. */
  of(chain: string): Promise<NftStanding | undefined> {
    return this.#looks.of(chain)
  }

  /**
   * Whether nothing was reverted since: then no row of another branch was read at or below its head, for those are written after the
   * revert of what they replace is told.
   */
  async isUnreverted(chain: string, standing: NftStanding): Promise<boolean> {
    const writes = this.#reverts.get(standing)
    if (writes !== undefined && writes === this.#warehouse.writesOf?.(REVERT_TABLES)) return true
    const [row] = await this.#warehouse.query<{ reverts: string }>(`SELECT ${REVERTS} AS reverts ${TOLD_REVERTS}`, {
      chain,
    })
    return row?.reverts === standing.reverts
  }

  /** What was known is not good any more. */
  forget(chain: string): void {
    this.#looks.forget(chain)
  }

  async #look(chain: string): Promise<NftStanding | undefined> {
    const writes = this.#warehouse.writesOf?.(REVERT_TABLES)
    const standing = await this.#lookAt(chain)
    if (standing !== undefined && writes !== undefined) this.#reverts.set(standing, writes)
    return standing
  }

  async #lookAt(chain: string): Promise<NftStanding | undefined> {
    const known = this.#known.get(chain)
    const recent = (start: number, notReverted: string) =>
      this.#warehouse.query<BlockRow>(recentSql(notReverted), { chain, start })
    // The fold that answered last mostly does so still: its blocks are looked for at the same time.
    const [facts, ofKnown] = await Promise.all([
      this.#factsOf(chain),
      known === undefined ? undefined : recent(known.start, known.notReverted),
    ])
    const valuesOf = (name: FactName) => facts.get(name)?.rows.map(({ value }) => value) ?? []
    const folds = valuesOf('starts')
      .map((value) => value.split(' '))
      .map(([start, partition = '']) => ({ start: Number(start), partition }))
      .sort((a, b) => a.start - b.start)
    const [reverts = ''] = valuesOf('reverts')
    const reverted = await this.#revertedAt(chain, reverts)
    // Without a parameter: it is part of statements that have none.
    const notReverted = notRevertedSql(
      [...reverted],
      REVERTED_SQL.replace(CHAIN, () => textSql(chain)),
    )
    let answering: ((typeof folds)[number] & { readonly head: Snapshot }) | undefined
    for (const fold of folds) {
      const { start } = fold
      const isKnown = start === known?.start && reverts === known.reverts && ofKnown !== undefined
      const head = headOf(isKnown ? ofKnown : await recent(start, notReverted))
      if (head !== undefined && (answering === undefined || head.number > answering.head.number))
        answering = { ...fold, head }
    }
    if (answering === undefined) return undefined
    const { start, partition, head } = answering
    const final = valuesOf('final')
      .map(Number)
      .filter((number) => number > 0)
    const finalizedNumber = final.length === 0 ? undefined : Math.min(Math.max(...final), head.number)
    const others = FACT_NAMES.filter((name) => name !== 'starts' && name !== 'final').flatMap((name) =>
      (facts.get(name)?.rows ?? []).map(({ part, value }) => `${name} ${part} ${value}`),
    )
    const position = [chain, start, head.hash, finalizedNumber, ...others.sort()].join(' ')
    const newest = this.#known.get(chain)
    if (newest?.position === position) return newest
    const check = await this.#checkOf(chain, { start, head, weak: facts.get('weak') })
    const exchanges = valuesOf('exchanges')
    const readings = (kind: string) =>
      (facts.get('metadata')?.rows ?? []).filter(({ part }) => part === kind).map(({ value }) => value)
    const standing = {
      ...{ start, partition, head, finalizedNumber, check, reverts, notReverted, position },
      toldContracts: keptOf(newest?.toldContracts, [...readings('contracts'), ...exchanges]),
      toldTokens: keptOf(newest?.toldTokens, [...readings('tokens'), ...exchanges]),
      isReverted: (hash: string) => reverted.has(hash),
      hasOddLogs: valuesOf('odd').some((count) => count !== '0'),
      secret: valuesOf('log')[0] ?? '',
    }
    this.#known.set(chain, standing)
    return standing
  }

  /** All facts of a chain: in one statement those that may have changed since they were asked for last. */
  async #factsOf(chain: string): Promise<ReadonlyMap<FactName, ToldFact>> {
    const told = new Map(this.#facts.get(chain))
    const writes = new Map(FACT_NAMES.map((name) => [name, this.#warehouse.writesOf?.(FACTS[name].tables)]))
    const asked = FACT_NAMES.filter((name) => {
      const before = told.get(name)?.writes
      return before === undefined || before !== writes.get(name)
    })
    if (asked.length === 0) return told
    const sql = asked
      .map((name) => `SELECT '${name}' AS fact, part, value FROM (${FACTS[name].sql})`)
      .join(' UNION ALL ')
    const rows = await this.#warehouse.query<FactRow>(sql, { chain })
    for (const name of asked)
      told.set(name, { writes: writes.get(name), rows: rows.filter(({ fact }) => fact === name) })
    this.#facts.set(chain, told)
    return told
  }

  /** The weakest check of the fold's blocks. Rows of weak ones are written before their blocks are folded. */
  async #checkOf(
    chain: string,
    { start, head, weak }: { readonly start: number; readonly head: Snapshot; readonly weak: ToldFact | undefined },
  ): Promise<LogsCheck> {
    const hasNone = weak?.rows.every(({ value }) => value === '0') === true
    // Nor was one written until the head was found.
    if (hasNone && weak.writes !== undefined && weak.writes === this.#warehouse.writesOf?.(FACTS.weak.tables))
      return weakestCheck([])
    return weakestCheck(
      await this.#warehouse.query<WeakCheckRow>(WEAK_CHECKS_SQL, { chain, from: start, through: head.number }),
    )
  }

  /** Hashes of reverted blocks, read again where some came or went: a chain has a few of them a day. */
  async #revertedAt(chain: string, reverts: string): Promise<ReadonlySet<string>> {
    const known = this.#reverted.get(chain)
    if (known?.reverts === reverts) return known.hashes
    const rows = await this.#warehouse.query<{ hash: string }>(
      `SELECT hex(block_hash) AS hash FROM (${REVERTED_SQL})`,
      {
        chain,
      },
    )
    const hashes = new Set(rows.map(({ hash }) => hash))
    this.#reverted.set(chain, { reverts, hashes })
    return hashes
  }
}

/** What is kept where none of its kind was read since. */
function keptOf<Value>(known: KeptTold<Value> | undefined, readings: readonly string[]): KeptTold<Value> {
  const position = readings.join()
  if (known === undefined) return new KeptTold(position)
  return known.position === position ? known : known.at(position)
}

/** The newest block below which one follows on the other, of the newest ones: where two are at one height, a revert is on its way. */
function headOf(rows: readonly BlockRow[]): Snapshot | undefined {
  const blocks = [...new Map(rows.map((row) => [row.hash, row])).values()].sort(
    (a, b) => Number(b.number) - Number(a.number),
  )
  let top = 0
  for (let i = 0; i + 1 < blocks.length; i++) {
    const [block, below] = [blocks[i], blocks[i + 1]] as [BlockRow, BlockRow]
    if (block.parent !== below.hash) top = block.number === below.number ? i + 2 : i + 1
  }
  const head = blocks[top]
  return head === undefined ? undefined : { number: Number(head.number), hash: head.hash, timeSec: head.time_sec }
}
