import { beforeAll, expect, test } from 'vitest'
import { keysSql } from '../../api/http/lookups.ts'
import type { NftPin } from '../../api/nft/asking.ts'
import { selectBeginning } from '../../api/nft/beginnings.ts'
import { partitionOf } from './fold-partition.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const CHAIN = 'eth'
const ROWS = 5
const stores = storesOfFile()
const holder = (place: string): string => place.repeat(20)
/** Tokens of each holder; others have none. */
const HELD: Readonly<Record<string, number>> = { '1a': 2, '2b': 5, '3c': 12, '4d': 1, '5e': 4 }

beforeAll(async () => {
  await stores().empty()
  for (const [place, tokens] of Object.entries(HELD))
    await stores().warehouse.command(
      `INSERT INTO nft_holder_tokens (chain, start, holder, contract, token_id, standard, block_number, block_hash, amount)
       SELECT '${CHAIN}', 1, unhex('${holder(place)}'), 'c', leftPad(toString(number), 32, '0'), 'ERC721', 1, 'h', 1 FROM numbers(${tokens})`,
    )
})

/** What lists of holders begin with, asked for at once. */
async function begin(...places: readonly string[]): Promise<readonly (number | undefined)[]> {
  const { warehouse } = stores()
  const statements: string[] = []
  const keys: string[] = []
  const lookUpKeys = async <Row>(select: string, key: string) => {
    keys.push(key)
    await Promise.resolve()
    const sql = keysSql(select, keys)
    statements.push(sql)
    return await warehouse.query<Row>(sql)
  }
  const partition = await partitionOf(warehouse, { table: 'nft_holder_tokens', chain: CHAIN, start: 1 })
  const pin = { warehouse: { query: warehouse.query, lookUpKeys }, standing: { partition } }
  const begun = await Promise.all(
    places.map((place) =>
      selectBeginning<{ token: string }>(pin as unknown as NftPin, {
        ...{ table: 'nft_holder_tokens', lead: { column: 'holder', value: holder(place), within: '' } },
        ...{ columns: 'token_id AS token', order: 'contract, token_id, standard, block_number', rows: ROWS },
      }),
    ),
  )
  expect(new Set(statements).size).toBe(1)
  for (const rows of begun) expect(rows?.map(({ token }) => Number(token))).toEqual(rows?.map((_, i) => i))
  return begun.map((rows) => rows?.length)
}

test('lists are begun together, each with its own rows', async () => {
  expect(await begin('5e', '1a', '9f', '4d')).toEqual([4, 2, 0, 1])
})

test('a list has its first rows, however many it has', async () => {
  expect(await begin('3c')).toEqual([ROWS])
  expect(await begin('2b', '1a')).toEqual([ROWS, 2])
})

test('a list whose rows others have taken the place of is not taken for a short one', async () => {
  // Ten rows of both: all are the longer one's.
  expect(await begin('3c', '5e')).toEqual([ROWS, undefined])
  expect(await begin('3c', '1a')).toEqual([ROWS, 2])
  // Fifteen rows: what comes behind the last one is not known.
  expect(await begin('3c', '4d', '5e')).toEqual([ROWS, 1, undefined])
})
