import type { EventLog } from '../../infra/ports/event-log.ts'
import type { QueryParams, Warehouse, WholeColumns } from '../../infra/ports/warehouse.ts'
import { type ChainClock, type DayNumber, dayOfSlot, firstSlotOfDay, formatDay } from '../../schemas/eth/time.ts'
import type { EpochsRetracted } from '../../schemas/events/log-facts.ts'
import { CodedTexts } from '../../schemas/tables/coded-texts.ts'
import { FAMILIES, PROJECTIONS, type Projection } from '../../schemas/tables/projections.ts'
import { askInParts, inStatements, KEYS_PER_STATEMENT } from '../../schemas/tables/statement-parts.ts'
import { chainClock } from '../rewards/days.ts'
import { sumMonth } from '../rewards/months.ts'
import { type LogFacts, takenBackBy } from './log-facts.ts'
import { dropPartitions } from './partitions.ts'
import type { TableRows, Touched } from './rows.ts'

/**
 * Tables that a removed chain's rows are dropped from: those filled from its own topics, and what is derived from them. What
 * operators said of its validators stays, as do dead letters: those events still count, and a rebuild would bring them back.
 */
export const TABLES_OF_CHAINS = [
  ...tablesOf('rewards'),
  ...tablesOf('execution'),
  ...tablesOf('settlements'),
  ...tablesOf('validators'),
  ...tablesOf('nft'),
  ...tablesOf('head'),
]

function tablesOf(family: keyof typeof FAMILIES): readonly Projection[] {
  return Object.keys(FAMILIES[family]) as Projection[]
}

/** The name of the right to drop removed chains, which nobody may do while tables are exchanged. */
export function dropLease(warehouse: Warehouse): string {
  return `drop:${warehouse.database}`
}

interface Dropping {
  readonly eventLog: EventLog
  readonly warehouse: Warehouse
}

/**
 * Drops the rows of the chains that were removed and of the epochs that were retracted, once for each such fact: rows that came
 * after it stay. Whoever has these facts waits here before it inserts another row, so that nothing of it is inserted before the
 * drop. Rejects with the signal's reason when it aborts.
 */
export async function dropRemoved(
  { eventLog, warehouse }: Dropping,
  facts: LogFacts,
  signal: AbortSignal,
): Promise<void> {
  if ((await notDropped(warehouse, facts)).size === 0) return
  // Of two processes that see a removal the slower one would drop what the faster one has inserted since.
  await using _alone = await eventLog.lease(dropLease(warehouse), signal)
  const left = await notDropped(warehouse, facts)
  for (const [chain, { removalId }] of facts.removed) {
    if (!left.has(removalId)) continue
    await dropPartitions(warehouse, TABLES_OF_CHAINS, chain)
    await warehouse.insert('dropped_chains', { removal_id: [removalId] })
  }
  await dropRetracted(warehouse, facts)
}

/**
 * Drops the rows of retracted epochs: of those that nobody has dropped yet, or, where tables were put in place that were built when
 * only the facts with the `known` ids were there, of all others. To be called with the lease `dropLease`.
 */
export async function dropRetracted(warehouse: Warehouse, facts: LogFacts, known?: ReadonlySet<string>): Promise<void> {
  const left = await notDropped(warehouse, facts)
  for (const [id, retracted] of facts.retracted) {
    if (!left.has(id) && known?.has(id) !== false) continue
    const { chain, fromEpoch, fromDay } = retracted
    const clock = await chainClock(warehouse, chain)
    // The detail first: what is derived meanwhile is derived of less.
    for (const [table, where] of RETRACTED_ROWS) {
      const params = { chain, epoch: fromEpoch, slot: firstSettled(retracted, clock), day: formatDay(fromDay) }
      await warehouse.command(deletionSql(table, `chain = {chain:String} AND ${where}`), params)
    }
    // Days of its month before the first one that went stay closed.
    await sumMonth(warehouse, chain, fromDay)
    await warehouse.insert('dropped_chains', { removal_id: [id] })
  }
}

/**
 * The slot from which on settlements rest on retracted epochs: the first one of the day in which these begin, since the class and
 * the version of a block's revenue follow from all of its proposer's blocks of a day. Nothing is settled of a chain without a clock.
 */
function firstSettled({ fromSlot }: EpochsRetracted, clock: ChainClock | undefined): number {
  return clock === undefined ? fromSlot : firstSlotOfDay(clock, dayOfSlot(clock, fromSlot))
}

/** Rows of retracted epochs, and what is derived from them; the days' figures rest on balances of the epoch after them. */
const RETRACTED_ROWS = [
  ['finalized_blocks', 'epoch >= {epoch:UInt32}'],
  ['validator_epochs', 'epoch >= {epoch:UInt32}'],
  ['ledger_entries', 'epoch >= {epoch:UInt32}'],
  ['epoch_residuals', 'epoch >= {epoch:UInt32}'],
  ['missed_slots', 'epoch >= {epoch:UInt32}'],
  ['network_epochs', 'epoch >= {epoch:UInt32}'],
  ['epoch_differences', 'epoch >= {epoch:UInt32}'],
  ['epoch_proofs', 'epoch >= {epoch:UInt32}'],
  ['epoch_parts', 'epoch >= {epoch:UInt32}'],
  ['epochs', 'epoch >= {epoch:UInt32}'],
  ['day_balances', 'day > {day:Date}'],
  ['daily_rewards', 'day >= {day:Date}'],
  ['closed_days', 'day >= {day:Date}'],
  ['monthly_rewards', 'month >= toStartOfMonth({day:Date})'],
  ['closed_months', 'month >= toStartOfMonth({day:Date})'],
  ['settlements', 'slot >= {slot:UInt64}'],
] as const satisfies readonly (readonly [Projection, string])[]

/** Deletes what was derived of a day, because some of it may follow from rows that were dropped before it was written. */
export async function takeBackDay(
  warehouse: Warehouse,
  { chain, day }: { readonly chain: string; readonly day: DayNumber },
): Promise<void> {
  const clock = await chainClock(warehouse, chain)
  if (clock === undefined) return // the chain was removed with all of it
  const slots = { first: firstSlotOfDay(clock, day), behind: firstSlotOfDay(clock, day + 1) }
  const params = { chain, day: formatDay(day), ...slots }
  for (const [table, where] of ROWS_OF_DAY)
    await warehouse.command(deletionSql(table, `chain = {chain:String} AND ${where}`), params)
  await sumMonth(warehouse, chain, day)
}

/** Rows that are derived of a day. */
const ROWS_OF_DAY = [
  ['closed_days', 'day = {day:Date}'],
  ['daily_rewards', 'day = {day:Date}'],
  ['closed_months', 'month = toStartOfMonth({day:Date})'],
  ['monthly_rewards', 'month = toStartOfMonth({day:Date})'],
  ['settlements', 'slot >= {first:UInt64} AND slot < {behind:UInt64}'],
] as const satisfies readonly (readonly [Projection, string])[]

/** Tables with a projection, in which the engine would leave rows that DELETE FROM only marks. */
const PROJECTED: ReadonlySet<Projection> = new Set<Projection>(['daily_rewards'])

function deletionSql(table: Projection, where: string): string {
  return PROJECTED.has(table)
    ? `ALTER TABLE ${table} DELETE WHERE ${where} SETTINGS mutations_sync = 2`
    : `DELETE FROM ${table} WHERE ${where}`
}

/** Deletes settlements of accounts that may follow from retracted epochs, for the same reason. */
export async function takeBackSettlements(
  warehouse: Warehouse,
  retracted: EpochsRetracted,
  accounts: readonly string[],
): Promise<void> {
  const { chain } = retracted
  const slot = firstSettled(retracted, await chainClock(warehouse, chain))
  await warehouse.command(
    'DELETE FROM settlements WHERE chain = {chain:String} AND account IN {accounts:Array(String)} AND slot >= {slot:UInt64}',
    { chain, accounts, slot },
  )
}

/** Ids of the facts whose rows have not been dropped yet. */
async function notDropped(warehouse: Warehouse, facts: LogFacts): Promise<ReadonlySet<string>> {
  const ids = takenBackBy(facts)
  const rows = await askInParts(ids, KEYS_PER_STATEMENT, (some) =>
    warehouse.query<{ removal_id: string }>(
      'SELECT removal_id FROM dropped_chains WHERE has({ids:Array(String)}, removal_id)',
      { ids: some },
    ),
  )
  const dropped = new Set(rows.map((row) => row.removal_id))
  return new Set(ids.filter((id) => !dropped.has(id)))
}

/** Rows of one event, and the chain that was removed before they came. */
export interface LateRows {
  readonly chain: string
  readonly version: bigint
  readonly rows: readonly TableRows[]
}

/**
 * Deletes rows that were inserted after their chain had been dropped. A version alone does not name them: it is a place in one
 * partition of a topic, and every partition has that place. Rows of one event lie within bounds of their sort key, and an event
 * that has rows within the same bounds has the same key, so it is in the same partition and has another version. Tokens are not
 * bounded so, for their contract has some in each partition: those that stay name what is not there, of which nothing is read.
 */
export async function takeBack(warehouse: Warehouse, late: readonly LateRows[]): Promise<void> {
  const places = new Map<Projection, Map<string, Place[]>>()
  for (const { chain, version, rows } of late) {
    for (const { table, columns } of rows) {
      // Nothing bounds what is not there: all rows with the version would be of the event.
      if ((columns.chain?.length ?? 0) === 0 || table === 'nft_tokens') continue
      const ofTable = places.get(table) ?? new Map<string, Place[]>()
      const bounds = boundsOf(PROJECTIONS[table], columns)
      places.set(table, ofTable.set(chain, [...(ofTable.get(chain) ?? []), { version, bounds }]))
    }
  }
  for (const [table, ofTable] of places)
    for (const [chain, all] of ofTable)
      for (const some of inStatements(all, PLACES_PER_STATEMENT)) await deleteAt(warehouse, { table, chain, some })
}

interface Places {
  readonly table: Projection
  readonly chain: string
  readonly some: readonly Place[]
}

async function deleteAt(warehouse: Warehouse, { table, chain, some }: Places): Promise<void> {
  const params: Record<string, QueryParams[string]> = { chain }
  const conditions = some.map(({ version, bounds }, i) => {
    const within = bounds.map(({ column, first, last, isBytes }) => {
      if (typeof first === 'bigint') return `toInt64(${column}) BETWEEN ${first} AND ${last}`
      const [from, to] = [`${column}_${i}_first`, `${column}_${i}_last`]
      Object.assign(params, { [from]: first, [to]: last })
      return `${isBytes ? 'lower(hex' : '(toString'}(${column})) BETWEEN {${from}:String} AND {${to}:String}`
    })
    return `(${[`version = ${version}`, ...within].join(' AND ')})`
  })
  await warehouse.command(`DELETE FROM ${table} WHERE chain = {chain:String} AND (${conditions.join(' OR ')})`, params)
}

/** Each has a condition of half a kilobyte, beside its bounds. */
const PLACES_PER_STATEMENT = 100

/** Where the rows of one event lie in a table. */
interface Place {
  readonly version: bigint
  readonly bounds: readonly Bound[]
}

/** The smallest and the largest value that the rows have in a column. */
interface Bound {
  readonly column: string
  readonly first: string | bigint
  readonly last: string | bigint
  /** Both are hex of bytes. */
  readonly isBytes: boolean
}

function boundsOf(sortKey: readonly string[], columns: WholeColumns): readonly Bound[] {
  const rows = columns.chain?.length ?? 0
  return sortKey.flatMap((column) => {
    const given = columns[column]
    if (column === 'chain' || given === undefined || given.length === 0) return []
    const isBytes = given instanceof Uint8Array && given.length > rows
    const values = isBytes ? hexOfRows(given, rows) : given instanceof CodedTexts ? [...given] : given
    let [first, last] = [toComparable(values[0]), toComparable(values[0])]
    for (const value of values) {
      const one = toComparable(value)
      if (one < first) first = one
      if (one > last) last = one
    }
    return [{ column, first, last, isBytes }]
  })
}

/** Bytes of rows, one after the other, as hex of each row. */
function hexOfRows(bytes: Uint8Array, rows: number): readonly string[] {
  const width = bytes.length / rows
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Array.from({ length: rows }, (_, row) => hex.toString('hex', row * width, (row + 1) * width))
}

function toComparable(value: string | number | bigint | undefined): string | bigint {
  return typeof value === 'string' ? value : BigInt(value ?? 0)
}

/** Deletes the notes that epochs are complete, which may have been made of rows that were dropped since. */
export async function takeBackEpochs(warehouse: Warehouse, touched: readonly Touched[]): Promise<void> {
  const epochs = Map.groupBy(
    touched.filter((one) => one.kind === 'epoch'),
    ({ chain }) => chain,
  )
  for (const [chain, some] of epochs) {
    await warehouse.command('DELETE FROM epochs WHERE chain = {chain:String} AND has({epochs:Array(UInt32)}, epoch)', {
      chain,
      epochs: [...new Set(some.map(({ epoch }) => epoch))],
    })
  }
}
