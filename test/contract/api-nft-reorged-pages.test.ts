import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { foldChain } from '../../processors/nft/fold.ts'
import {
  ART,
  type Block,
  blockOn,
  COINS,
  chainOf,
  eventsOf,
  type Move,
  NOBODY,
  revertOf,
  tell,
} from '../unit/given-nft-chain.ts'
import { ANN, art, BOB, coins, type GivenNftApi, openGivenNftApi } from './given-nft-api.ts'

const chain = 'feed_mainnet'
const never = new AbortController().signal
const BLOCKS = 40
/** Blocks that were there before, at the height of each of the last ones. */
const BRANCHES = 3
const REVERTED = 30

let nft: GivenNftApi
let head: Block
/** What the canonical chain has, in its order. */
const canonical: (Move & { readonly place: string })[] = []

/**
 * Transfers of each branch stand at the same places of blocks of equal numbers. The first blocks of the first branch are canonical again
 * in the end: what counts at a place lies before what does not there, and behind them after it.
 */
beforeAll(async () => {
  nft = await openGivenNftApi()
  let id = 0n
  const moves = (): Move[] => [
    art(NOBODY, ANN, ++id),
    coins(NOBODY, ANN, 1n, 5n),
    art(ANN, BOB, id),
    ...(id % 3n === 0n ? [coins(ANN, BOB, 1n, 1n)] : []),
  ]
  const told = async (blocks: readonly Block[]) => {
    const events = blocks.flatMap((block) => eventsOf(block, chain))
    await tell(nft.warehouse, events, { chain })
    await foldChain(nft.warehouse, chain, never)
  }
  const grow = async (on: Block | undefined, count: number) => {
    const blocks: Block[] = []
    for (let i = 0; i < count; i++) blocks.push(blockOn(blocks.at(-1) ?? on, moves()))
    await told(blocks)
    return blocks
  }
  const fork = (await grow(undefined, BLOCKS - REVERTED)).at(-1)
  let first: readonly Block[] = []
  for (let branch = 0; branch < BRANCHES; branch++) {
    const blocks = await grow(fork, REVERTED)
    const reverts = blocks.toReversed().map((block) => revertOf(block, chain))
    await tell(nft.warehouse, reverts, { chain })
    if (branch === 0) first = blocks.slice(0, REVERTED / 2)
  }
  await told(first)
  head = (await grow(first.at(-1), REVERTED / 2)).at(-1) as Block
  // By their hashes, which are numbers that grow.
  await nft.warehouse.command('OPTIMIZE TABLE nft_transfer_lists FINAL')
  for (const { number, moves } of chainOf(head))
    canonical.push(...moves.map((move, log) => ({ ...move, place: `${number} ${log}` })))
})
afterAll(() => nft[Symbol.asyncDispose]())

/** As `block log`. */
const placesOf = (isMeant: (move: Move) => boolean = () => true) => canonical.filter(isMeant).map(({ place }) => place)

/** All pages of a question. */
async function pages(
  query: string,
): Promise<{ readonly told: readonly string[]; readonly totals: ReadonlySet<number> }> {
  const told: string[] = []
  const totals = new Set<number>()
  for (let key = ''; ; ) {
    const { body } = await nft.get('getAssetsTransfer', `${query}${key}`, chain)
    for (const { block_number, log_index } of body.transfers) told.push(`${block_number} ${log_index}`)
    totals.add(body.total_count)
    if (body.page_key === null) return { told, totals }
    expect(body.transfers, 'of a page that is not the last one').not.toEqual([])
    key = `&page_key=${encodeURIComponent(body.page_key)}`
  }
}

describe('pages of transfers where other blocks had transfers at the same places', () => {
  test.each([1, 2, 3, 5, 7, 10, 13, 33, 97, 1_000])('of %i tell each one once, in either order', async (size) => {
    for (const order of ['asc', 'desc']) {
      const { told, totals } = await pages(`max_count=${size}&order=${order}`)
      expect(told).toEqual(order === 'asc' ? placesOf() : placesOf().toReversed())
      expect([...totals]).toEqual([canonical.length])
    }
  })

  test.each<[string, string, (move: Move) => boolean]>([
    ['one receiver', `to_address=${BOB}`, ({ to }) => to === BOB],
    ['one sender', `from_address=${ANN}`, ({ from }) => from === ANN],
    ['two contracts', `contract_addresses=${ART},${COINS}`, () => true],
    [
      'a contract and a sender',
      `contract_addresses=${COINS}&from_address=${ANN}`,
      ({ contract, from }) => contract === COINS && from === ANN,
    ],
    ['two contracts and a receiver', `contract_addresses=${ART},${COINS}&to_address=${BOB}`, ({ to }) => to === BOB],
    ['one standard', 'category=ERC1155', ({ contract }) => contract === COINS],
  ])('of %s, too', async (_, query, isMeant) => {
    const all = placesOf(isMeant)
    for (const size of [2, 33])
      for (const order of ['asc', 'desc']) {
        const { told, totals } = await pages(`${query}&max_count=${size}&order=${order}`)
        expect(told, `${size} ${order}`).toEqual(order === 'asc' ? all : all.toReversed())
        expect([...totals]).toEqual([all.length])
      }
  })
})

test('an answer for which nothing is read tells its block as any other does', async () => {
  const { body, headers } = await nft.get('getAssetsTransfer', 'from_block=5&to_block=4&block=7', chain)
  const [hash] = /0x[0-9a-f]{64}/.exec(headers.get('x-valid-at') ?? '') ?? []
  expect(body).toMatchObject({ transfers: [], total_count: 0, valid_at: { block_number: 7, block_hash: hash } })
  expect(body.valid_at.block_timestamp).toBeGreaterThan(0)
})

test('a page of a block that was reverted is refused as that, where no block has taken its place, too', async () => {
  const above = blockOn(head, [art(NOBODY, BOB, 1_000n)])
  await tell(nft.warehouse, eventsOf(above, chain), { chain })
  await foldChain(nft.warehouse, chain, never)
  const { body } = await nft.get('getAssetsTransfer', 'max_count=1', chain)
  expect(body.valid_at.block_hash).toBe(above.hash)
  await tell(nft.warehouse, [revertOf(above, chain)], { chain })
  for (const query of [`max_count=1&page_key=${body.page_key}`, `block_hash=${above.hash}`]) {
    const { status, body } = await nft.get('getAssetsTransfer', query, chain)
    expect([status, body.detail], query).toEqual([400, `block ${above.hash} is orphaned: it was reverted`])
  }
})
