import { beforeEach, expect, test } from 'vitest'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { readSome } from '../../ingest/metadata/read-some.ts'
import { changedTokens, unreadTokens } from '../../ingest/metadata/unread.ts'
import type { Hex } from '../../schemas/eth/hex.ts'
import { ART, CHAIN, COINS, changed, idOf, MAX, mint, tellBlock, World } from './given-metadata.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const TOKENS = 60_000
/** From the first one on. */
const READ = 50_000
const TURNS = 20
const LIMIT = 400
/** All of the contract once, of three tables or twice of one; then for each turn a page, and pieces of the tables at both of its ends. */
const ROWS_MAX = 6 * TOKENS + TURNS * 16_000
const NOW_SEC = 1_800_000_000

const never = new AbortController().signal

const stores = storesOfFile()
let world: World
beforeEach(async () => {
  await stores().empty()
  world = new World(() => stores().warehouse)
})

const place = { chain: CHAIN, contract: ART }
const ART_SQL = `'${CHAIN}', unhex('${ART.slice(2)}')`
const tokenSql = (number: string) => `reverse(reinterpretAsFixedString(toUInt256(${number})))`

/** Tokens `from` to before `to` were read after a block. */
const tellRead = (from: number, to: number, block = 1) =>
  stores().warehouse.command(
    `INSERT INTO nft_token_states (chain, contract, token_id, block_number, read_at, version)
     SELECT ${ART_SQL}, ${tokenSql('number')}, ${block}, toDateTime(${NOW_SEC}), ${block} FROM numbers(${from}, ${to - from})`,
  )

async function rowsRead(): Promise<number> {
  const [row] = await stores().warehouse.query<{ value: string }>(
    "SELECT value FROM system.events WHERE event = 'SelectedRows'",
  )
  return Number(row?.value)
}

test.each(['unread', 'changed'] as const)(
  'of a large contract each turn reads about as many rows as tokens are found: %s ones',
  async (which) => {
    const { warehouse } = stores()
    await warehouse.command(
      `INSERT INTO nft_tokens (chain, contract, token_id, supply_block, standard, version)
       SELECT ${ART_SQL}, ${tokenSql('number')}, 1, 'ERC721', 1 FROM numbers(${TOKENS})`,
    )
    if (which === 'changed') {
      await tellRead(0, TOKENS)
      await tellBlock(warehouse, 2, [changed(ART, 'BatchMetadataUpdate', { fromTokenId: 0n, toTokenId: MAX })])
    }
    await tellRead(0, READ, 3)
    const begin = await rowsRead()
    let after: Hex | undefined
    for (let turn = 0; turn < TURNS; turn++) {
      const walk = { limit: LIMIT, after }
      const found =
        which === 'unread'
          ? await unreadTokens(warehouse, place, { ...walk, nowSec: NOW_SEC })
          : await changedTokens(warehouse, place, walk)
      const first = READ + turn * LIMIT
      expect(found.map(({ tokenId }) => tokenId)).toEqual(
        Array.from({ length: LIMIT }, (_, i) => idOf(BigInt(first + i))),
      )
      await tellRead(first, first + LIMIT, 3)
      after = found.at(-1)?.tokenId
    }
    expect((await rowsRead()) - begin).toBeLessThanOrEqual(ROWS_MAX)
  },
)

test('a walk that begins behind the last token that there can be begins with the first one', async () => {
  await tellBlock(stores().warehouse, 1, [mint(ART, 1n), mint(ART, MAX)])
  const found = await unreadTokens(stores().warehouse, place, { nowSec: NOW_SEC, limit: LIMIT, after: idOf(MAX) })
  expect(found.map(({ tokenId }) => tokenId)).toEqual([1n, MAX].map(idOf))
})

test('a walk goes on where it stood from turn to turn, comes around for what came behind it, and reads each token once', async () => {
  await tellBlock(
    stores().warehouse,
    1,
    [2n, 3n, 4n, 5n].map((id) => mint(ART, id)),
  )
  // One token each.
  const turn = () => world.run(ART, 'unread', 2_000)
  expect(await turn()).toEqual({ read: 1, isMore: true })
  expect(await turn()).toEqual({ read: 1, isMore: true })
  await tellBlock(stores().warehouse, 2, [mint(ART, 1n), mint(COINS, 9n)])
  while ((await turn()).isMore);
  expect(world.called).toEqual([2, 3, 4, 5, 1].map((id) => `tokenURI 0x01 ${id}`))
  expect(world.cursors.size).toBe(0)
})

test('while a contract is walked, all of its tokens are looked at once a minute to know whether one came or went', async () => {
  await tellBlock(
    stores().warehouse,
    1,
    [1n, 2n, 3n, 4n].map((id) => mint(ART, id)),
  )
  await world.run(ART, 'unread', 2_000)
  const looks: string[] = []
  const warehouse: WarehouseReader = {
    query: (sql, ...rest) => {
      if (sql.includes('max(supply_block)')) looks.push(sql)
      return stores().warehouse.query(sql, ...rest)
    },
  }
  const turn = () =>
    readSome({ ...world.reading(), warehouse }, { ...place, which: 'unread', contractsWaiting: 2_000 }, never)
  for (let i = 0; i < 2; i++) expect(await turn()).toEqual({ read: 1, isMore: true })
  expect(looks).toHaveLength(1)
  world.nowMs += 61_000
  await turn()
  expect(looks).toHaveLength(2)
})

test('what could not be read is found by the walk when it is due', async () => {
  await tellBlock(stores().warehouse, 1, [mint(ART, 1n), mint(ART, 2n)])
  world.uriOf = (_, id) => (id === 1n ? undefined : 'data:,{}')
  await world.run(ART)
  world.nowSec += 3_600
  world.called = []
  expect(await world.run(ART, 'unread', 2_000)).toEqual({ read: 1, isMore: true })
  expect(await world.run(ART, 'unread', 2_000)).toEqual({ read: 0, isMore: false })
  expect(world.called).toEqual(['tokenURI 0x01 1'])
})
