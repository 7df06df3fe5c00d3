import { bytesSql, textSql } from '../../schemas/tables/literals.ts'
import type { TotalKind } from '../../schemas/tables/nft.ts'
import { KEYS, lookUpKeys } from '../http/lookups.ts'
import { GATHERED_MAX } from '../http/statement-queue.ts'
import type { NftPin } from './asking.ts'
import { foldSql } from './literals.ts'
import { type KeyPlace, selectNewestRow, selectNewestRows } from './newest.ts'
import type { NftStanding } from './standing.ts'

export interface Counts {
  readonly block_number: string
  readonly first: string
  readonly second: string
}

/** Where counts lie, and which two columns of them are asked for; up to which block, the answer's unless told. */
export type CountsPlace = Pick<KeyPlace, 'table' | 'where' | 'number'> & {
  readonly columns: readonly [string, string?]
  /** Whose total it is; absent where it is none. */
  readonly total?: Total
}

/** Of what a table has totals; addresses are hex without 0x. */
export interface Total {
  readonly kind: TotalKind
  readonly key: string
  readonly other: string
}

/** What was counted while the chain stood so: all pages of a list have its total. */
const counted = new WeakMap<NftStanding, Map<string, Counts | undefined>>()
/** While a chain does not move. */
const KEPT_MAX = 10_000

/** The newest row of a table of counts up to a block; undefined where there is none. */
export async function selectCounts(pin: NftPin, place: CountsPlace): Promise<Counts | undefined> {
  const { counts, key, asked, newest } = openCounts(pin, place)
  if (counts.has(key)) return counts.get(key)
  const usual = await selectUsual(pin, asked)
  const found = usual === 'many' ? await selectNewestRow<Counts>(pin, { ...newest, kind: 'counts' }) : usual
  keepCounts(counts, key, found)
  return found
}

/** The same of many, in their order. */
export async function selectManyCounts(
  pin: NftPin,
  places: readonly CountsPlace[],
): Promise<readonly (Counts | undefined)[]> {
  const opened = places.map((place) => openCounts(pin, place))
  const unknown = opened.filter(({ counts, key }) => !counts.has(key))
  const usual = await Promise.all(unknown.map(({ asked }) => selectUsual(pin, asked)))
  const others = unknown.filter((_, i) => usual[i] === 'many').map(({ newest }) => newest)
  const rows = (await selectNewestRows<Counts>(pin, others)).values()
  const found = new Map(usual.map((one, i) => [unknown[i]?.key, one === 'many' ? rows.next().value : one]))
  for (const { counts, key } of unknown) keepCounts(counts, key, found.get(key))
  return opened.map(({ counts, key }) => (found.has(key) ? found.get(key) : counts.get(key)))
}

function openCounts(pin: NftPin, { columns: names, table, where, total, ...place }: CountsPlace) {
  const { standing, snapshot } = pin
  const { number = snapshot.number } = place
  const [first, second] = names
  const counts = counted.get(standing) ?? new Map<string, Counts | undefined>()
  counted.set(standing, counts)
  const columns = `${first} AS first, ${second ?? '0'} AS second`
  return {
    counts,
    key: [table, columns, number, where].join(' '),
    asked: { table, names, number, total },
    newest: { table, where, columns, number },
  }
}

function keepCounts(counts: Map<string, Counts | undefined>, key: string, found: Counts | undefined): void {
  if (counts.size >= KEPT_MAX) counts.clear()
  counts.set(key, found)
}

/** Rows of totals that are looked for together, all of them: most have few. */
const USUAL_ROWS_MAX = 1_000
/** Where all have fewer than these, there are fewer of them together. */
const USUAL_ROWS_EACH = USUAL_ROWS_MAX / GATHERED_MAX
/** Totals that had as many: their newest row is looked for by itself. The one that was noted longest ago is forgotten. */
const withMany = new Set<string>()
/** Columns that are asked for together: a column more takes a twentieth of the time that a statement more does. */
const USUAL_COLUMNS = [
  ['tokens', 'others'],
  ['sent', 'sent_singles', 'received', 'received_singles'],
] as const

type UsualRow = Readonly<Record<string, string>> & {
  readonly of_kind: string
  readonly of_key: string
  readonly of_other: string
  readonly of_block: string
  readonly block_number: string
}

interface Usual {
  readonly table: string
  /** Of its columns. */
  readonly names: CountsPlace['columns']
  readonly number: number
  readonly total: Total | undefined
}

/** Of a total that has changed a few times, found together with those of other questions, whatever they are of and whatever blocks they are about. */
async function selectUsual(
  pin: NftPin,
  { table, names: [first, second], number, total }: Usual,
): Promise<Counts | undefined | 'many'> {
  const columns = USUAL_COLUMNS.find((some) => some.some((name) => name === first))
  if (total === undefined || columns === undefined) return 'many'
  const { chain, standing, warehouse } = pin
  const { kind, key, other } = total
  const name = [chain, standing.start, kind, key, other].join(' ')
  if (withMany.has(name)) return 'many'
  const rows = await lookUpKeys<UsualRow>(
    warehouse,
    `SELECT toString(kind) AS of_kind, hex(key) AS of_key, hex(other) AS of_other, ${columns.join(', ')}, block_number, hex(block_hash) AS of_block
     FROM ${table} WHERE ${foldSql(pin)} AND (kind, key, other) IN (${KEYS}) LIMIT ${USUAL_ROWS_MAX}`,
    `(${textSql(kind)}, ${bytesSql(key)}, ${bytesSql(other)})`,
  )
  const [ofKey, ofOther] = [key.toUpperCase(), other.toUpperCase()]
  const own = rows.filter((row) => row.of_other === ofOther && row.of_key === ofKey && row.of_kind === kind)
  if (rows.length >= USUAL_ROWS_MAX) {
    if (own.length >= USUAL_ROWS_EACH) withMany.add(name)
    if (withMany.size > KEPT_MAX) withMany.delete(withMany.values().next().value as string)
    return 'many'
  }
  const newest = own
    .filter((row) => Number(row.block_number) <= number && !standing.isReverted(row.of_block))
    .reduce<UsualRow | undefined>(
      (last, row) => (Number(row.block_number) > Number(last?.block_number ?? -1) ? row : last),
      undefined,
    )
  if (newest === undefined) return undefined
  const { block_number } = newest
  return { block_number, first: newest[first] ?? '0', second: newest[second ?? ''] ?? '0' }
}
