import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { foldChain } from '../../processors/nft/fold.ts'
import { type Block, blockOn, eventsOf, type Move, NOBODY, revertOf, tell } from '../unit/given-nft-chain.ts'
import { ANN, art, BOB, coins, type GivenNftApi, openGivenNftApi } from './given-nft-api.ts'

const chain = 'feed_mainnet'
const never = new AbortController().signal
const BLOCKS = 40
/** Blocks that were there before, at the height of each of the last ones. */
const BRANCHES = 3
const REVERTED = 30

let nft: GivenNftApi
let head: Block
/** What the canonical chain has, told as `block log`. */
const expected: string[] = []

/** Transfers of each branch stand at the same places of blocks of equal numbers. */
beforeAll(async () => {
  nft = await openGivenNftApi()
  let id = 0n
  const moves = (): Move[] => [
    art(NOBODY, ANN, ++id),
    coins(NOBODY, ANN, 1n, 5n),
    art(ANN, BOB, id),
    ...(id % 3n === 0n ? [coins(ANN, BOB, 1n, 1n)] : []),
  ]
  const grow = async (head: Block | undefined, count: number) => {
    let grown = head
    const events = Array.from({ length: count }, () => {
      grown = blockOn(grown, moves())
      return eventsOf(grown, chain)
    })
    await tell(nft.warehouse, events.flat(), { chain })
    await foldChain(nft.warehouse, chain, never)
    return grown as Block
  }
  const fork = await grow(undefined, BLOCKS - REVERTED)
  for (let branch = 0; branch < BRANCHES; branch++) {
    const reverts = []
    for (let block = await grow(fork, REVERTED); block !== fork; block = block.parent as Block)
      reverts.push(revertOf(block, chain))
    await tell(nft.warehouse, reverts, { chain })
  }
  head = await grow(fork, REVERTED)
  for (let block: Block | undefined = head; block !== undefined; block = block.parent)
    for (let log = block.moves.length - 1; log >= 0; log--) expected.unshift(`${block.number} ${log}`)
})
afterAll(() => nft[Symbol.asyncDispose]())

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
    key = `&page_key=${encodeURIComponent(body.page_key)}`
  }
}

describe('pages of transfers where other blocks had transfers at the same places', () => {
  test.each([1, 2, 3, 5, 7, 10, 13, 33, 97, 1_000])('of %i tell each one once, in either order', async (size) => {
    for (const order of ['asc', 'desc']) {
      const { told, totals } = await pages(`max_count=${size}&order=${order}`)
      expect(told).toEqual(order === 'asc' ? expected : expected.toReversed())
      expect([...totals]).toEqual([expected.length])
    }
  })

  test.each([`to_address=${BOB}`, `from_address=${ANN}`])('with %s, too', async (query) => {
    const { told: all } = await pages(`${query}&max_count=1000&order=asc`)
    for (const size of [1, 4, 33]) {
      const { told, totals } = await pages(`${query}&max_count=${size}&order=asc`)
      expect(told).toEqual(all)
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
