import { encodeAbiParameters, type Hex, parseAbi } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Api, openApi } from '../../api/http/server.ts'
import type { CallAnswer, ContractNode } from '../../infra/ports/contract-node.ts'
import type { StoredEvent } from '../../infra/ports/event-log.ts'
import type { PublicAnswer, PublicRequest } from '../../infra/ports/public-fetch.ts'
import { executionBlockEvents } from '../../ingest/execution/block-events.ts'
import { UnreadNoticer } from '../../ingest/metadata/notice-unread.ts'
import { type ReadingSome, readAsked, readSome, tokensPerRun } from '../../ingest/metadata/read-some.ts'
import { Recently } from '../../ingest/metadata/recently.ts'
import type { Projector } from '../../processors/loop/consume.ts'
import { joinRows } from '../../processors/loop/rows.ts'
import { foldChain } from '../../processors/nft/fold.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import type { RawLog } from '../../schemas/eth/nft-transfers.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { REFRESHES_MAX, readNftContract, refreshNft, rereadNftContract } from '../../schemas/jobs/read-nft.ts'
import { DEFAULT_UNFUNDED_RULES } from '../../schemas/validator-lifecycle.ts'
import { insertRows, MAINNET } from '../contract/api-fixture.ts'
import { AskedJobs } from '../contract/asked-jobs.ts'
import { transactionColumns } from './execution-columns.ts'
import { blockOn, eventsOf, tell as tellChain } from './given-nft-chain.ts'
import { ABI, logOf } from './given-nft-log.ts'
import { silentLog } from './silent-log.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const CHAIN = 'eth'
const NOBODY: Hex = `0x${'00'.repeat(20)}`
const ALICE: Hex = `0x${'a1'.repeat(20)}`
const CID = 'QmPK1s3pNYLi9ERiq3BDxKa4XosgWwFRQUydHUtz4YgpqB'
const ART: Hex = `0x${'01'.repeat(20)}`
const COINS: Hex = `0x${'02'.repeat(20)}`
const MAX = 2n ** 256n - 1n
const TIME = '2026-01-01T00:00:00.000Z'
const CHANGES = parseAbi([
  'event MetadataUpdate(uint256 tokenId)',
  'event BatchMetadataUpdate(uint256 fromTokenId, uint256 toTokenId)',
  'event URI(string value, uint256 indexed id)',
  'event ContractURIUpdated()',
])
const never = new AbortController().signal

const stores = storesOfFile()
const idOf = (id: bigint): Hex => `0x${id.toString(16).padStart(64, '0')}`

const mint = (contract: Hex, id: bigint) => ({
  contract,
  log:
    contract === COINS
      ? logOf(ABI, 'TransferSingle', { operator: ALICE, from: NOBODY, to: ALICE, id, value: 1n })
      : logOf(ABI, 'Transfer', { from: NOBODY, to: ALICE, tokenId: id }),
})
const changed = (contract: Hex, name: string, args: Record<string, unknown>) => ({
  contract,
  log: logOf(CHANGES, name, args),
})

let offset = 0n

/** Puts what the events become into the tables. */
async function tell(topic: string, events: readonly EncodedEvent[]): Promise<void> {
  const projector = PROJECTORS.find((one) => one.topic === topic) as Projector
  const stored = events.map((event): StoredEvent => ({ position: { partition: 0, offset: offset++ }, event }))
  const rows = stored.flatMap((event) => projector.project(event, CHAIN).rows)
  for (const { table, columns } of joinRows(rows, projector.lastTable)) await stores().warehouse.insert(table, columns)
}

async function tellBlock(number: number, happened: readonly { readonly contract: Hex; readonly log: RawLog }[]) {
  const header = {
    ...{
      number,
      hash: idOf(BigInt(number)),
      parentHash: idOf(BigInt(number - 1)),
      timestampSec: 1_700_000_000 + number,
    },
    ...{ coinbase: NOBODY, extraData: '0x', baseFeePerGasWei: '0', gasUsed: 0 },
  }
  const logs = {
    logIndex: Uint32Array.from(happened, (_, i) => i),
    transactionIndex: Uint32Array.from(happened, (_, i) => i),
    transactionHash: new Uint8Array(happened.length * 32),
    address: new Uint8Array(Buffer.concat(happened.map(({ contract }) => bytesOf(contract)))),
    topics: happened.map(({ log }) => log.topics),
    data: happened.map(({ log }) => log.data),
  }
  const block = {
    ...({ header, matchesHash: true, logsCheck: 'receipts', hasOutcomes: true } as const),
    columns: transactionColumns([]),
    logs,
  }
  await tell('execution.logs', executionBlockEvents(CHAIN, block, TIME).logs)
}

/** The world as the role asks it. */
class World {
  block = 10
  nowSec = 1_800_000_000
  nowMs = 0
  told: EncodedEvent[] = []
  fetched: string[] = []
  called: string[] = []
  /** Of a token, by `tokenURI` or `uri`; undefined reverts. */
  uriOf: (contract: string, id: bigint) => string | undefined = (_, id) => `https://a.test/${id}`
  answer: (url: string) => PublicAnswer = (url) => answered(JSON.stringify({ name: `at ${url}` }))

  readonly #node: ContractNode = {
    call: async (calls) => ({
      block: { number: this.block, hash: idOf(BigInt(this.block)), timeSec: 1_700_000_000 },
      answers: calls.map(({ to, data }) => this.#called(to, data)),
    }),
    deploymentOf: async () => ({ block: 3, deployer: ALICE, reason: null }),
    [Symbol.asyncDispose]: async () => {},
  }

  #called(to: string, data: Hex): CallAnswer {
    const selector = data.slice(0, 10)
    const returned = (types: string[], values: unknown[]): CallAnswer => ({
      status: 'returned',
      data: bytesOf(
        encodeAbiParameters(
          types.map((type) => ({ type })),
          values as never,
        ),
      ),
    })
    switch (selector) {
      case '0x06fdde03':
        return returned(['string'], [`name of ${to.slice(0, 4)}`])
      case '0x95d89b41':
        return returned(['string'], [''])
      case '0x18160ddd':
        return to === COINS ? { status: 'reverted' } : returned(['uint256'], [MAX])
      case '0x01ffc9a7': {
        const asked = data.slice(10, 18)
        return returned(['bool'], [asked === '01ffc9a7' || asked === (to === COINS ? 'd9b67a26' : '80ac58cd')])
      }
      default: {
        const id = BigInt(`0x${data.slice(10)}`)
        this.called.push(`${selector === '0xc87b56dd' ? 'tokenURI' : 'uri'} ${to.slice(0, 4)} ${id}`)
        const uri = this.uriOf(to, id)
        return uri === undefined ? { status: 'reverted' } : returned(['string'], [uri])
      }
    }
  }

  readonly reading = (): ReadingSome => ({
    node: this.#node,
    fetch: {
      fetch: async ({ url, method }: PublicRequest) => {
        this.fetched.push(`${method} ${url}`)
        return this.answer(url)
      },
    },
    gateways: { ipfs: ['https://gateway.test/ipfs/'], arweave: [] },
    now: () => this.nowSec,
    warehouse: stores().warehouse,
    writer: {
      append: async (_, events) => {
        this.told.push(...events)
        return events.map(() => ({ partition: 0, offset: 0n }))
      },
    },
    recently: this.recently,
  })
  recently = new Recently(() => this.nowMs)

  /** One run, after which the tables have what was told; milliseconds pass, so that nothing counts as read a moment ago. */
  async run(contract: Hex, which: 'unread' | 'changed' = 'unread', contractsWaiting = 1, chain = CHAIN) {
    this.told = []
    const done = await readSome(this.reading(), { chain, contract, which, contractsWaiting }, never)
    await tell('nft.metadata', this.told)
    this.nowMs += 61_000
    return done
  }
}

function answered(text: string, type = 'application/json', httpStatus = 200): PublicAnswer {
  return { status: 'answered', httpStatus, type, body: Buffer.from(text) }
}

let world: World
beforeEach(() => {
  world = new World()
})

const statesOf = (contract: Hex) =>
  stores().warehouse.query<Record<string, unknown>>(
    `SELECT toString(reinterpretAsUInt256(reverse(token_id))) AS id, error, attempts, token_uri, has_token_uri AS has,
       toUnixTimestamp(next_retry) AS next, block_number AS block
     FROM nft_token_states FINAL WHERE contract = unhex('${contract.slice(2)}') ORDER BY token_id`,
  )
const documentsOf = (contract: Hex) =>
  stores().warehouse.query<Record<string, unknown>>(
    `SELECT toString(reinterpretAsUInt256(reverse(token_id))) AS id, title, json
     FROM nft_documents FINAL WHERE contract = unhex('${contract.slice(2)}') ORDER BY token_id`,
  )

describe('what is known of tokens', () => {
  beforeAll(() => stores().empty())

  test('is what their contract and its server say: each is asked once', async () => {
    await tellBlock(1, [mint(ART, 1n), mint(ART, MAX), mint(COINS, 7n), mint(ART, 1n)])
    world.uriOf = (contract, id) => (contract === COINS ? 'https://a.test/{id}' : `https://a.test/${id}`)
    expect(await world.run(ART)).toEqual({ read: 2, isMore: false })
    expect(await world.run(COINS)).toEqual({ read: 1, isMore: false })
    expect(world.called).toEqual(['tokenURI 0x01 1', `tokenURI 0x01 ${MAX}`, 'uri 0x02 7'])
    expect(world.fetched).toEqual([
      'GET https://a.test/1',
      `GET https://a.test/${MAX}`,
      `GET https://a.test/${'7'.padStart(64, '0')}`,
    ])
    expect(await world.run(ART)).toEqual({ read: 0, isMore: false })
    expect(await documentsOf(ART)).toMatchObject([
      { id: '1', title: 'at https://a.test/1' },
      { id: String(MAX), title: `at https://a.test/${MAX}` },
    ])
    expect(await statesOf(COINS)).toMatchObject([
      { id: '7', error: '', attempts: 0, token_uri: 'https://a.test/{id}', has: 1, next: 0 },
    ])
    expect(
      await stores().warehouse.query(
        `SELECT lower(hex(contract)) AS contract, name, has_name, symbol, has_symbol, toString(token_type) AS type,
           total_supply, has_total_supply AS has_supply, lower(hex(deployer)) AS deployer, deploy_block
         FROM nft_contracts FINAL ORDER BY contract`,
      ),
    ).toEqual([
      {
        ...{ contract: '01'.repeat(20), name: 'name of 0x01', has_name: 1, symbol: '', has_symbol: 1, type: 'ERC721' },
        ...{ total_supply: String(MAX), has_supply: 1, deployer: 'a1'.repeat(20), deploy_block: '3' },
      },
      {
        ...{ contract: '02'.repeat(20), name: 'name of 0x02', has_name: 1, symbol: '', has_symbol: 1, type: 'ERC1155' },
        ...{ total_supply: '0', has_supply: 0, deployer: 'a1'.repeat(20), deploy_block: '3' },
      },
    ])
  })

  test.each<[string, string | undefined, PublicAnswer | undefined, string, boolean]>([
    ['a call that reverts, whatever it says', undefined, undefined, 'CALL_REVERTED', false],
    ['an empty URI', '', undefined, 'NO_TOKEN_URI', false],
    ['another scheme', 'ftp://a.test/1', undefined, 'UNSUPPORTED_SCHEME', false],
    [
      'an address that is refused',
      'http://10.0.0.1/',
      { status: 'refused', kind: 'address', reason: '' },
      'BLOCKED_ADDRESS',
      true,
    ],
    ['a server that keeps waiting', 'https://a.test/', { status: 'failed', isLate: true, reason: '' }, 'TIMEOUT', true],
    ['no server', 'https://a.test/', { status: 'failed', isLate: false, reason: '' }, 'UNREACHABLE', true],
    ['another answer', 'https://a.test/', answered('{}', 'application/json', 404), 'HTTP_STATUS', true],
    ['too much', 'https://a.test/', { status: 'refused', kind: 'size', reason: '' }, 'TOO_LARGE', true],
    ['a page', 'https://a.test/', answered('<html>'), 'NOT_JSON', true],
    ['a list', 'https://a.test/', answered('[]'), 'NOT_AN_OBJECT', true],
  ])('where it ends with %s is told, and tried again', async (_, uri, answer, error, isAsked) => {
    await stores().empty()
    await tellBlock(1, [mint(ART, 1n)])
    world.uriOf = () => uri
    world.answer = () => answer ?? answered('{}')
    const begin = world.nowSec
    await world.run(ART)
    const [first] = await statesOf(ART)
    expect(first).toMatchObject({ error, attempts: 1, has: uri === undefined ? 0 : 1 })
    const firstDelay = Number(first?.next) - begin
    expect(world.fetched).toHaveLength(isAsked ? 1 : 0)
    // Not before it is due.
    world.nowSec = Number(first?.next) - 1
    expect(await world.run(ART)).toMatchObject({ read: 0 })
    world.nowSec += 1
    expect(await world.run(ART)).toMatchObject({ read: 1 })
    const [second] = await statesOf(ART)
    expect(second).toMatchObject({ error, attempts: 2 })
    expect(Number(second?.next) - world.nowSec).toBe(2 * firstDelay)
    world.nowSec = Number(second?.next)
    world.uriOf = () => 'data:application/json,{"name":"there"}'
    await world.run(ART)
    expect(await statesOf(ART)).toMatchObject([{ error: '', attempts: 0, next: 0 }])
    expect(await documentsOf(ART)).toMatchObject([{ title: 'there' }])
  })

  test('still holds what was read before where a later attempt fails', async () => {
    await stores().empty()
    await tellBlock(1, [mint(ART, 1n)])
    await world.run(ART)
    world.answer = () => ({ status: 'failed', isLate: false, reason: '' })
    await readAsked(world.reading(), { chain: CHAIN, contract: ART, tokenId: idOf(1n) })
    await tell('nft.metadata', world.told.slice(-1))
    expect(await statesOf(ART)).toMatchObject([{ error: 'UNREACHABLE', attempts: 1 }])
    expect(await documentsOf(ART)).toMatchObject([{ title: 'at https://a.test/1' }])
  })

  test('is asked for when somebody wants it, of tokens that there are', async () => {
    await stores().empty()
    await tellBlock(1, [mint(ART, 1n)])
    for (const tokenId of [idOf(1n), idOf(2n), null])
      await readAsked(world.reading(), { chain: CHAIN, contract: ART, tokenId })
    expect(world.told.map(({ type }) => type)).toEqual(['nft.token-read', 'nft.contract-read'])
  })

  test('is the same when it is made of the log again, without anybody being asked', async () => {
    await stores().empty()
    await tellBlock(1, [mint(ART, 1n), mint(ART, 2n)])
    world.answer = (url) =>
      url.endsWith('2') ? { status: 'failed', isLate: false, reason: '' } : answered('{"name":"a"}')
    await world.run(ART)
    const events = world.told
    const tables = () => Promise.all([statesOf(ART), documentsOf(ART)])
    const before = await tables()
    const asked = world.fetched.length
    await stores().empty()
    await tell('nft.metadata', events)
    await tell('nft.metadata', events)
    expect(await tables()).toEqual(before)
    expect(world.fetched).toHaveLength(asked)
  })

  test('is left to others for a while where a server keeps us waiting', async () => {
    await stores().empty()
    await tellBlock(
      1,
      Array.from({ length: 40 }, (_, i) => mint(ART, BigInt(i))),
    )
    world.answer = () => ({ status: 'failed', isLate: true, reason: '' })
    const { read, isMore } = await world.run(ART)
    expect(read).toBeLessThanOrEqual(4)
    expect(isMore).toBe(true)
  })

  test('takes its media type from the server of the media, through the same guard, and no media from where that refuses', async () => {
    await stores().empty()
    await tellBlock(1, [mint(ART, 1n), mint(ART, 2n)])
    world.uriOf = (_, id) => `data:application/json,{"image":"https://media.test/${id}"}`
    world.answer = (url) =>
      url.endsWith('1') ? answered('', 'Image/PNG; a=b') : { status: 'refused', kind: 'address', reason: '' }
    await world.run(ART)
    expect(world.fetched.toSorted()).toEqual(['HEAD https://media.test/1', 'HEAD https://media.test/2'])
    expect(
      await stores().warehouse.query('SELECT media, media_type FROM nft_documents FINAL ORDER BY token_id'),
    ).toEqual([
      { media: 'https://media.test/1', media_type: 'image/png' },
      { media: '', media_type: '' },
    ])
  })
})

describe('what contracts say has changed', () => {
  test.each<[string, Record<string, unknown>, readonly string[]]>([
    ['MetadataUpdate', { tokenId: 2n }, ['2']],
    ['BatchMetadataUpdate', { fromTokenId: 2n, toTokenId: 3n }, ['2', '3']],
    ['BatchMetadataUpdate', { fromTokenId: 0n, toTokenId: MAX }, ['1', '2', '3']],
    ['BatchMetadataUpdate', { fromTokenId: 3n, toTokenId: 2n }, []],
    ['URI', { value: 'javascript:alert(1)', id: 3n }, ['3']],
    ['ContractURIUpdated', {}, []],
  ])('is read again: %s %s', async (name, args, ids) => {
    await stores().empty()
    await tellBlock(
      1,
      [1n, 2n, 3n].map((id) => mint(ART, id)),
    )
    await world.run(ART)
    world.called = []
    expect(await world.run(ART, 'changed')).toMatchObject({ read: 0 })
    await tellBlock(11, [changed(ART, name, args)])
    world.block = 12
    expect(await world.run(ART, 'changed')).toEqual({ read: ids.length, isMore: false })
    expect(world.called).toEqual(ids.map((id) => `tokenURI 0x01 ${id}`))
    const own = world.told.filter(({ type }) => type === 'nft.contract-read')
    expect(own).toHaveLength(name === 'ContractURIUpdated' ? 1 : 0)
    expect(await world.run(ART, 'changed')).toMatchObject({ read: 0 })
  })

  test('all the time and of everything waits once for each contract, and every contract has its turn', async () => {
    await stores().empty()
    const contracts = Array.from({ length: 1_000 }, (_, i): Hex => `0x${(i + 1).toString(16).padStart(40, '0')}`)
    const queue = new Map<string, { contract: Hex }>()
    const asked: string[] = []
    const jobQueue = {
      request: async (name: string, id: string, input: unknown) => {
        asked.push(name)
        if (name === rereadNftContract.name) queue.set(id, input as { contract: Hex })
      },
    }
    const noticing = { warehouse: stores().warehouse, jobQueue, nowSec: () => world.nowSec, nowMs: () => world.nowMs }
    const noticer = new UnreadNoticer(noticing, CHAIN)
    await noticer.look()
    const first = mint(ART, 1n).log
    await tellBlock(
      1,
      contracts.map((contract) => ({ contract, log: first })),
    )
    await noticer.look()
    expect(asked).toEqual(contracts.map(() => readNftContract.name))
    const { log } = changed(ART, 'BatchMetadataUpdate', { fromTokenId: 0n, toTokenId: MAX })
    for (let block = 20; block < 25; block++) {
      await tellBlock(
        block,
        contracts.map((contract) => ({ contract, log })),
      )
      await noticer.look()
    }
    // Five blocks, each of which changes everything: one job for each contract.
    expect(queue.size).toBe(1_000)
    // A round reads no more than so many tokens, and some of each.
    expect(tokensPerRun(queue.size) * queue.size).toBeLessThanOrEqual(2_000)
    expect(tokensPerRun(queue.size)).toBeGreaterThanOrEqual(1)
    expect(tokensPerRun(100_000)).toBe(1)
    expect(tokensPerRun(1)).toBe(200)
    // Who has something new to be read for the first time waits in another queue.
    asked.length = 0
    await tellBlock(41, [mint(COINS, 1n)])
    await noticer.look()
    expect(asked).toEqual([readNftContract.name])
  })

  test('of more changes than are told apart is everything since the oldest of those', async () => {
    await stores().empty()
    await tellBlock(
      1,
      [1n, 2n].map((id) => mint(ART, id)),
    )
    await world.run(ART)
    for (let block = 11; block < 16; block++)
      await tellBlock(
        block,
        Array.from({ length: 30 }, () => changed(ART, 'MetadataUpdate', { tokenId: 1n })),
      )
    world.block = 20
    expect(await world.run(ART, 'changed')).toMatchObject({ read: 2 })
    expect(await world.run(ART, 'changed')).toMatchObject({ read: 0 })
  })

  test('begins with those that were read longest ago', async () => {
    await stores().empty()
    await tellBlock(
      1,
      [1n, 2n, 3n].map((id) => mint(ART, id)),
    )
    await world.run(ART)
    await tellBlock(11, [changed(ART, 'MetadataUpdate', { tokenId: 1n })])
    world.block = 12
    await world.run(ART, 'changed')
    await tellBlock(13, [changed(ART, 'BatchMetadataUpdate', { fromTokenId: 0n, toTokenId: MAX })])
    world.block = 14
    world.called = []
    await world.run(ART, 'changed', 2_000)
    expect(world.called).toEqual(['tokenURI 0x01 2'])
    await world.run(ART, 'changed', 2_000)
    await world.run(ART, 'changed', 2_000)
    expect(world.called).toEqual(['tokenURI 0x01 2', 'tokenURI 0x01 3', 'tokenURI 0x01 1'])
  })
})

describe('a search of the tables', () => {
  test('finds what nobody told of: unread tokens, those that are due, and changes', async () => {
    await stores().empty()
    const asked: string[] = []
    const jobQueue = { request: async (name: string, id: string) => void asked.push(`${name} ${id.slice(4, 8)}`) }
    const look = () => {
      asked.length = 0
      const noticing = { warehouse: stores().warehouse, jobQueue, nowSec: () => world.nowSec, nowMs: () => 0 }
      return new UnreadNoticer(noticing, CHAIN).look()
    }
    await tellBlock(1, [mint(ART, 1n), mint(COINS, 1n)])
    await look()
    expect(asked.toSorted()).toEqual(['read-nft-contract 0x01', 'read-nft-contract 0x02'])
    await world.run(ART)
    world.answer = () => ({ status: 'failed', isLate: false, reason: '' })
    await world.run(COINS)
    await look()
    expect(asked).toEqual([])
    world.nowSec += 30
    await look()
    expect(asked).toEqual(['read-nft-contract 0x02'])
    world.nowSec -= 30
    await tellBlock(11, [changed(ART, 'MetadataUpdate', { tokenId: 1n }), changed(COINS, 'ContractURIUpdated', {})])
    await look()
    expect(asked.toSorted()).toEqual(['reread-nft-contract 0x01', 'reread-nft-contract 0x02'])
  })
})

test('a node’s answer to a contract that is none is told as none', async () => {
  await stores().empty()
  const reading = world.reading()
  const node: ContractNode = {
    ...reading.node,
    call: async (calls) => ({
      block: { number: 1, hash: idOf(1n), timeSec: 1 },
      answers: calls.map(() => ({ status: 'returned', data: new Uint8Array() })),
    }),
    deploymentOf: async () => ({ block: null, deployer: null, reason: 'not_a_contract' }),
  }
  await readAsked({ ...reading, node }, { chain: CHAIN, contract: ART, tokenId: null })
  await tell('nft.metadata', world.told)
  const [row] = await stores().warehouse.query(
    `SELECT has_name, has_symbol, toString(token_type) AS type, has_total_supply AS supply, deploy_block, deploy_reason,
       lower(hex(deployer)) AS deployer FROM nft_contracts FINAL`,
  )
  expect(row).toEqual({
    ...{ has_name: 0, has_symbol: 0, type: '', supply: 0, deploy_block: '-1', deploy_reason: 'not_a_contract' },
    deployer: hexOf(new Uint8Array(20)).slice(2),
  })
})

describe('the API', () => {
  const TOKEN = 'token-of-demo'
  const jobs = new AskedJobs<unknown>()
  let api: Api
  beforeAll(async () => {
    await stores().empty()
    world = new World()
    const { warehouse } = stores()
    await insertRows(warehouse, 'access_tokens', [
      { token_hash: hashToken(TOKEN), account: 'demo', version: 1, is_deleted: 0 },
    ])
    const block = blockOn(undefined, [
      ...[1n, 2n, 3n].map((id) => ({ contract: ART, from: NOBODY, to: ALICE, id, amount: 1n })),
      { contract: COINS, from: NOBODY, to: ALICE, id: 7n, amount: 5n },
    ])
    await tellChain(warehouse, eventsOf(block, 'mainnet'), { chain: 'mainnet' })
    await foldChain(warehouse, 'mainnet', never)
    world.answer = (url) =>
      url.endsWith('2')
        ? { status: 'failed', isLate: false, reason: '' }
        : answered(`{"name":"One","image":"ipfs://${CID}/a.png","attributes":[{"value":9007199254740993}]}`)
    await world.run(ART, 'unread', 1, 'mainnet')
    api = await openApi({
      ...{ warehouse, jobs: jobs.jobs, unfundedRules: DEFAULT_UNFUNDED_RULES, chains: () => [MAINNET] },
      log: silentLog,
      ...{ now: () => 0, wallNow: () => 0, standingAgeMsMax: 0 },
      health: () => Promise.reject(new Error('not asked')),
      ...{ accountsKnown: async () => true, tablesWhole: async () => true, host: '127.0.0.1', port: 0 },
    })
  })
  afterAll(() => api[Symbol.asyncDispose]())

  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${api.url}/nft/eth_mainnet/${TOKEN}/${path}`, init)
    const text = await response.text()
    return { status: response.status, text, body: JSON.parse(text), etag: response.headers.get('etag') }
  }

  test('tells what a contract says of itself', async () => {
    const { body } = await ask(`getContractMetadata?contract_address=${ART}`)
    expect(body).toMatchObject({
      ...{ name: 'name of 0x01', symbol: '', token_type: 'ERC721', total_supply: String(MAX) },
      ...{ deployer: ALICE, deploy_block_number: 3 },
      metadata_state: { status: 'fetched', attempts: 0, last_attempt: 1_800_000_000, next_retry: null },
    })
    const batch = await ask(`getContractMetadataBatch?contract_addresses=${COINS},${ART},${ALICE}`)
    expect(batch.body).toMatchObject([
      { contract_address: COINS, name: null, token_type: 'ERC1155', metadata_state: { status: 'pending' } },
      { contract_address: ART, name: 'name of 0x01' },
      { contract_address: ALICE, name: null, token_type: null, metadata_state: { status: 'not_fetched' } },
    ])
  })

  test('tells the document of a token, numbers as they are written, and why there is none', async () => {
    const read = await ask(`getNFTMetadata?contract_address=${ART}&token_id=1`)
    expect(read.text).toContain('"attributes":[{"value":9007199254740993}]')
    expect(read.body).toMatchObject({
      token_uri: 'https://a.test/1',
      metadata: { title: 'One', media: `https://gateway.test/ipfs/${CID}/a.png`, media_type: 'image/png' },
      contract: { name: 'name of 0x01' },
      error: null,
      metadata_state: { status: 'fetched', error: null, next_retry: null },
    })
    const failed = await ask(`getNFTMetadata?contract_address=${ART}&token_id=2`)
    expect(failed.body).toMatchObject({
      ...{ token_uri: 'https://a.test/2', metadata_json: null, error: 'UNREACHABLE' },
      metadata_state: {
        ...{ status: 'failed', error: 'UNREACHABLE', attempts: 1 },
        ...{ last_attempt: 1_800_000_000, next_retry: 1_800_000_030 },
      },
    })
    expect((await ask(`getNFTMetadata?contract_address=${ART}&token_id=99`)).body.metadata_state.status).toBe(
      'not_fetched',
    )
  })

  test('tells the same in the list of an owner, and nothing of it where nothing is wanted', async () => {
    const { body } = await ask(`getNFTsForOwner?owner=${ALICE}`)
    expect(body.owner_nfts).toMatchObject([
      { token_id: '1', metadata: { title: 'One' }, last_metadata_sync_time: 1_800_000_000 },
      { token_id: '2', error: 'UNREACHABLE', last_metadata_sync_time: 0, last_token_uri_sync_time: 1_800_000_000 },
      { token_id: '3', metadata: { title: 'One' } },
      { token_id: '7', contract: { name: null }, metadata_state: { status: 'pending' } },
    ])
    const without = await ask(`getNFTsForOwner?owner=${ALICE}&with_metadata=false`)
    for (const token of without.body.owner_nfts)
      expect(token).toMatchObject({
        token_uri: null,
        metadata: { title: null },
        metadata_state: { status: 'left_out' },
      })
  })

  test('has another ETag when something was read', async () => {
    const path = `getNFTMetadata?contract_address=${ART}&token_id=1`
    const { etag } = await ask(path)
    expect((await ask(path)).etag).toBe(etag)
    world.recently = new Recently(() => world.nowMs)
    world.nowSec += 60
    world.answer = () => answered('{"name":"Two"}')
    await world.run(ART, 'unread', 1, 'mainnet')
    const after = await ask(path)
    expect(after.etag).not.toBe(etag)
  })

  test('asks for a token, or a contract, to be read again, and does not wait', async () => {
    jobs.begin({ status: 'waiting' })
    const post = (body: object) => ask('refreshNFTMetadata', { method: 'POST', body: JSON.stringify(body) })
    expect(await post({ contract_address: ART, token_id: '0x1' })).toMatchObject({
      status: 200,
      body: { status: 'queued' },
    })
    expect(await post({ contract_address: ART })).toMatchObject({ status: 200 })
    expect(jobs.asked.map(({ input }) => refreshNft.parse(input))).toEqual([
      { chain: 'mainnet', contract: ART, tokenId: idOf(1n) },
      { chain: 'mainnet', contract: ART, tokenId: null },
    ])
    expect(await ask('refreshNFTMetadata')).toMatchObject({ status: 405 })
    expect(await post({ contract_address: 'x' })).toMatchObject({ status: 400 })
    jobs.asked = Array.from({ length: REFRESHES_MAX }, () => ({ name: '', id: '', input: null }))
    expect(await post({ contract_address: ART })).toMatchObject({ status: 429 })
  })

  test('finds it by a part of its name, and an address that nobody has read', async () => {
    const own = (await ask('searchContractMetadata?query=OF%200X01')).body
    expect(own).toMatchObject([{ contract_address: ART, name: 'name of 0x01', token_type: 'ERC721' }])
    const coins = (await ask(`searchContractMetadata?query=${COINS}`)).body
    expect(coins).toMatchObject([{ contract_address: COINS, name: null, metadata_state: { status: 'pending' } }])
  })
})
