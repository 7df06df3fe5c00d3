import { beforeAll, expect, test } from 'vitest'
import { keysSql } from '../../api/http/lookups.ts'
import type { NftPin } from '../../api/nft/asking.ts'
import { type CountsPlace, selectCounts, selectManyCounts } from '../../api/nft/counts.ts'
import { foldSql } from '../../api/nft/literals.ts'
import { NftStandings } from '../../api/nft/standing.ts'
import { placeOfTotal } from '../../api/nft/totals.ts'
import { FOLDED_TABLES, type TotalKind } from '../../schemas/tables/nft.ts'
import { partitionOf } from './fold-partition.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const FOLDS = [
  { chain: 'eth', start: 1 },
  { chain: 'eth', start: 7 },
  { chain: "o'\\", start: 1 },
] as const
const stores = storesOfFile()
const address = (place: string): string => place.repeat(20)
/** Accounts by how many rows their totals have: one in every tenth block, each with its block's number as what is held. */
const ROWS: Readonly<Record<string, number>> = { '1a': 1, '2b': 3, '3c': 40, '4d': 126, '5e': 700, '6f': 1_500 }
const REVERTED_BLOCK = 20

beforeAll(async () => {
  const { warehouse } = stores()
  await stores().empty()
  for (const [nth, { chain, start }] of FOLDS.entries()) {
    for (const table of FOLDED_TABLES)
      await warehouse.command(`INSERT INTO ${table} (chain, start) SELECT {chain:String}, ${start}`, { chain })
    for (const [place, rows] of Object.entries(ROWS))
      await warehouse.command(
        `INSERT INTO nft_totals (chain, start, kind, key, other, block_number, block_hash, tokens, others)
         SELECT {chain:String}, ${start}, 'account', unhex('${address(place)}'), unhex('${address('00')}'), 10 * (number + 1) AS block,
           leftPad(toString(block), 32, '0'), block + ${nth}, 5 FROM numbers(${rows})`,
        { chain },
      )
    await warehouse.command(
      `INSERT INTO nft_totals (chain, start, kind, key, other, block_number, block_hash, tokens, others, sent, received, received_singles)
       SELECT {chain:String}, ${start}, kind, unhex('${address('1a')}'), unhex(other), 50, leftPad('50', 32, '0'), tokens, 7, 8, 9, 10
       FROM values('kind String, other String, tokens UInt64', ('contract', '${address('00')}', 1), ('contract_account', '${address('2b')}', 2),
         ('contract_account', '${address('3c')}', 3), ('account_contract', '${address('2b')}', 4))`,
      { chain },
    )
  }
})

/** The pin of a fold, whose lookups wait for those that are begun beside them, and the statements that they were. */
async function givenPin({ chain, start }: (typeof FOLDS)[number], number: number) {
  const { warehouse } = stores()
  const statements: string[] = []
  const gathered = new Map<string, { keys: string[]; rows: Promise<unknown[]> }>()
  const lookUpKeys = async <Row>(select: string, key: string) => {
    const known = gathered.get(select)
    if (known !== undefined) {
      known.keys.push(key)
      return (await known.rows) as Row[]
    }
    const keys = [key]
    const rows = Promise.resolve().then(() => {
      gathered.delete(select)
      const sql = keysSql(select, keys)
      statements.push(sql)
      return warehouse.query<unknown>(sql)
    })
    gathered.set(select, { keys, rows })
    return (await rows) as Row[]
  }
  const lookUp = async <Row>(_kind: string, select: string) => {
    statements.push(select)
    return await warehouse.query<Row>(select)
  }
  const reverted = Buffer.from(String(REVERTED_BLOCK).padStart(32, '0')).toString('hex').toUpperCase()
  const pin = {
    warehouse: { query: warehouse.query, lookUp, lookUpKeys },
    ...{ chain, snapshot: { number, hash: '', timeSec: 0 } },
    standing: {
      ...{ start, partition: await partitionOf(warehouse, { table: 'nft_totals', chain, start }) },
      ...{ isReverted: (hash: string) => hash === reverted, notReverted: `block_number != ${REVERTED_BLOCK}` },
    },
  }
  return { pin: pin as unknown as NftPin, statements }
}

const tokensOf = async (pin: NftPin, place: string, number?: number) =>
  Number(
    (
      await selectCounts(pin, {
        ...placeOfTotal('account', address(place)),
        ...{ columns: ['tokens', 'others'] },
        ...(number === undefined ? {} : { number }),
      })
    )?.first ?? -1,
  )

test('a fold is one partition of each table, which its standing names', async () => {
  const { warehouse } = stores()
  for (const { chain, start } of FOLDS) {
    const partitions = await Promise.all(FOLDED_TABLES.map((table) => partitionOf(warehouse, { table, chain, start })))
    expect(new Set(partitions).size).toBe(1)
    const [row] = await warehouse.query<{ folds: string[] }>(
      `SELECT groupUniqArray(concat(chain, ' ', toString(start))) AS folds FROM nft_totals
       WHERE ${foldSql({ standing: { partition: partitions[0] } as never })}`,
    )
    expect(row?.folds).toEqual([`${chain} ${start}`])
  }
  // Of several folds that which ends latest answers; of equal ones the one that begins first.
  const standings = new NftStandings(warehouse)
  for (const { chain, start } of [FOLDS[0], FOLDS[2]]) {
    const standing = await standings.of(chain)
    expect(standing).toMatchObject({
      start,
      partition: await partitionOf(warehouse, { table: 'nft_blocks', chain, start }),
    })
  }
})

test('totals of accounts that changed a few times are found in one statement, each as of its block', async () => {
  const { pin, statements } = await givenPin(FOLDS[0], 1_000_000)
  // The block of number 20 is reverted: what was held before it counts.
  const asked = [
    ...[['1a', 9, -1] as const, ['1a', 10, 10] as const, ['2b', 25, 10] as const],
    ...[['2b', undefined, 30] as const, ['3c', 399, 390] as const, ['4d', undefined, 1_260] as const],
  ]
  const found = await Promise.all(asked.map(([place, number]) => tokensOf(pin, place, number)))
  expect(found).toEqual(asked.map(([, , tokens]) => tokens))
  expect(statements).toHaveLength(1)
})

test('where totals of all together have too many rows each is looked for by itself, and the ones with many from the beginning', async () => {
  const { pin, statements } = await givenPin(FOLDS[1], 1_000_000)
  const ask = async (number: number) =>
    await Promise.all(['2b', '5e', '6f'].map((place) => tokensOf(pin, place, number)))
  expect(await ask(6_999)).toEqual([31, 6_991, 6_991])
  expect(statements).toHaveLength(1 + 3)
  statements.length = 0
  expect(await ask(7_001)).toEqual([31, 7_001, 7_001])
  // Those with few rows together, and one statement for each of the others.
  expect(statements).toHaveLength(1 + 2)
  statements.length = 0
  expect(await ask(15_000)).toEqual([31, 7_001, 15_001])
  expect(statements).toHaveLength(3)
})

test('so it is with totals that one question asks for, in its order', async () => {
  const { pin, statements } = await givenPin(FOLDS[2], 6_995)
  const placesOf = (places: readonly string[]) =>
    places.map((place) => ({ ...placeOfTotal('account', address(place)), columns: ['tokens', 'others'] as const }))
  const ask = async (places: readonly string[]) => {
    const found = await selectManyCounts(pin, placesOf(places))
    return found.map((row) => Number(row?.first ?? -1))
  }
  expect(await ask(['6f', '2b', '99', '3c', '5e'])).toEqual([6_992, 32, -1, 402, 6_992])
  expect(statements).toHaveLength(1)
  // All of them together had too many rows, so that they were selected one by one; those that changed a few times are found together.
  statements.length = 0
  expect(await ask(['4d', '1a'])).toEqual([1_262, 12])
  expect(statements).toHaveLength(1)
})

test('totals of whatever kind are found together, and each has its own', async () => {
  const { pin, statements } = await givenPin(FOLDS[0], 1_000_000)
  const place = (kind: TotalKind, other?: string) =>
    placeOfTotal(kind, address('1a'), ...(other === undefined ? [] : [address(other)]))
  const ask = async (columns: CountsPlace['columns'], asked: ReturnType<typeof place>) => {
    const row = await selectCounts(pin, { ...asked, columns })
    return row === undefined ? undefined : [row.first, row.second].map(Number)
  }
  expect(
    await Promise.all([
      ask(['tokens', 'others'], place('contract')),
      ask(['others'], place('contract')),
      ask(['tokens'], place('contract_account', '2b')),
      ask(['tokens'], place('contract_account', '3c')),
      ask(['tokens', 'others'], place('account_contract', '2b')),
      ask(['tokens'], place('account_contract', '3c')),
      ask(['tokens', 'others'], place('account')),
    ]),
  ).toEqual([[1, 7], [7, 0], [2, 0], [3, 0], [4, 7], undefined, [10, 5]])
  expect(statements).toHaveLength(1)
  expect(
    await Promise.all([
      ask(['sent', 'sent_singles'], place('contract')),
      ask(['received', 'received_singles'], place('contract_account', '3c')),
    ]),
  ).toEqual([
    [8, 0],
    [9, 10],
  ])
  expect(statements).toHaveLength(2)
})
