import type { Address } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApiParts } from '../../api/http/api-parts.ts'
import { type Api, openApi } from '../../api/http/server.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { foldChain } from '../../processors/nft/fold.ts'
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
import { tellTokens } from '../unit/given-told-tokens.ts'
import { HOODI, MAINNET, SCROLL } from './api-fixture.ts'
import { type GivenApi, openGivenApi, TOKEN } from './given-api.ts'

const [ANN, BOB, CID] = ['a1', 'b2', 'c3'].map((byte) => `0x${byte.repeat(20)}`) as [Address, Address, Address]
const MAX = 2n ** 256n - 1n
const never = new AbortController().signal
const SCROLL_PATH = 'scroll/mainnet'

const art = (from: Address, to: Address, id: bigint): Move => ({ contract: ART, from, to, id, amount: 1n, sender: to })
const coins = (from: Address, to: Address, id: bigint, amount: bigint): Move => ({
  ...{ contract: COINS, from, to, id, amount },
})

let warehouse: Warehouse
let api: Api
let parts: ApiParts
let given: GivenApi
const statements: string[] = []
const blocks: Block[] = []
/** Called before each statement of the API. */
let beforeStatement: (sql: string) => Promise<unknown> = async () => {}

async function grow(moves: readonly (readonly Move[])[]): Promise<void> {
  const grown = moves.map((each) => {
    const block = blockOn(blocks.at(-1), each)
    blocks.push(block)
    return block
  })
  for (const { names } of [MAINNET, SCROLL]) {
    const chain = names.name
    await tell(
      warehouse,
      grown.flatMap((block) => eventsOf(block, chain)),
      { chain },
    )
    await foldChain(warehouse, chain, never)
  }
}

beforeAll(async () => {
  given = await openGivenApi()
  warehouse = given.warehouse
  await grow([
    [art(NOBODY, ANN, 1n), art(NOBODY, ANN, 2n), art(NOBODY, BOB, 3n), coins(NOBODY, ANN, 7n, 10n)],
    [coins(ANN, BOB, 7n, 4n), art(ANN, BOB, 2n)],
    [art(NOBODY, CID, MAX), coins(NOBODY, CID, 8n, MAX)],
    [{ ...art(CID, ANN, 3n), sender: CID }, coins(NOBODY, ANN, MAX, 1n)],
  ])
  const bytes = (text: string) => `unhex('${text.slice(2)}')`
  for (const { names } of [MAINNET, SCROLL]) {
    await warehouse.command(
      `INSERT INTO nft_contracts (chain, contract, read_at, name, has_name, symbol, has_symbol, token_type, deploy_block, version)
       VALUES ('${names.name}', ${bytes(ART)}, 77, 'Lanterns', 1, '', 1, 'ERC721', 1, 1)`,
    )
    await tellTokens(warehouse, names.name, [
      {
        ...{ contract: ART, id: 1n, state: { token_uri: 'ipfs://one', read_sec: 79 } },
        document: { json: '{"name":"One"}', title: 'One', attributes: '[{"value":9007199254740993}]', read_sec: 78 },
      },
      { contract: ART, id: MAX, state: { error: 'CALL_REVERTED', attempts: 2, read_sec: 79, retry_sec: 99 } },
    ])
  }
  parts = {
    ...given.partsOf([MAINNET, SCROLL, HOODI]),
    warehouse: {
      ...warehouse,
      query: async (sql, ...rest) => {
        statements.push(sql)
        await beforeStatement(sql)
        return await warehouse.query(sql, ...rest)
      },
    } as Warehouse,
    standingAgeMsMax: 0,
  }
  api = await openApi({ ...parts, host: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await given[Symbol.asyncDispose]()
})

interface Asked {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers are compared as a whole.
  readonly body: any
}

async function post(query: string, { variables = {}, url = api.url, path = SCROLL_PATH } = {}): Promise<Asked> {
  const body = JSON.stringify({ query, variables })
  const response = await fetch(`${url}/${path}/${TOKEN}/graphql`, { method: 'POST', body })
  const text = await response.text()
  if (response.status === 500) throw new Error(`${text} ${given.logged.join('\n').slice(-3_000)}`)
  return { status: response.status, body: JSON.parse(text) }
}

/** What the document answers of tokens. */
async function ask(fields: string, block?: string): Promise<Asked['body']> {
  const { status, body } = await post(`{ nft${block === undefined ? '' : `(block: "${block}")`} { ${fields} } }`)
  expect(body.errors).toBeUndefined()
  expect(status).toBe(200)
  return body.data.nft
}

async function rest(operation: string, query: string): Promise<Asked['body']> {
  const response = await fetch(`${api.url}/nft/scroll_mainnet/${TOKEN}/${operation}?${query}`)
  expect(response.status).toBe(200)
  return await response.json()
}

/** A REST answer as GraphQL names things. */
function camel(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camel)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      camel(one),
    ]),
  )
}

/** What REST answers, of the fields that were asked for. */
function among(found: unknown, answer: unknown): unknown {
  if (Array.isArray(found) && Array.isArray(answer)) return answer.map((one, i) => among(found[i], one))
  if (typeof found !== 'object' || found === null || typeof answer !== 'object' || answer === null) return answer
  const members = answer as Record<string, unknown>
  return Object.fromEntries(Object.entries(found).map(([name, one]) => [name, among(one, members[name])]))
}

const STATE = 'metadataState { status error attempts lastAttempt nextRetry }'
const CONTRACT = `contractAddress name symbol tokenType totalSupply totalSupplyBlockNumber deployer deployBlockNumber ${STATE}`
const SAID = `contractAddress tokenId tokenType tokenUri metadataJson error ${STATE}
  metadata { title description media mediaType mediaExternal attributes } contract { ${CONTRACT} }`
const PAGE = 'pageKey totalCount coverage { fromBlock toBlock check isWhole reason }'
const HELD = 'isInconsistent acquired { blockNumber blockTimestamp } finality'
const REASONS = 'reasons unknownReasons'
const OWNERS = `owners { ownerAddress amount ${HELD} } ${PAGE}`
const TRANSFERS = `transfers { contractAddress tokenId tokenType tokenIndex amount eventType from to sender reasons blockNumber
  blockHash blockTimestamp txHash txIndex logIndex finality } ${PAGE}`

describe('answers what REST answers', () => {
  test.each([
    [
      'tokens that somebody holds',
      `owner(address: "${ANN}") { tokens(withArrival: true) { ownerNfts { balance ${HELD} ${REASONS} arrival { blockNumber txHash logIndex from sender }
         token { ${SAID} lastMetadataSyncTime lastTokenUriSyncTime } } ${PAGE} } }`,
      ['getNFTsForOwner', `owner=${ANN}&with_arrival=true`],
      ({ owner }: Asked['body']) => ({
        ...owner.tokens,
        ownerNfts: owner.tokens.ownerNfts.map(({ token, ...held }: { token: object }) => ({ ...token, ...held })),
      }),
    ],
    [
      'contracts of whose tokens somebody holds some',
      `owner(address: "${ANN}") { contracts { contracts { totalBalance numDistinctTokensOwned finality acquired { blockNumber blockTimestamp } ${REASONS} contract { ${CONTRACT} } } ${PAGE} } }`,
      ['getContractsForOwner', `owner=${ANN}`],
      ({ owner }: Asked['body']) => ({
        ...owner.contracts,
        contracts: owner.contracts.contracts.map(({ contract, ...held }: { contract: object }) => ({
          ...contract,
          ...held,
        })),
      }),
    ],
    [
      'tokens without those that are odd',
      `owner(address: "${ANN}") { tokens(withoutReasons: ["any"]) { ownerNfts { ${REASONS} token { tokenId } } ${PAGE} } }`,
      ['getNFTsForOwner', `owner=${ANN}&without_reasons=any`],
      ({ owner }: Asked['body']) => ({
        ...owner.tokens,
        ownerNfts: owner.tokens.ownerNfts.map(({ token, ...held }: { token: object }) => ({ ...token, ...held })),
      }),
    ],
    [
      'owners of a contract',
      `contract(address: "${ART}") { owners { ${OWNERS} } }`,
      ['getOwnersForContract', `contract_address=${ART}`],
      ({ contract }: Asked['body']) => contract.owners,
    ],
    [
      'owners of a token',
      `token(contractAddress: "${COINS}", tokenId: "0x7") { owners { ${OWNERS} } }`,
      ['getOwnersForNFT', `contract_address=${COINS}&token_id=7`],
      ({ token }: Asked['body']) => token.owners,
    ],
    [
      'contracts',
      `contracts(addresses: ["${COINS}", "${CID}", "${ART.toUpperCase().replace('X', 'x')}"]) { ${CONTRACT} }`,
      ['getContractMetadataBatch', `contract_addresses=${COINS},${CID},${ART}`],
      ({ contracts }: Asked['body']) => contracts,
    ],
    [
      'a token',
      `token(contractAddress: "${ART}", tokenId: "1") { ${SAID} }`,
      ['getNFTMetadata', `contract_address=${ART}&token_id=1`],
      ({ token }: Asked['body']) => token,
    ],
    [
      'tokens',
      `tokens(tokens: [{ contractAddress: "${ART}", tokenId: "${MAX}" }, { contractAddress: "${CID}", tokenId: "1" }]) { ${SAID} }`,
      [
        'getNFTMetadataBatch',
        `tokens=${encodeURIComponent(`[{"contract_address":"${ART}","token_id":${MAX}},{"contract_address":"${CID}","token_id":1}]`)}`,
      ],
      ({ tokens }: Asked['body']) => tokens,
    ],
    ['transfers', `transfers { ${TRANSFERS} }`, ['getAssetsTransfer', ''], ({ transfers }: Asked['body']) => transfers],
    [
      'transfers by every filter',
      `transfers(category: ["ERC721"], contractAddresses: ["${ART}", "${COINS}"], fromAddress: "${NOBODY}", toAddress: "${ANN}",
         fromBlock: 1, toBlock: 3, maxCount: 1, order: "asc", withoutReasons: ["no_amount"]) { ${TRANSFERS} }`,
      [
        'getAssetsTransfer',
        `category=ERC721&contract_addresses=${ART},${COINS}&from_address=${NOBODY}&to_address=${ANN}&from_block=1&to_block=3&max_count=1&order=asc&without_reasons=no_amount`,
      ],
      ({ transfers }: Asked['body']) => transfers,
    ],
    [
      'contracts by name',
      `search(query: "lantrens") { ${CONTRACT} }`,
      ['searchContractMetadata', 'query=lantrens'],
      ({ search }: Asked['body']) => search,
    ],
    [
      'whether somebody is a holder',
      `isHolder(contractAddress: "${ART}", wallet: "${CID}") { isHolderOfContract finality coverage { isWhole reason } }`,
      ['isHolderOfContract', `contract_address=${ART}&wallet=${CID}`],
      ({ isHolder }: Asked['body']) => isHolder,
    ],
  ] as const)('of %s', async (_, fields, [operation, query], toRest) => {
    for (const block of ['latest', '2']) {
      const found = toRest(await ask(`validAt { blockNumber } ${fields}`, block))
      const answer = camel(await rest(operation, `${query}&block=${block}`))
      // Keys of pages are signed for the question with its block, which GraphQL has elsewhere.
      const expected = among(found, answer) as Record<string, unknown>
      if (typeof found.pageKey === 'string') Object.assign(expected, { pageKey: expect.any(String) })
      expect(found, block).toEqual(expected)
      expect(JSON.stringify(found)).not.toBe('{}')
    }
  })

  test('with every number as it is written', async () => {
    const query = `{ nft { token(contractAddress: "${ART}", tokenId: "1") { metadata { attributes } } } }`
    const body = JSON.stringify({ query })
    const response = await fetch(`${api.url}/${SCROLL_PATH}/${TOKEN}/graphql`, { method: 'POST', body })
    expect(await response.text()).toContain('[{"value":9007199254740993}]')
  })
})

describe('a document', () => {
  test('is of one block, which it names', async () => {
    const fields = `validAt { blockNumber blockHash blockTimestamp } owner(address: "${BOB}") { address tokens { totalCount coverage { toBlock } } }
      transfers { totalCount coverage { toBlock } } contract(address: "${ART}") { owners { coverage { toBlock } } }`
    for (const number of [2, 4]) {
      const { hash } = blocks[number - 1] as Block
      for (const block of [`${number}`, hash]) {
        const found = await ask(fields, block)
        expect(found.validAt).toEqual({ blockNumber: number, blockHash: hash, blockTimestamp: timeOf(number) })
        expect(found.owner.address).toBe(BOB)
        const covered = [found.owner.tokens, found.transfers, found.contract.owners]
        expect(covered.map(({ coverage }) => coverage.toBlock)).toEqual([number, number, number])
      }
    }
  })

  test('of two blocks is refused', async () => {
    const { status, body } = await post(
      '{ a: nft { validAt { blockNumber } } b: nft(block: "2") { validAt { blockNumber } } }',
    )
    expect(status).toBe(400)
    expect(body.errors[0]).toMatchObject({
      message: 'Param error: all of a document is of one block',
      extensions: { code: '400' },
    })
  })

  test('pages as of the block of its page keys, which REST understands as well', async () => {
    const page = (key: string) =>
      `validAt { blockNumber } owner(address: "${ANN}") { tokens(pageSize: 1${key}) { ownerNfts { token { tokenId } } pageKey totalCount } }`
    const first = await ask(page(''))
    const key = first.owner.tokens.pageKey as string
    await grow([[art(ANN, BOB, 1n)]])
    const second = await ask(page(`, pageKey: "${key}"`))
    expect(second.validAt).toEqual(first.validAt)
    expect((await ask('validAt { blockNumber }')).validAt.blockNumber).toBe(first.validAt.blockNumber + 1)
    expect(second.owner.tokens.totalCount).toBe(first.owner.tokens.totalCount)
    const ofRest = await rest('getNFTsForOwner', `owner=${ANN}&page_size=1&page_key=${key}`)
    expect(second.owner.tokens.ownerNfts).toEqual([{ token: { tokenId: ofRest.owner_nfts[0].token_id } }])
    const fields = `owner(address: "${ANN}") { tokens(pageSize: 1, pageKey: "${key}") { totalCount } }`
    const wrong: readonly [string, RegExp][] = [
      [`nft(block: "1") { ${fields} }`, /page_key is of block 0x.*, and the answer of 0x/],
      [`nft { ${fields.replace(ANN, BOB)} }`, /page_key is none of this question/],
      [`nft { ${fields.replace(key, `${key}A`)} }`, /page_key is none of this question/],
      ['nft { transfers(pageKey: "nonsense") { totalCount } }', /page_key is none of this question/],
    ]
    for (const [question, message] of wrong) {
      const { status, body } = await post(`{ ${question} }`)
      expect(body.errors?.[0].message, question).toMatch(message)
      expect(status).toBe(400)
    }
  })

  test('in which a block is reverted is asked again', async () => {
    const chain = SCROLL.names.name
    await grow([[art(NOBODY, CID, 50n)]])
    const reverted = blocks.pop() as Block
    let done = false
    beforeStatement = async (sql) => {
      if (done || !sql.includes('nft_holder_tokens')) return
      done = true
      await tell(warehouse, [revertOf(reverted, chain)], { chain })
    }
    try {
      const found = await ask(
        `validAt { blockHash } owner(address: "${CID}") { tokens { ownerNfts { token { tokenId } } } }`,
      )
      expect(done).toBe(true)
      expect(found.validAt.blockHash).toBe((blocks.at(-1) as Block).hash)
      expect(JSON.stringify(found.owner)).not.toContain('"50"')
    } finally {
      beforeStatement = async () => {}
    }
  })

  test('is answered from memory until a block comes', async () => {
    const fields = 'validAt { blockNumber }'
    const first = await ask(fields)
    const before = statements.length
    await ask(fields)
    // How the tables stand.
    const again = statements.length - before
    expect(statements.slice(before).filter((sql) => /nft_(holder|totals)/.test(sql))).toEqual([])
    await grow([[art(NOBODY, CID, 60n)]])
    expect((await ask(fields)).validAt.blockNumber).toBe(first.validAt.blockNumber + 1)
    // Its text may hide that it is about tokens.
    const hidden = async () => {
      const body = '{"query":"{ \\u006eft { validAt { blockNumber } } }"}'
      const response = await fetch(`${api.url}/${SCROLL_PATH}/${TOKEN}/graphql`, { method: 'POST', body })
      return ((await response.json()) as Asked['body']).data.nft.validAt.blockNumber
    }
    const number = await hidden()
    await grow([[art(NOBODY, CID, 61n)]])
    expect(await hidden()).toBe(number + 1)
    expect(again).toBeLessThan(8)
  })
})

describe('rows of one page', () => {
  test('are looked up together, however many they are', async () => {
    const count = async (size: number) => {
      const before = statements.length
      const found =
        await ask(`owner(address: "${CID}") { tokens(pageSize: ${size}) { ownerNfts { token { metadata { title } contract { name } } } } }
        transfers(maxCount: ${size}, contractAddresses: ["${COINS}"]) { transfers { token { metadata { title } } contract { name } } }`)
      expect([found.owner.tokens.ownerNfts, found.transfers.transfers].flat().length).toBeGreaterThan(size)
      return statements.slice(before).filter((sql) => /FROM (nft_token_told|nft_contracts)\s/.test(sql)).length
    }
    // Documents and contracts of each list at most: lookups of both lists may be one.
    const lookups = await count(4)
    expect(lookups).toBeGreaterThan(0)
    expect(lookups).toBeLessThanOrEqual(4)
  })
})

describe('refusals', () => {
  test.each([
    [`nft { contract(address: "0x12") { name } }`, /^Param error: contract_address is not an address$/],
    [
      `nft { token(contractAddress: "${ART}", tokenId: "${MAX + 1n}") { tokenId } }`,
      /token_id is not an integer of 256 bits/,
    ],
    [`nft { owner(address: "${ANN}") { tokens(pageSize: 101) { totalCount } } }`, /page_size/],
    [`nft { transfers(order: "sideways") { totalCount } }`, /order/],
    [`nft { transfers(category: ["ERC20"]) { totalCount } }`, /category/],
    [`nft(block: "yesterday") { validAt { blockNumber } }`, /block is not a block/],
    [`nft(block: "1000000") { validAt { blockNumber } }`, /in the future/],
    [`nft(block: "finalized") { validAt { blockNumber } }`, /no block is known to be final/],
    [
      `nft { transfers(maxCount: 1000) { transfers { token { metadata { title } } } } }`,
      /the query takes 25 statements, the limit is 20/,
    ],
    [
      `nft { owner(address: "${ANN}") { contracts(pageSize: 5) { contracts { contract { owners { totalCount } } } } } }`,
      /the query takes 29 statements, the limit is 20/,
    ],
  ])('of %s say why', async (question, message) => {
    const { status, body } = await post(`{ ${question} }`)
    expect(body.errors?.[0].message).toMatch(message)
    expect(body.errors[0].extensions.code).toBe('400')
    expect(status).toBe(400)
  })

  test('of a token that asks more often than it may', async () => {
    await using limited = await openApi({ ...parts, nftRequestsPerSecond: 1, host: '127.0.0.1', port: 0 })
    const asked = (number: number) =>
      post(`{ nft(block: "${number}") { validAt { blockNumber } } }`, { url: limited.url })
    const answers = [await asked(1), await asked(2), await asked(3)]
    expect(answers[0]?.status).toBe(200)
    expect(answers.find(({ status }) => status === 429)?.body.errors[0].message).toMatch(
      /^Too Many Requests: the token asks more than 1 times a second$/,
    )
  })

  test.each([
    ['of a plain text', 'nft { validAt { blockNumber } }'],
    ['of a text that hides what it asks for', '\\u006eft { validAt { blockNumber } }'],
  ])('count equal questions %s, answered from memory or not', async (_, fields) => {
    await using limited = await openApi({ ...parts, nftRequestsPerSecond: 2, host: '127.0.0.1', port: 0 })
    const body = `{"query":"{ ${fields} }"}`
    const asked = () => fetch(`${limited.url}/${SCROLL_PATH}/${TOKEN}/graphql`, { method: 'POST', body })
    // Two at a time are one for the tables.
    const answers = [...(await Promise.all([asked(), asked()])), ...(await Promise.all([asked(), asked(), asked()]))]
    expect(answers.slice(0, 2).map(({ status }) => status)).toEqual([200, 200])
    const refused = answers.find(({ status }) => status === 429)
    expect(refused?.headers.get('retry-after')).toBe('1')
  })

  test('count no question that asks nothing of tokens, whatever its text has in it', async () => {
    await using limited = await openApi({ ...parts, nftRequestsPerSecond: 1, host: '127.0.0.1', port: 0 })
    for (let i = 0; i < 4; i++)
      expect((await post('query nft { nft: __typename }', { url: limited.url })).body.data).toEqual({ nft: 'Query' })
  })

  test('of a chain of which nothing is indexed yet', async () => {
    const { status, body } = await post('{ nft { validAt { blockNumber } } }', { path: 'ethereum/hoodi' })
    expect(body.errors[0]).toMatchObject({
      message: 'Service not ready: no block of the chain is indexed yet',
      extensions: { code: '503' },
    })
    expect(status).toBe(503)
  })

  test('of validators, on a chain that has none', async () => {
    const { status, body } = await post('{ validators { totalCount } }')
    expect(body.errors[0].message).toBe('Path Not Found: the chain has no validators')
    expect(status).toBe(404)
    const onMainnet = await post('{ validators { totalCount } nft { validAt { blockNumber } } }', {
      path: 'ethereum/mainnet',
    })
    expect(onMainnet.body.data.validators.totalCount).toBe(0)
  })
})
