import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Block, blockOn, eventsOf, type Move, NOBODY, tell } from '../unit/given-nft-chain.ts'
import { TOKEN } from './given-api.ts'
import { ANN, BOB, CID, type GivenNftApi, openGivenNftApi } from './given-nft-api.ts'

// Tokens of one contract go to 600 accounts in the first block, and to 400 in the second; of another one to a few.

const chain = 'feed_mainnet'
const DROP: Address = `0x${'0c'.repeat(20)}`
const CLUB: Address = `0x${'0d'.repeat(20)}`
const QUIET_BLOCKS = 101

let nft: GivenNftApi
beforeAll(async () => {
  nft = await openGivenNftApi()
  let id = 0n
  const mint = (contract: Address, to: Address): Move => ({ contract, from: NOBODY, to, id: ++id, amount: 1n })
  const drop = (count: number) =>
    Array.from({ length: count }, () => mint(DROP, `0x${(id + 2n ** 128n).toString(16).padStart(40, '0')}`))
  let head: Block | undefined
  const events = [
    [mint(DROP, ANN), mint(CLUB, ANN), ...drop(599)],
    [mint(DROP, BOB), mint(CLUB, BOB), ...drop(399)],
    ...Array.from({ length: QUIET_BLOCKS }, () => []),
    [mint(DROP, CID)],
  ].map((moves) => {
    head = blockOn(head, moves)
    return eventsOf(head, chain)
  })
  await tell(nft.warehouse, events.flat(), { chain })
  await nft.fold(chain)
})
afterAll(() => nft[Symbol.asyncDispose]())

interface Row {
  readonly contract_address: Address
  readonly reasons: readonly string[] | null
  readonly unknown_reasons: readonly string[]
}
const CODE = 'many_new_holders'
const get = (query: string, name = chain) => nft.get('getNFTsForOwner', query, name)

/** Of each token: whether it has the reason; null where that is not known. */
async function told(query: string, name = chain) {
  const { body } = await get(query, name)
  return body.owner_nfts.map(({ contract_address, reasons, unknown_reasons }: Row) => [
    contract_address,
    unknown_reasons.includes(CODE) ? null : reasons?.includes(CODE) === true,
  ])
}

test.each([
  ['in the first block, as of which there are 600 holders', `owner=${ANN}&block=1`, [DROP, false], [CLUB, false]],
  ['in the first block, before others of which there are 1,000', `owner=${ANN}`, [DROP, true], [CLUB, false]],
  ['in the second block, after them', `owner=${BOB}`, [DROP, true], [CLUB, false]],
  ['a hundred blocks later', `owner=${CID}`, [DROP, false]],
])('says whether many came to hold tokens of its contract around a token that came %s', async (_, query, ...rows) => {
  expect(await told(`${query}&with_new_holders=true`)).toEqual(rows)
})

test('is not looked for where nobody asks for it, and not known where indexing began late', async () => {
  expect(await told(`owner=${ANN}`)).toEqual([
    [DROP, null],
    [CLUB, null],
  ])
  expect(
    new Set((await told(`owner=${BOB}&with_new_holders=true`, 'scroll_mainnet')).map(([, one]: unknown[]) => one)),
  ).toEqual(new Set([null]))
})

test('leaves tokens out where that is asked for', async () => {
  const { body } = await get(`owner=${ANN}&without_reasons=${CODE}`)
  expect(body.owner_nfts.map((row: Row) => row.contract_address)).toEqual([CLUB])
  expect(body.total_count).toBe(1)
})

test('GraphQL says the same', async () => {
  const query = `{ nft { owner(address: "${ANN}") { tokens(withNewHolders: true) { ownerNfts { reasons unknownReasons } } } } }`
  const { body } = await nft.ask(`/feed/mainnet/${TOKEN}/graphql`, { method: 'POST', body: JSON.stringify({ query }) })
  const rest = (await get(`owner=${ANN}&with_new_holders=true`)).body.owner_nfts as readonly Row[]
  expect(body.data.nft.owner.tokens.ownerNfts).toEqual(
    rest.map(({ reasons, unknown_reasons }) => ({ reasons, unknownReasons: unknown_reasons })),
  )
})
