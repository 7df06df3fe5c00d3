import { Compile } from 'typebox/schema'
import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Api, openApi } from '../../api/http/server.ts'
import { NFT_OPERATIONS } from '../../api/nft/plugin.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { foldChain } from '../../processors/nft/fold.ts'
import { ART, blockOn, COINS, eventsOf, type Move, NOBODY, revertOf, tell } from '../unit/given-nft-chain.ts'
import { tellTokens } from '../unit/given-told-tokens.ts'
import { HOODI, MAINNET, SCROLL } from './api-fixture.ts'
import { type GivenApi, openGivenApi, TOKEN } from './given-api.ts'

// Which tokens of an owner are likely spam: by how they came, and by what they say of themselves.

const [ANN, BOB, SPAMMER] = ['a1', 'b2', 'c3'].map((byte) => `0x${byte.repeat(20)}`) as [Address, Address, Address]
/** Says of itself what spam says. */
const SPAM: Address = `0x${'05'.repeat(20)}`
/** Has received a token in each of many blocks. */
const WHALE: Address = `0x${'0c'.repeat(20)}`
const TOKENS_OF_WHALE = 60_000
/** Has received as many in one block. */
const HEAP: Address = `0x${'0d'.repeat(20)}`
const TOKENS_OF_HEAP = 9_000
const FIRST = 100_000
const ROWS_READ_MAX = 100_000
const never = new AbortController().signal

let warehouse: Warehouse
let api: Api
let given: GivenApi

const move = (
  contract: Address,
  id: bigint,
  { from = NOBODY, to = ANN, amount = 1n, sender }: Partial<Move>,
): Move => ({
  ...{ contract, from, to, id, amount },
  ...(sender === undefined ? {} : { sender }),
})

beforeAll(async () => {
  given = await openGivenApi()
  warehouse = given.warehouse
  await fillMainnet()
  await fillScroll()
  api = await openApi({ ...given.partsOf([MAINNET, HOODI, SCROLL]), host: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await given[Symbol.asyncDispose]()
})

async function fillMainnet(): Promise<void> {
  const chain = MAINNET.names.name
  // Minted by its owner, sent to her by Bob, of a sender whom nobody knows, and dropped on her.
  const first = blockOn(undefined, [
    move(ART, 1n, { sender: ANN }),
    move(ART, 2n, { to: BOB, sender: BOB }),
    move(ART, 3n, {}),
    move(SPAM, 1n, { sender: SPAMMER }),
    move(COINS, 1n, { sender: ANN, amount: 5n }),
  ])
  // She had it already; and one that comes, goes and comes again: the last time counts.
  const second = blockOn(first, [
    move(ART, 2n, { from: BOB, sender: BOB }),
    move(COINS, 1n, { sender: SPAMMER, amount: 5n }),
    move(ART, 4n, { sender: SPAMMER }),
    move(ART, 4n, { from: ANN, to: BOB, sender: ANN }),
    move(ART, 4n, { from: BOB, sender: ANN }),
  ])
  const reverted = blockOn(second, [move(ART, 5n, { sender: SPAMMER })])
  const third = blockOn(second, [move(ART, 5n, { sender: ANN })])
  await tell(
    warehouse,
    [first, second, reverted].flatMap((block) => eventsOf(block, chain)),
    { chain },
  )
  await foldChain(warehouse, chain, never)
  await tell(warehouse, [revertOf(reverted, chain), ...eventsOf(third, chain)], { chain })
  await foldChain(warehouse, chain, never)
  for (const [contract, name, type] of [
    [ART, 'Lanterns', 'ERC721'],
    [SPAM, 'Claim at drop.xyz', 'UNKNOWN'],
  ] as const) {
    await warehouse.command(
      `INSERT INTO nft_contracts (chain, contract, read_at, name, has_name, symbol, has_symbol, token_type, deploy_block, version)
       VALUES ('${chain}', unhex('${contract.slice(2)}'), 77, '${name}', 1, '', 1, '${type}', 1, 1)`,
    )
  }
  await tellTokens(warehouse, chain, [
    ...[1n, 2n, 3n, 4n].map((id) => ({
      ...{ contract: ART, id, document: { json: '{}', title: 'One', read_sec: 78 } },
      state: { token_uri: 'ipfs://one', read_sec: 79 },
    })),
    { contract: SPAM, id: 1n, state: { error: 'NO_TOKEN_URI', attempts: 2, read_sec: 79, retry_sec: 99 } },
  ])
}

/** A wallet that holds tokens of as many blocks, which lie otherwise than the tokens do. */
async function fillScroll(): Promise<void> {
  const chain = SCROLL.names.name
  const first = blockOn(undefined, [move(COINS, 1n, { sender: ANN })], FIRST)
  await tell(warehouse, eventsOf(first, chain), { chain })
  await foldChain(warehouse, chain, never)
  const padded = "toFixedString(unhex(leftPad(hex(number + 4294967296), 64, '0')), 32)"
  const bytes = (text: string) => `toFixedString(unhex('${text.slice(2)}'), 20)`
  const hash = `toFixedString(unhex('${first.hash.slice(2)}'), 32)`
  const receive = async (owner: Address, tokens: number, { block, log }: { block: string; log: string }) => {
    await warehouse.command(
      `INSERT INTO nft_holder_tokens (chain, start, holder, contract, token_id, standard, block_number, block_hash, amount, excess, since_block, since_time)
       SELECT '${chain}', ${FIRST}, ${bytes(owner)}, ${bytes(ART)}, ${padded}, 'ERC721', ${block}, ${hash}, 1, 0, ${block}, 0
       FROM numbers(${tokens})`,
    )
    await warehouse.command(
      `INSERT INTO nft_transfer_lists (chain, start, kind, key, block_number, log_index, batch_index, block_hash, contract, standard, event, token_id, amount, sender)
       SELECT '${chain}', ${FIRST}, 'to', ${bytes(owner)}, ${block}, ${log}, 0, ${hash}, ${bytes(ART)}, 'ERC721', 'Transfer', ${padded}, 1, ${bytes(SPAMMER)}
       FROM numbers(${tokens})`,
    )
  }
  await receive(WHALE, TOKENS_OF_WHALE, { block: `10 + (number * 7919) % ${TOKENS_OF_WHALE}`, log: '0' })
  // Its holders became more with each block since it was made.
  await warehouse.command(
    `INSERT INTO nft_contracts (chain, contract, block_number, token_type, deploy_block, version)
     VALUES ('${chain}', unhex('${ART.slice(2)}'), ${FIRST}, 'ERC721', ${FIRST}, 1)`,
  )
  await warehouse.command(
    `INSERT INTO nft_totals (chain, start, kind, key, block_number, block_hash, others)
     SELECT '${chain}', ${FIRST}, 'contract', ${bytes(ART)}, 10 + number, ${hash}, number FROM numbers(${TOKENS_OF_WHALE})`,
  )
  await receive(HEAP, TOKENS_OF_HEAP, { block: '10', log: `${TOKENS_OF_HEAP} - number` })
}

interface Owned {
  readonly contract_address: string
  readonly token_id: string
  readonly reasons: readonly string[] | null
  readonly unknown_reasons: readonly string[]
  readonly arrival: { readonly block_number: number; readonly from: string; readonly sender: string | null } | null
}

// biome-ignore lint/suspicious/noExplicitAny: what is read of it is compared.
async function get(operation: string, query: string, chain = 'eth_mainnet'): Promise<any> {
  const response = await fetch(`${api.url}/nft/${chain}/${TOKEN}/${operation}?${query}`)
  const body = await response.json()
  expect(response.status, JSON.stringify(body)).toBe(200)
  const route = NFT_OPERATIONS.find(({ route }) => route.id === operation)?.route
  if (route !== undefined) expect(Compile(route.response).Errors(body)).toEqual([true, []])
  return body
}

const nameOf = ({ contract_address, token_id }: Owned): string =>
  `${contract_address === ART ? 'art' : contract_address === SPAM ? 'spam' : 'coins'} ${token_id}`
const named = (rows: readonly Owned[], of: (row: Owned) => unknown) =>
  Object.fromEntries(rows.map((row) => [nameOf(row), of(row)]))

test('tokens tell by which transfer they came, where that is asked for', async () => {
  const { owner_nfts } = await get('getNFTsForOwner', `owner=${ANN}&with_arrival=true`)
  expect(named(owner_nfts, ({ arrival }) => [arrival?.block_number, arrival?.from, arrival?.sender])).toEqual({
    'art 1': [1, NOBODY, ANN],
    'art 2': [2, BOB, BOB],
    'art 3': [1, NOBODY, null],
    'art 4': [2, BOB, ANN],
    'art 5': [3, NOBODY, ANN],
    'coins 1': [1, NOBODY, ANN],
    'spam 1': [1, NOBODY, SPAMMER],
  })
  const without = await get('getNFTsForOwner', `owner=${ANN}`)
  expect(without.owner_nfts.map(({ arrival }: Owned) => arrival)).toEqual(Array.from({ length: 7 }, () => null))
})

test('tokens tell what is odd about them, and what nobody knows', async () => {
  const { owner_nfts } = await get('getNFTsForOwner', `owner=${ANN}&with_arrival=true&with_new_holders=true`)
  expect(named(owner_nfts, ({ reasons }) => reasons)).toEqual({
    'art 1': [],
    'art 2': ['unsolicited'],
    'art 3': null,
    'art 4': [],
    'art 5': null,
    'coins 1': null,
    'spam 1': ['unsolicited', 'link_in_name', 'asks_to_claim', 'unknown_type', 'no_metadata'],
  })
  expect(named(owner_nfts, ({ unknown_reasons }) => unknown_reasons)).toMatchObject({
    'art 1': [],
    'art 3': ['unsolicited'],
    'art 5': ['link_in_name', 'asks_to_claim', 'no_metadata'],
    'coins 1': ['link_in_name', 'asks_to_claim', 'unknown_type', 'no_metadata'],
  })
  const plain = await get('getNFTsForOwner', `owner=${ANN}&with_metadata=false`)
  expect(new Set(plain.owner_nfts.map(({ reasons }: Owned) => reasons))).toEqual(new Set([null]))
})

test.each([
  ['unsolicited', ['art 1', 'art 3', 'art 4', 'art 5', 'coins 1']],
  ['link_in_name', ['art 1', 'art 2', 'art 3', 'art 4', 'art 5', 'coins 1']],
  ['no_metadata,unsolicited', ['art 1', 'art 3', 'art 4', 'art 5', 'coins 1']],
  ['any', ['art 1', 'art 3', 'art 4', 'art 5', 'coins 1']],
] as const)('without %s there are %s, and as many are counted', async (codes, left) => {
  const query = `owner=${ANN}&without_reasons=${codes}`
  const all = await get('getNFTsForOwner', query)
  expect(new Set(all.owner_nfts.map(nameOf))).toEqual(new Set(left))
  expect(all.total_count).toBe(left.length)
  const found: string[] = []
  let next = ''
  do {
    const page = await get('getNFTsForOwner', `${query}&page_size=2${next}`)
    found.push(...page.owner_nfts.map(nameOf))
    // What is left out on other pages nobody counts.
    expect(page.total_count).toBe(null)
    next = page.page_key === null ? '' : `&page_key=${page.page_key}`
  } while (next !== '')
  expect(found).toEqual(all.owner_nfts.map(nameOf))
})

test('contracts tell what is odd about them, and are left out for it', async () => {
  const all = await get('getContractsForOwner', `owner=${ANN}`)
  const reasonsOf = (rows: readonly Owned[]) =>
    Object.fromEntries(rows.map(({ contract_address, reasons }) => [contract_address, reasons]))
  expect(reasonsOf(all.contracts)).toEqual({
    [ART]: [],
    [COINS]: null,
    [SPAM]: ['link_in_name', 'asks_to_claim', 'unknown_type'],
  })
  expect(all.total_count).toBe(3)
  const clean = await get('getContractsForOwner', `owner=${ANN}&without_reasons=unknown_type`)
  expect(Object.keys(reasonsOf(clean.contracts))).toEqual([ART, COINS])
  expect(clean.total_count).toBe(2)
})

test('a reason that there is none of is refused', async () => {
  for (const operation of [
    'getNFTsForOwner?without_reasons=boring',
    'getContractsForOwner?without_reasons=unsolicited',
  ]) {
    const response = await fetch(`${api.url}/nft/eth_mainnet/${TOKEN}/${operation}&owner=${ANN}`)
    expect(response.status).toBe(400)
    expect(((await response.json()) as { detail: string }).detail).toMatch(/^without_reasons/)
  }
})

test.each([
  ['with_arrival=true', 25],
  ['with_new_holders=true', 25],
  ['with_arrival=true&with_new_holders=true', 10],
])(
  'a page of a large wallet whose tokens came in as many blocks reads at most 100,000 rows: %s',
  async (asked, rows) => {
    const rowsRead = async (): Promise<number> => {
      const [row] = await warehouse.query<{ value: string }>(
        "SELECT value FROM system.events WHERE event = 'SelectedRows'",
      )
      return Number(row?.value)
    }
    let next = ''
    const found: string[] = []
    for (let pages = 0; pages < 3; pages++) {
      const before = await rowsRead()
      const page = await get('getNFTsForOwner', `owner=${WHALE}&${asked}${next}`, 'scroll_mainnet')
      expect((await rowsRead()) - before).toBeLessThanOrEqual(ROWS_READ_MAX)
      expect(page.owner_nfts).toHaveLength(rows)
      const isTold = asked.includes('with_arrival')
      expect(new Set(page.owner_nfts.flatMap(({ reasons }: Owned) => reasons))).toEqual(
        new Set([isTold ? 'unsolicited' : null]),
      )
      const unknown = new Set(page.owner_nfts.flatMap(({ unknown_reasons }: Owned) => unknown_reasons))
      expect(unknown.has('many_new_holders')).toBe(!asked.includes('with_new_holders'))
      found.push(...page.owner_nfts.map(({ token_id }: Owned) => token_id))
      next = `&page_key=${page.page_key}`
    }
    expect(found).toEqual(Array.from({ length: 3 * rows }, (_, i) => String(4_294_967_296 + i)))
  },
)
