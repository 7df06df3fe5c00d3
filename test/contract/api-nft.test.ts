import { request } from 'node:http'
import { Compile } from 'typebox/schema'
import type { Address } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApiParts } from '../../api/http/api-parts.ts'
import type { ApiChain } from '../../api/http/chain-path.ts'
import { type Api, openApi } from '../../api/http/server.ts'
import { NFT_OPERATIONS } from '../../api/nft/plugin.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { foldChain } from '../../processors/nft/fold.ts'
import { chainNames } from '../../schemas/chains.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { NftError } from '../../schemas/routes/nft/nft-route.ts'
import { toTokenLimitsRow } from '../../schemas/tables/accounts.ts'
import { FOLDED_TABLES } from '../../schemas/tables/nft.ts'
import { tries } from '../long-form.ts'
import {
  ART,
  type Block,
  blockOn,
  COINS,
  eventsOf,
  type Move,
  NOBODY,
  revertOf,
  tell,
  timeOf,
} from '../unit/given-nft-chain.ts'
import { HOODI, insertRows, MAINNET, SCROLL } from './api-fixture.ts'
import { type GivenApi, openGivenApi, TOKEN } from './given-api.ts'

const [ANN, BOB, CID, ZED] = ['a1', 'b2', 'c3', 'd4'].map((byte) => `0x${byte.repeat(20)}`) as [
  Address,
  Address,
  Address,
  Address,
]
const BURNED_AT: Address = `0x${'00'.repeat(18)}dead`
const MAX = 2n ** 256n - 1n
const HOLESKY: ApiChain = { names: chainNames('ethereum', 'holesky'), hasBeacon: true }
const never = new AbortController().signal
/** Where the rows of the large ones are. */
const LARGE: Address = `0x${'0a'.repeat(20)}`
const MIDDLE: Address = `0x${'0b'.repeat(20)}`
const SELLER: Address = `0x${'0c'.repeat(20)}`
const BUSY: Address = `0x${'0d'.repeat(20)}`
const OWNERS_OF_MIDDLE = 7_000
const OWNERS_OF_LARGE = 120_000
const OWNERS_OF_TOKEN = 40_000
const TOKENS_OF_SELLER = 60_000
/** Holds more of LARGE than a page of contracts looks at. */
const HOARDER: Address = `0x${'0f'.repeat(20)}`
const TOKENS_OF_HOARDER = 30_000
const BLOCKS_OF_BUSY = 150_000
/** For any page, of all its statements together. */
const ROWS_READ_MAX = 100_000

const art = (from: Address, to: Address, id: bigint): Move => ({ contract: ART, from, to, id, amount: 1n })
const coins = (from: Address, to: Address, id: bigint, amount: bigint): Move => ({
  contract: COINS,
  from,
  to,
  id,
  amount,
})

let warehouse: Warehouse
let api: Api
let parts: ApiParts
let given: GivenApi
const blocks: Block[] = []

async function grow(chain: string, moves: readonly (readonly Move[])[]): Promise<void> {
  for (const each of moves) blocks.push(blockOn(blocks.at(-1), each))
  await tell(
    warehouse,
    blocks.slice(-moves.length).flatMap((block) => eventsOf(block, chain)),
    { chain },
  )
  await foldChain(warehouse, chain, never)
}

beforeAll(async () => {
  given = await openGivenApi()
  warehouse = given.warehouse
  await insertRows(warehouse, 'access_tokens', [
    {
      token_hash: hashToken('of-rewards'),
      account: 'demo',
      ...toTokenLimitsRow({ scopes: ['read'], families: ['rewards'] }),
      version: 2,
    },
  ])
  await fillMainnet()
  await fillScroll()
  await fillHoodi()
  parts = given.partsOf([MAINNET, HOLESKY, HOODI, SCROLL, { names: chainNames('feed', 'mainnet'), hasBeacon: false }])
  api = await openApi({ ...parts, host: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await given[Symbol.asyncDispose]()
})

const HEAD = 6
const FINAL = 4

/** Six blocks, of which four are final; one more was reverted. */
async function fillMainnet(): Promise<void> {
  const chain = MAINNET.names.name
  await grow(chain, [
    [art(NOBODY, ANN, 1n), art(NOBODY, ANN, 2n), art(NOBODY, BOB, 3n), coins(NOBODY, ANN, 7n, 10n)],
    [coins(ANN, BOB, 7n, 4n), art(ANN, BOB, 2n)],
    [art(BOB, BURNED_AT, 3n), art(NOBODY, CID, MAX)],
  ])
  const orphan = blockOn(blocks.at(-1), [art(ANN, ZED, 1n), art(NOBODY, ZED, 99n)])
  await tell(warehouse, eventsOf(orphan, chain), { chain })
  await foldChain(warehouse, chain, never)
  await tell(warehouse, [revertOf(orphan, chain)], { chain })
  orphans.push(orphan)
  await grow(chain, [[coins(NOBODY, CID, 8n, MAX)], [coins(NOBODY, CID, 8n, MAX)], [art(NOBODY, ANN, 4n)]])
  await insertRows(warehouse, 'finalized_blocks', [
    {
      slot: 40,
      epoch: 1,
      day: '2026-11-20',
      block_root: `0x${'00'.repeat(32)}`,
      proposer_index: 1,
      execution_block_hash: (blocks[FINAL - 1] as Block).hash,
      execution_block_number: FINAL,
      fee_recipient: ANN,
      attestations_gwei: 0,
      sync_aggregate_gwei: 0,
      proposer_slashings_gwei: 0,
      attester_slashings_gwei: 0,
      version: 1,
    },
  ])
  await fillLarge(chain)
}
const orphans: Block[] = []

/** Rows of the fold as many transfers in its first blocks would have left them. */
async function fillLarge(chain: string): Promise<void> {
  const hashes = blocks.map(({ hash }) => hash.slice(2))
  const bytes = (text: string) => `toFixedString(unhex('${text.slice(2)}'), ${(text.length - 2) / 2})`
  const padded = (width: number) =>
    `toFixedString(unhex(leftPad(hex(number + 4294967296), ${width * 2}, '0')), ${width})`
  const at = (number: string) =>
    `${number} AS block, toFixedString(unhex({hashes:Array(String)}[least(block, 6)]), 32) AS hash`
  const insert = (table: string, columns: string, from = 'numbers(1)') =>
    warehouse.command(`INSERT INTO ${table} SELECT '${chain}', 1, ${columns} FROM ${from}`, { hashes })
  const owners = `numbers(${OWNERS_OF_LARGE})`
  await insert('nft_contract_holders', `${bytes(LARGE)}, ${padded(20)}, ${at('1')}, 1, 1, 0`, owners)
  await insert(
    'nft_contract_holders',
    `${bytes(MIDDLE)}, ${padded(20)}, ${at('1')}, 1, 1, 0`,
    `numbers(${OWNERS_OF_MIDDLE})`,
  )
  await insert('nft_contract_totals', `${bytes(LARGE)}, ${at('1')}, ${OWNERS_OF_LARGE}, ${OWNERS_OF_LARGE}`)
  // All but the last of its tokens were sold in the second block.
  const sold = `(SELECT number, arrayJoin([1, 2]) AS block FROM numbers(${TOKENS_OF_SELLER}) WHERE NOT (block = 2 AND number = ${TOKENS_OF_SELLER - 1}))`
  await insert(
    'nft_holder_tokens',
    `${bytes(SELLER)}, ${bytes(LARGE)}, ${padded(32)}, 'ERC721', ${at('block')}, 2 - block, 0, block, 0`,
    sold,
  )
  await insert('nft_holder_totals', `${bytes(SELLER)}, ${at('2')}, 1, 1`)
  for (const [contract, tokens] of [
    [ART, 1],
    [LARGE, TOKENS_OF_HOARDER],
    [MIDDLE, 1],
  ] as const) {
    await insert('nft_holder_contracts', `${bytes(HOARDER)}, ${bytes(contract)}, ${at('2')}, ${tokens}, ${tokens}, 0`)
    await insert(
      'nft_holder_tokens',
      `${bytes(HOARDER)}, ${bytes(contract)}, ${padded(32)}, 'ERC721', ${at('2')}, 1, 0, 2, ${timeOf(2)}`,
      `numbers(${tokens})`,
    )
  }
  // One of its tokens has many holders; the next one has one.
  await insert(
    'nft_token_holders',
    `${bytes(LARGE)}, ${bytes(`0x${'00'.repeat(31)}01`)}, 'ERC1155', ${padded(20)}, ${at('1')}, 1, 0, 1, 0`,
    `numbers(${OWNERS_OF_TOKEN})`,
  )
  await insert(
    'nft_token_holders',
    `${bytes(LARGE)}, ${bytes(`0x${'00'.repeat(31)}02`)}, 'ERC721', ${bytes(BOB)}, ${at('1')}, 1, 0, 1, 0`,
  )
  // One owner that changed in each of many later blocks, and two that did not.
  await insert(
    'nft_contract_holders',
    `${bytes(BUSY)}, ${bytes(BOB)}, if(number = 0, 1, 10 + number) AS block, unhex({hashes:Array(String)}[1]), 1, 1, 0`,
    `numbers(${BLOCKS_OF_BUSY})`,
  )
  for (const holder of [ANN, CID])
    await insert('nft_contract_holders', `${bytes(BUSY)}, ${bytes(holder)}, ${at('1')}, 1, 1, 0`)
  await insert('nft_contract_totals', `${bytes(BUSY)}, ${at('1')}, 3, 3`)
}

const ODD: Address = `0x${'0e'.repeat(20)}`

/** Transfers that are not what they seem: of tokens that `from` does not have. */
async function fillHoodi(): Promise<void> {
  const chain = HOODI.names.name
  const odd = (from: Address, to: Address, id: bigint, sender: Address): Move => ({
    contract: ODD,
    from,
    to,
    id,
    amount: 1n,
    sender,
  })
  const paid = (move: Move): Move => ({ ...move, sender: ANN })
  let head: Block | undefined
  const made: Block[] = []
  for (const moves of [
    [odd(NOBODY, ANN, 1n, ANN), paid(coins(NOBODY, ANN, 1n, 5n))],
    // Of somebody who has it not, and of one who lost it in the transaction before.
    [odd(BOB, CID, 1n, ZED), odd(ANN, CID, 1n, ZED), paid(coins(ANN, BOB, 1n, 6n))],
    [odd(CID, ANN, 1n, ANN), odd(NOBODY, ZED, 1n, ZED), paid(coins(ANN, BOB, 2n, 0n))],
    // Of nobody, of a token that was never made.
    [odd(ANN, ZED, 77n, ZED)],
  ]) {
    head = blockOn(head, moves)
    made.push(head)
  }
  await tell(
    warehouse,
    made.flatMap((block) => eventsOf(block, chain)),
    { chain },
  )
  await foldChain(warehouse, chain, never)
}

/** Blocks from 100 on: what came before nobody has told. */
async function fillScroll(): Promise<void> {
  const chain = SCROLL.names.name
  const first = blockOn(undefined, [art(ANN, BOB, 1n), coins(ANN, BOB, 7n, 5n)], 100)
  const second = { ...blockOn(first, [coins(BOB, CID, 7n, 2n)]), logsCheck: 'bloom' } as const
  await tell(
    warehouse,
    [first, second].flatMap((block) => eventsOf(block, chain)),
    { chain },
  )
  await foldChain(warehouse, chain, never)
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: what is read of it is compared.
  readonly body: any
}

async function ask(path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(`${api.url}${path}`, init)
  const text = await response.text()
  if (response.status === 500) throw new Error(given.logged.join('\n').slice(-3_000))
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}
const base = (chain = 'eth_mainnet', token = TOKEN) => `/nft/${chain}/${token}`
async function get(operation: string, query: string, chain = 'eth_mainnet'): Promise<Answer> {
  const route = NFT_OPERATIONS.find((one) => one.route.id === operation)?.route
  const answer = await ask(`${base(chain)}/${route?.names[0]}?${query}`)
  if (answer.status === 200) {
    if (route !== undefined) expect(Compile(route.response).Errors(answer.body)).toEqual([true, []])
  } else expect(Compile(NftError).Errors(answer.body)).toEqual([true, []])
  return answer
}
const amounts = ({ body }: Answer) =>
  Object.fromEntries(
    (body.owners as { owner_address: string; amount: string }[]).map((row) => [row.owner_address, row.amount]),
  )
const tokens = ({ body }: Answer) =>
  (body.owner_nfts as { contract_address: string; token_id: string; balance: string }[]).map(
    (row) => `${row.contract_address === ART ? 'art' : 'coins'} ${row.token_id}: ${row.balance}`,
  )

describe('paths and requests', () => {
  const question = `isHolderOfContract?contract_address=${ART}&wallet=${ANN}`

  test('are the same at all forms of the path', async () => {
    const answers = await Promise.all(
      [`/nft/eth_mainnet/${TOKEN}/`, `/nft/eth_mainnet/${TOKEN}/v1/`, `/eth_mainnet/${TOKEN}/v1/`].map((path) =>
        ask(`${path}${question}`),
      ),
    )
    for (const { status, body } of answers) {
      expect(status).toBe(200)
      expect(body).toEqual(answers[0]?.body)
    }
  })

  test.each([
    [404, 'Path Not Found', `/nft/eth_sepolia/${TOKEN}/${question}`],
    [404, 'Path Not Found', `/nft/eth_mainnet/${TOKEN}/getEverything`],
    [401, 'Authentication failed', `/nft/eth_mainnet/nobody/${question}`],
    [401, 'Authentication failed', `/nft/eth_mainnet/of-rewards/${question}`],
    [503, 'Service not ready', `/nft/eth_holesky/${TOKEN}/${question}`],
    [400, 'Param error', `/nft/eth_mainnet/${TOKEN}/isHolderOfContract?contract_address=${ART}`],
    [400, 'Param error', `/nft/eth_mainnet/${TOKEN}/isHolderOfContract?contract_address=0x12&wallet=${ANN}`],
    [400, 'Param error', `/nft/eth_mainnet/${TOKEN}/getNFTsForOwner?owner=${ANN}&page_size=101`],
    [
      400,
      'Param error',
      `/nft/eth_mainnet/${TOKEN}/getNFTsForOwner?owner=${ANN}&contract_adresses=${ART}`.replace(
        'adresses',
        'addresses_',
      ),
    ],
  ])('are refused with %i as %s: %s', async (status, message, path) => {
    const { status: found, body } = await ask(path)
    expect(found).toBe(status)
    expect(body).toMatchObject({ code: status, message, data: null })
    expect(Compile(NftError).Errors(body)).toEqual([true, []])
  })

  test('tell by which methods they can be asked', async () => {
    const { status, headers, body } = await ask(`${base()}/${question}`, { method: 'DELETE' })
    expect(status).toBe(405)
    expect(headers.get('allow')).toBe('GET, HEAD')
    expect(body).toEqual({ code: 405, message: 'Method Not Allowed', data: null, detail: null })
    expect((await ask(`${base()}/${question}`, { method: 'HEAD' })).status).toBe(200)
  })

  test('may have their parameters in a JSON body, with numbers that JavaScript would round', async () => {
    const body = `{"contract_address": "${ART.toUpperCase().replace('0X', '0x')}", "token_id": ${MAX}}`
    const answer = await new Promise<string>((resolve, reject) => {
      const headers = { 'content-length': body.length, 'content-type': 'application/x-www-form-urlencoded' }
      const asked = request(`${api.url}${base()}/getOwnersForNFT`, { method: 'GET', headers }, (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () => resolve(text))
      })
      asked.on('error', reject)
      asked.end(body)
    })
    expect(JSON.parse(answer)).toMatchObject({ owners: [{ owner_address: CID, amount: '1' }], total_count: 1 })
  })

  test.each([MAX.toString(), `0x${MAX.toString(16)}`])('take a token id as %s', async (id) => {
    expect(amounts(await get('getOwnersForNFT', `contract_address=${ART}&token_id=${id}`))).toEqual({ [CID]: '1' })
  })

  test.each([
    `contract_addresses=${ART},${COINS}`,
    `contract_addresses=${ART}&contract_addresses=${COINS}`,
    `contract_addresses[]=${ART}&contract_addresses[]=${COINS}`,
  ])('take lists as %s', async (list) => {
    const { body } = await get('getNFTsForOwner', `owner=${CID}&${list}`)
    expect(body.total_count).toBe(2)
  })
})

test.each([
  ['getAssetsTransfer', `from=${ANN}`, 'from is no parameter of it'],
  ['getAssetsTransfer', `contract_address=${ART}`, 'contract_address is no parameter of it'],
  ['getOwnersForContract', `contract_address=${ART}&at_block=1`, 'at_block is no parameter of it'],
  ['getOwnersForContract', `contract_address=${ART}&block=`, 'block is empty'],
  ['getNFTsForOwner', `owner=${ANN}&contract_addresses=`, 'contract_addresses is empty'],
])('%s?%s is not answered as another question', async (operation, query, detail) => {
  expect(await get(operation, query)).toMatchObject({ status: 400, body: { detail } })
})

test('the first page may be asked for by no key', async () => {
  expect((await get('getNFTsForOwner', `owner=${ANN}&page_key=`)).status).toBe(200)
})

test('a token that asks more often than it may is told when to come back', async () => {
  await using limited = await openApi({ ...parts, nftRequestsPerSecond: 1, host: '127.0.0.1', port: 0 })
  const url = `${limited.url}${base()}/isHolderOfContract?contract_address=${ART}&wallet=${ANN}`
  const answers = [await fetch(url), await fetch(url), await fetch(url)]
  expect(answers[0]?.status).toBe(200)
  const refused = answers.find(({ status }) => status === 429)
  expect(refused?.headers.get('retry-after')).toBe('1')
  expect(await refused?.json()).toMatchObject({ code: 429, message: 'Too Many Requests', data: null })
})

describe('ownership', () => {
  test('at the head is that of the canonical chain, with the block that it is of', async () => {
    const answer = await get('getNFTsForOwner', `owner=${ANN}`)
    expect(tokens(answer)).toEqual(['art 1: 1', 'art 4: 1', 'coins 7: 6'])
    const since = answer.body.owner_nfts.map((row: { acquired: { block_number: number } }) => row.acquired.block_number)
    expect(since).toEqual([1, 6, 1])
    const { hash } = blocks[HEAD - 1] as Block
    expect(answer.body).toMatchObject({
      total_count: 3,
      page_key: null,
      valid_at: { block_number: HEAD, block_hash: hash, block_timestamp: timeOf(HEAD) },
      coverage: { from_block: 1, to_block: HEAD, check: 'receipts', is_whole: true, reason: null },
    })
    expect(answer.headers.get('x-valid-at')).toBe(
      `block_number=6, block_hash="${hash}", block_timestamp=${timeOf(HEAD)}`,
    )
    expect(amounts(await get('getOwnersForContract', `contract_address=${ART}`))).toEqual({
      [ANN]: '2',
      [BOB]: '1',
      [CID]: '1',
    })
    expect(amounts(await get('getOwnersForContract', `contract_address=${COINS}&token_id=7`))).toEqual({
      [ANN]: '6',
      [BOB]: '4',
    })
  })

  test('is told after any past block, by number, hash or word', async () => {
    const at = async (block: string | number) => tokens(await get('getNFTsForOwner', `owner=${ANN}&block=${block}`))
    expect(await at(1)).toEqual(['art 1: 1', 'art 2: 1', 'coins 7: 10'])
    expect(await at((blocks[1] as Block).hash)).toEqual(['art 1: 1', 'coins 7: 6'])
    expect(await at('0x2')).toEqual(['art 1: 1', 'coins 7: 6'])
    expect(await at('latest')).toEqual(['art 1: 1', 'art 4: 1', 'coins 7: 6'])
    for (const word of ['finalized', 'safe']) {
      const { body } = await get('getOwnersForContract', `contract_address=${ART}&block=${word}`)
      expect(body.valid_at.block_number, word).toBe(FINAL)
    }
  })

  test('after a block that is to come, is not covered, was reverted or is unknown is refused, and says why', async () => {
    const detailOf = async (block: string | number | bigint, chain?: string) => {
      const { status, body } = await get(
        'isHolderOfContract',
        `contract_address=${ART}&wallet=${ANN}&block=${block}`,
        chain,
      )
      expect(status).toBe(400)
      return body.detail
    }
    expect(await detailOf(7)).toMatch(/in the future: the newest indexed one is 6/)
    expect(await detailOf(10n ** 26n + 1n)).toMatch(/^block 100000000000000000000000001 is in the future/)
    expect(await detailOf(99, 'scroll_mainnet')).toMatch(/not covered: the first indexed one is 100/)
    expect(await detailOf((orphans[0] as Block).hash)).toMatch(/orphaned/)
    expect(await detailOf(`0x${'ee'.repeat(32)}`)).toMatch(/no block of this hash/)
    expect(await detailOf('finalized', 'scroll_mainnet')).toMatch(/no block is known to be final/)
    expect(await detailOf('yesterday')).toMatch(/block is not a block/)
  })

  test('of what was burned is nobody’s, and is not counted', async () => {
    const { body } = await get('getOwnersForContract', `contract_address=${ART}`)
    expect(body.total_count).toBe(3)
    expect((await get('getNFTsForOwner', `owner=${BURNED_AT}`)).body).toMatchObject({ owner_nfts: [], total_count: 0 })
    expect((await get('getOwnersForNFT', `contract_address=${ART}&token_id=3`)).body).toMatchObject({
      owners: [],
      total_count: 0,
    })
  })

  test('tells which rows are final', async () => {
    const { body } = await get('getNFTsForOwner', `owner=${ANN}`)
    expect(
      body.owner_nfts.map((row: { token_id: string; finality: string }) => `${row.token_id} ${row.finality}`),
    ).toEqual(['1 finalized', '4 pending', '7 finalized'])
  })

  test('of amounts that no contract can have says so, and stays within 256 bits for a token', async () => {
    const { body } = await get('getOwnersForNFT', `contract_address=${COINS}&token_id=8`)
    expect(body.owners).toEqual([
      {
        owner_address: CID,
        amount: MAX.toString(),
        is_inconsistent: true,
        acquired: { block_number: 4, block_timestamp: timeOf(4) },
        finality: 'pending',
      },
    ])
  })

  test('that nobody can know is not denied', async () => {
    const asked = async (contract: string, wallet: string, chain: string) =>
      (await get('isHolderOfContract', `contract_address=${contract}&wallet=${wallet}`, chain)).body
    expect(await asked(ART, BOB, 'scroll_mainnet')).toMatchObject({
      isHolderOfContract: true,
      isholderOfContract: true,
    })
    expect(await asked(COINS, ANN, 'scroll_mainnet')).toMatchObject({
      isHolderOfContract: null,
      isholderOfContract: null,
      coverage: { from_block: 100, check: 'bloom', is_whole: false, reason: 'starts_later' },
    })
    expect(await asked(ART, ZED, 'eth_mainnet')).toMatchObject({ isHolderOfContract: false, isholderOfContract: false })
  })

  test('of what began before the first block is not counted', async () => {
    const counted = async (question: string, chain: string) =>
      (await get('getOwnersForContract', question, chain)).body.total_count
    for (const question of [`contract_address=${ART}`, `contract_address=${ART}&token_id=1`]) {
      expect(await counted(question, 'scroll_mainnet')).toBeNull()
      expect(await counted(question, 'eth_mainnet')).toBeGreaterThan(0)
    }
    const csv = await fetch(`${api.url}${base('scroll_mainnet')}/owners.csv?contract_address=${ART}`)
    expect(csv.headers.get('x-coverage')).toBe('from_block=100, is_whole=?0')
  })

  test('by contracts has each once', async () => {
    const { body } = await get('getContractsForOwner', `owner=${CID}`)
    expect(body.contracts).toMatchObject([
      { contract_address: ART, token_type: 'ERC721', total_balance: '1', num_distinct_tokens_owned: '1' },
      { contract_address: COINS, token_type: 'ERC1155', total_balance: MAX.toString(), num_distinct_tokens_owned: '1' },
    ])
    expect(body.total_count).toBe(2)
  })

  test('by contracts says since when the oldest token is held that is held then', async () => {
    const since = async (owner: Address, block: string | number, chain?: string) => {
      const { body } = await get('getContractsForOwner', `owner=${owner}&block=${block}`, chain)
      return body.contracts.map(
        ({ acquired }: { acquired: { block_number: number; block_timestamp: number } | null }) => {
          if (acquired !== null) expect(acquired.block_timestamp).toBe(timeOf(acquired.block_number))
          return acquired?.block_number ?? null
        },
      )
    }
    expect(await since(ANN, 'latest')).toEqual([1, 1])
    expect(await since(CID, 'latest')).toEqual([3, 4])
    // Of his two tokens one was burned.
    expect(await since(BOB, 2)).toEqual([1, 2])
    expect(await since(BOB, 'latest')).toEqual([2, 2])
    // Of what there are many of, some may have been his before the first block.
    expect(await since(BOB, 'latest', 'scroll_mainnet')).toEqual([100, null])
  })
})

describe('pages', () => {
  test('have everything once, and stay as of their block', async () => {
    const found: string[] = []
    let key = ''
    do {
      const answer = await get('getNFTsForOwner', `owner=${ANN}&block=1&page_size=1${key}`)
      found.push(...tokens(answer))
      expect(answer.body.total_count).toBe(3)
      key = answer.body.page_key === null ? '' : `&page_key=${answer.body.page_key}`
    } while (key !== '')
    expect(found).toEqual(['art 1: 1', 'art 2: 1', 'coins 7: 10'])
  })

  test('refuse a key that was changed, or belongs to another question', async () => {
    const { body } = await get('getNFTsForOwner', `owner=${ANN}&page_size=1`)
    const key = body.page_key as string
    const statusOf = async (query: string) => (await get('getNFTsForOwner', `${query}&page_size=1`)).status
    expect(await statusOf(`owner=${ANN}&page_key=${key}`)).toBe(200)
    expect(await statusOf(`owner=${BOB}&page_key=${key}`)).toBe(400)
    for (let i = 0; i < key.length; i += 7) {
      const changed = `${key.slice(0, i)}${key[i] === 'A' ? 'B' : 'A'}${key.slice(i + 1)}`
      expect(await statusOf(`owner=${ANN}&page_key=${changed}`), changed).toBe(400)
    }
  })
})

describe('transfers', () => {
  const shown = ({ body }: Answer) =>
    (body.transfers as { block_number: number; contract_address: string; token_id: string; amount: string }[]).map(
      (row) => `${row.block_number} ${row.contract_address === ART ? 'art' : 'coins'} ${row.token_id}: ${row.amount}`,
    )

  test('are those of the canonical chain, the newest first', async () => {
    const answer = await get('getAssetsTransfer', '')
    expect(shown(answer)).toEqual([
      '6 art 4: 1',
      `5 coins 8: ${MAX}`,
      `4 coins 8: ${MAX}`,
      `3 art ${MAX}: 1`,
      '3 art 3: 1',
      '2 art 2: 1',
      '2 coins 7: 4',
      '1 coins 7: 10',
      '1 art 3: 1',
      '1 art 2: 1',
      '1 art 1: 1',
    ])
    expect(answer.body).toMatchObject({ totalCount: 11, total_count: 11, pageKey: null, page_key: null })
    expect(answer.body.transfers[0]).toMatchObject({
      from: NOBODY,
      to: ANN,
      send: NOBODY,
      receive: ANN,
      event_type: 'Transfer',
      block_timestamp: timeOf(6),
      finality: 'pending',
    })
    expect(shown(await get('getAssetsTransfer', 'order=aesc'))).toEqual(shown(answer).reverse())
  })

  test.each([
    [`contract_addresses=${ART}&to_block=2`, 4],
    [`contract_addresses=${ART},${COINS}&from_block=2`, 7],
    [`from_address=${BOB}`, 1],
    [`to_address=${BOB}&category=ERC1155`, 1],
    [`to_address=${BOB}&contract_addresses=${ART}`, 2],
    [`from_address=${ANN}&to_address=${BOB}`, 2],
    [`from_address=${NOBODY}&category=ERC721&category=ERC1155`, 8],
    ['category=ERC721&from_block=2&to_block=4', 3],
    ['category=ERC1155&block=2', 2],
    ['from_block=9', 0],
    [`from_address=${ZED}`, 0],
  ])('of %s are %i, on one page as on many', async (query, count) => {
    for (const order of ['asc', 'desc']) {
      const { body } = await get('getAssetsTransfer', `${query}&order=${order}`)
      expect(body.transfers).toHaveLength(count)
      expect(body.totalCount).toBe(count)
      if (order === 'asc' && count < 3) continue
      const found: unknown[] = []
      let next = ''
      do {
        const page = await get('getAssetsTransfer', `${query}&order=${order}&max_count=3${next}`)
        found.push(...page.body.transfers)
        expect(page.body.totalCount).toBe(count)
        next = page.body.pageKey === null ? '' : `&page_key=${page.body.pageKey}`
      } while (next !== '')
      expect(found).toEqual(body.transfers)
    }
  })

  test('tell who has sent them, and what is odd about them', async () => {
    const { body } = await get('getAssetsTransfer', `contract_addresses=${ODD}&order=asc`, 'eth_hoodi')
    const told = body.transfers.map((row: { block_number: number; sender: string; reasons: string[] }) => [
      row.block_number,
      row.sender,
      ...row.reasons,
    ])
    expect(told).toEqual([
      [1, ANN],
      [2, ZED, 'from_not_holder'],
      [2, ZED, 'from_not_holder'],
      [3, ANN],
      [3, ZED, 'minted_again'],
      [4, ZED, 'from_not_holder'],
    ])
    const coined = await get('getAssetsTransfer', `contract_addresses=${COINS}&order=asc`, 'eth_hoodi')
    expect(coined.body.transfers.map((row: { reasons: string[] }) => row.reasons)).toEqual([
      [],
      ['from_lacks_amount'],
      ['no_amount'],
    ])
    for (const [codes, count] of [
      ['true', 3],
      ['any', 3],
      ['false', 9],
      ['no_amount', 8],
      ['from_not_holder,minted_again', 5],
    ] as const) {
      const { body } = await get('getAssetsTransfer', `without_reasons=${codes}`, 'eth_hoodi')
      expect(body.totalCount, codes).toBe(count)
      expect(body.transfers).toHaveLength(count)
    }
  })
})

describe('the change feed', () => {
  interface Copy {
    position: string | undefined
    readonly held: Map<string, string>
  }
  interface Told {
    readonly contract_address: string
    readonly token_id: string
    readonly owner_address: string
    readonly amount: string
  }

  /** Takes one answer's changes over; true where there was nothing more. */
  async function take(copy: Copy, limit: number): Promise<boolean> {
    const since = copy.position === undefined ? '' : `&since=${copy.position}`
    const { body } = await get('getChanges', `limit=${limit}${since}`, FEED)
    for (const change of body.changes as { holdings: Told[] }[]) {
      for (const { contract_address, token_id, owner_address, amount } of change.holdings) {
        const key = `${contract_address} ${token_id} ${owner_address}`
        if (amount === '0') copy.held.delete(key)
        else copy.held.set(key, amount)
      }
    }
    copy.position = body.next
    return body.is_at_head
  }

  const FEED = 'feed_mainnet'
  const chain = 'feed_mainnet'

  async function dropFold(name: string): Promise<void> {
    for (const table of FOLDED_TABLES) {
      const parts = await warehouse.query<{ id: string }>(
        `SELECT DISTINCT partition_id AS id FROM system.parts
         WHERE active AND database = currentDatabase() AND table = '${table}' AND partition LIKE '%''${name}''%'`,
      )
      for (const { id } of parts) await warehouse.command(`ALTER TABLE ${table} DROP PARTITION ID '${id}'`)
    }
    expect(await warehouse.query(`SELECT 1 FROM nft_changes WHERE chain = '${name}'`)).toEqual([])
  }

  async function heldNow(): Promise<Map<string, string>> {
    const held = new Map<string, string>()
    for (const owner of [ANN, BOB, CID, ZED]) {
      const { body } = await get('getNFTsForOwner', `owner=${owner}`, FEED)
      for (const row of body.owner_nfts) held.set(`${row.contract_address} ${row.token_id} ${owner}`, row.balance)
    }
    return held
  }

  test('makes a copy equal to the API, whenever who keeps it dies and goes on, through reorgs', async () => {
    let seed = 7
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
      return (seed >>> 8) % below
    }
    const people = [NOBODY, ANN, BOB, CID, ZED]
    const anyMove = (): Move => {
      const [from, to] = [people[random(5)] as Address, people[random(5)] as Address]
      return random(2) === 0 ? art(from, to, BigInt(random(3))) : coins(from, to, BigInt(random(2)), BigInt(random(4)))
    }
    const copy: Copy = { position: undefined, held: new Map() }
    let saved: Copy = { position: undefined, held: new Map() }
    let head: Block | undefined
    for (let step = 0; step < tries(5, 200); step++) {
      const events: ReturnType<typeof eventsOf>[number][] = []
      for (let away = random(5); away > 0 && head?.parent !== undefined; away--) {
        events.push(revertOf(head, chain))
        head = head.parent
      }
      for (let more = 1 + random(4); more > 0; more--) {
        head = blockOn(head, Array.from({ length: random(4) }, anyMove))
        events.push(...eventsOf(head, chain))
      }
      await tell(warehouse, events, { chain })
      await foldChain(warehouse, chain, never)
      for (let answers = random(4); answers > 0; answers--) {
        await take(copy, 1 + random(3))
        if (random(3) === 0) {
          // What was saved last comes back.
          copy.position = saved.position
          copy.held.clear()
          for (const [key, amount] of saved.held) copy.held.set(key, amount)
        } else if (random(2) === 0) saved = { position: copy.position, held: new Map(copy.held) }
      }
    }
    while (!(await take(copy, 2)));
    expect(copy.held).toEqual(await heldNow())
  })

  test('goes on from a reverted block where the fold was made anew and never saw it', async () => {
    const copy: Copy = { position: undefined, held: new Map() }
    while (!(await take(copy, 100)));
    const head = {
      number: Number(copy.position?.split('.')[1]),
      hash: copy.position?.split('.')[2] as string,
      parent: undefined,
      moves: [],
    }
    const forked = { ...blockOn(undefined, [art(ANN, BOB, 0n), art(NOBODY, CID, 50n)], head.number + 1), parent: head }
    await tell(warehouse, eventsOf(forked, chain), { chain })
    await foldChain(warehouse, chain, never)
    while (!(await take(copy, 100)));
    expect(copy.held.get(`${ART} 50 ${CID}`)).toBe('1')
    await tell(warehouse, [revertOf(forked, chain)], { chain })
    await dropFold(chain)
    await foldChain(warehouse, chain, never)
    while (!(await take(copy, 100)));
    expect(copy.held).toEqual(await heldNow())
  })

  test('refuses a position from which nobody can tell how to go on', async () => {
    const hash = `0x${'ee'.repeat(32)}`
    expect((await get('getChanges', `since=1.3.${hash}`, FEED)).status).toBe(410)
    expect((await get('getChanges', `since=0.3.${hash}`, FEED)).status).toBe(410)
    expect((await get('getChanges', 'since=yesterday', FEED)).status).toBe(400)
    const [start, number, known] = (await get('getChanges', 'since=latest', FEED)).body.next.split('.')
    expect((await get('getChanges', `since=${start}.${Number(number) + 1_000}.${known}`, FEED)).status).toBe(410)
  })

  test('tells changes as they happen, from the position that was heard last', async () => {
    const { body } = await get('getChanges', 'since=latest', FEED)
    const abandon = new AbortController()
    const headers = { accept: 'text/event-stream', 'last-event-id': body.next }
    const response = await fetch(`${api.url}${base(FEED)}/changes`, { headers, signal: abandon.signal })
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    const [, number, hash] = body.next.split('.')
    const parent = { number: Number(number), hash, parent: undefined, moves: [] }
    await tell(warehouse, eventsOf(blockOn(parent, [art(NOBODY, ZED, 60n)]), chain), { chain })
    await foldChain(warehouse, chain, never)
    let text = ''
    for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(bytes).toString()
      if (text.includes('event: position')) break
    }
    abandon.abort()
    expect(text).toMatch(/event: block\ndata: \{.*"token_id":"60".*\}\n\nid: 1\./)
  })
})

describe('a snapshot of all owners', () => {
  test('is a line for each, of the block that is asked for', async () => {
    const response = await fetch(`${api.url}${base()}/owners.csv?contract_address=${ART}&block=2`)
    expect(response.headers.get('content-type')).toMatch(/^text\/csv/)
    expect(response.headers.get('x-valid-at')).toMatch(/^block_number=2, /)
    expect(await response.text()).toBe(`owner_address,amount,tokens,last_change_block\n${ANN},1,1,2\n${BOB},2,2,2\n`)
  })

  test('has all of a large contract', async () => {
    const response = await fetch(`${api.url}${base()}/owners.csv?contract_address=${MIDDLE}`)
    const lines = (await response.text()).trim().split('\n')
    expect(lines).toHaveLength(OWNERS_OF_MIDDLE + 1)
    expect(new Set(lines).size).toBe(OWNERS_OF_MIDDLE + 1)
  })
})

test('a stream that has ended is not answered once more', async () => {
  await using other = await openApi({ ...parts, standingAgeMsMax: 0, host: '127.0.0.1', port: 0 })
  given.logged.length = 0
  const path = `${other.url}${base()}/owners.csv?contract_address=${ART}`
  await (await fetch(path)).text()
  const abandon = new AbortController()
  const headers = { accept: 'text/event-stream' }
  const response = await fetch(`${other.url}${base()}/changes`, { headers, signal: abandon.signal })
  await (response.body as ReadableStream).getReader().read()
  abandon.abort()
  // Whatever is done after the ends of streams is done before these are answered.
  for (let i = 0; i < 5; i++) await (await fetch(path)).text()
  expect(given.logged).toEqual([])
})

describe('what contracts and tokens say of themselves', () => {
  test('has its whole shape where nothing is known, and what their logs tell', async () => {
    const tokens = JSON.stringify([
      { contract_address: COINS, token_id: 7 },
      { contract_address: ART, token_id: '1' },
      { contract_address: ZED, token_id: MAX.toString() },
    ])
    const { body } = await get('getNFTMetadataBatch', `tokens=${encodeURIComponent(tokens)}&with_metadata=false`)
    expect(body).toMatchObject([
      { contract_address: COINS, token_id: '7', token_type: 'ERC1155', metadata_state: { status: 'left_out' } },
      { contract_address: ART, token_id: '1', token_type: 'ERC721' },
      { contract_address: ZED, token_id: MAX.toString(), token_type: null },
    ])
    expect((await get('getNFTMetadata', `contract_address=${ART}&token_id=1`)).body.token_type).toBe('ERC721')
  })

  test('is asked for many by POST, in the order of the question', async () => {
    const body = JSON.stringify({ contract_addresses: [COINS, ZED, ART] })
    const answer = await ask(`${base()}/getContractMetadataBatch`, { method: 'POST', body })
    expect(answer.body).toMatchObject([
      { contract_address: COINS, token_type: 'ERC1155' },
      { contract_address: ZED, token_type: null, name: null },
      { contract_address: ART, token_type: 'ERC721' },
    ])
    expect(answer.headers.get('x-valid-at')).toMatch(/^block_number=6, /)
    const many = Array.from({ length: 101 }, (_, i) => `0x${i.toString(16).padStart(40, '0')}`)
    expect((await get('getContractMetadataBatch', `contract_addresses=${many}`)).status).toBe(400)
  })

  test('is found by address', async () => {
    expect((await get('searchContractMetadata', `query=${ART.toUpperCase().replace('X', 'x')}`)).body).toMatchObject([
      { contract_address: ART },
    ])
    expect((await get('searchContractMetadata', 'query=kitties')).body).toEqual([])
  })
})

/** Rows that the engine has read of all tables so far. */
async function rowsRead(): Promise<number> {
  const [row] = await warehouse.query<{ value: string }>("SELECT value FROM system.events WHERE event = 'SelectedRows'")
  return Number(row?.value)
}

describe('a page of what is large', () => {
  const readBy = async (query: () => Promise<Answer>): Promise<Answer> => {
    const before = await rowsRead()
    const answer = await query()
    expect(answer.status).toBe(200)
    expect((await rowsRead()) - before).toBeLessThanOrEqual(ROWS_READ_MAX)
    return answer
  }

  test('reads at most 100,000 rows, at the beginning and further on, total included', async () => {
    const query = `contract_address=${LARGE}&page_size=1000`
    let next = ''
    for (let page = 0; page < 3; page++) {
      const { body } = await readBy(() => get('getOwnersForContract', query + next))
      expect(body.owners).toHaveLength(1_000)
      expect(body.total_count).toBe(OWNERS_OF_LARGE)
      next = `&page_key=${body.page_key}`
    }
  })

  test('reads at most 100,000 rows where nearly all was sold, and comes to what was not', async () => {
    const found: string[] = []
    let next = ''
    let pages = 0
    do {
      const { body } = await readBy(() => get('getNFTsForOwner', `owner=${SELLER}${next}`))
      expect(body.total_count).toBe(1)
      found.push(...body.owner_nfts.map((row: { token_id: string }) => row.token_id))
      next = body.page_key === null ? '' : `&page_key=${body.page_key}`
      pages++
    } while (next !== '')
    expect(found).toEqual([String(4_294_967_296 + TOKENS_OF_SELLER - 1)])
    expect(pages).toBeGreaterThan(1)
  })

  test('reads at most 100,000 rows where a contract has more tokens than are looked at, and says what it knows', async () => {
    const { body } = await readBy(() => get('getContractsForOwner', `owner=${HOARDER}`))
    expect(
      body.contracts.map((row: { contract_address: string; token_type: string; acquired: unknown }) => [
        row.contract_address,
        row.token_type,
        row.acquired,
      ]),
    ).toEqual([
      [ART, 'ERC721', { block_number: 2, block_timestamp: timeOf(2) }],
      [LARGE, 'ERC721', null],
      [MIDDLE, 'ERC721', null],
    ])
  })

  test('reads at most 100,000 rows where a token of a list has many holders', async () => {
    const tokens = [1, 2, 3].map((token_id) => ({ contract_address: LARGE, token_id }))
    const { body } = await readBy(() =>
      get('getNFTMetadataBatch', `tokens=${encodeURIComponent(JSON.stringify(tokens))}`),
    )
    expect(body.map(({ token_type }: { token_type: string | null }) => token_type)).toEqual(['ERC1155', 'ERC721', null])
  })

  test('reads at most 100,000 rows where one owner has changed more often than that', async () => {
    const { body } = await readBy(() => get('getOwnersForContract', `contract_address=${BUSY}`))
    expect(body.owners).toHaveLength(3)
    await readBy(() => get('isHolderOfContract', `contract_address=${BUSY}&wallet=${BOB}`))
  })
})

describe('answers that nothing has changed since', () => {
  test('are not sent again', async () => {
    const path = `${base()}/isHolderOfContract?contract_address=${ART}&wallet=${ANN}`
    const first = await ask(path)
    const etag = first.headers.get('etag') as string
    expect(etag).toMatch(/^W\/".+"$/)
    const again = await ask(path, { headers: { 'if-none-match': etag } })
    expect(again).toMatchObject({ status: 304, body: undefined })
    expect(again.headers.get('x-valid-at')).toBe(first.headers.get('x-valid-at'))
    expect((await ask(path, { headers: { 'if-none-match': 'W/"other"' } })).status).toBe(200)
  })
})
