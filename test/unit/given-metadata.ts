import { encodeAbiParameters, type Hex, parseAbi } from 'viem'
import { mayBePublic } from '../../infra/guarded-fetch/named-server.ts'
import type { CallAnswer, ContractNode, Deployment } from '../../infra/ports/contract-node.ts'
import type { StoredEvent } from '../../infra/ports/event-log.ts'
import type { PublicAnswer, PublicRequest } from '../../infra/ports/public-fetch.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { executionBlockEvents } from '../../ingest/execution/block-events.ts'
import { type ReadingSome, readSome } from '../../ingest/metadata/read-some.ts'
import { Recently } from '../../ingest/metadata/recently.ts'
import type { Projector } from '../../processors/loop/consume.ts'
import { joinRows } from '../../processors/loop/rows.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import type { RawLog } from '../../schemas/eth/nft-transfers.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { transactionColumns } from './execution-columns.ts'
import { ABI, logOf } from './given-nft-log.ts'

// Contracts and servers of documents as the role `metadata` meets them, and tables that follow what it tells.

export const CHAIN = 'eth'
export const NOBODY: Hex = `0x${'00'.repeat(20)}`
export const ALICE: Hex = `0x${'a1'.repeat(20)}`
export const ART: Hex = `0x${'01'.repeat(20)}`
export const COINS: Hex = `0x${'02'.repeat(20)}`
export const MAX = 2n ** 256n - 1n
const TIME = '2026-01-01T00:00:00.000Z'
const CHANGES = parseAbi([
  'event MetadataUpdate(uint256 tokenId)',
  'event BatchMetadataUpdate(uint256 fromTokenId, uint256 toTokenId)',
  'event URI(string value, uint256 indexed id)',
  'event ContractURIUpdated()',
])
const never = new AbortController().signal

export const idOf = (id: bigint): Hex => `0x${id.toString(16).padStart(64, '0')}`

/** One thing that a contract has logged. */
export interface Happened {
  readonly contract: Hex
  readonly log: RawLog
}

export const mint = (contract: Hex, id: bigint) => ({
  contract,
  log:
    contract === COINS
      ? logOf(ABI, 'TransferSingle', { operator: ALICE, from: NOBODY, to: ALICE, id, value: 1n })
      : logOf(ABI, 'Transfer', { from: NOBODY, to: ALICE, tokenId: id }),
})
export const changed = (contract: Hex, name: string, args: Record<string, unknown>) => ({
  contract,
  log: logOf(CHANGES, name, args),
})

let offset = 0n

/** Puts what the events become into the tables. */
export async function tell(warehouse: Warehouse, topic: string, events: readonly EncodedEvent[]): Promise<void> {
  const projector = PROJECTORS.find((one) => one.topic === topic) as Projector
  const stored = events.map((event): StoredEvent => ({ position: { partition: 0, offset: offset++ }, event }))
  const rows = stored.flatMap((event) => projector.project(event, CHAIN).rows)
  for (const { table, columns } of joinRows(rows, projector.lastTable)) await warehouse.insert(table, columns)
}

/** The events of a block's logs. */
export function logsOf(number: number, happened: readonly Happened[]): readonly EncodedEvent[] {
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
    ...({
      header,
      matchesHash: true,
      logsCheck: 'receipts',
      hasOutcomes: true,
      provenSenders: [],
      withdrawals: [],
    } as const),
    columns: transactionColumns([]),
    logs,
  }
  return executionBlockEvents(CHAIN, block, TIME).logs
}

export function tellBlock(warehouse: Warehouse, number: number, happened: readonly Happened[]): Promise<void> {
  return tell(warehouse, 'execution.logs', logsOf(number, happened))
}

/** The world as the role asks it. */
export class World {
  readonly #warehouse: () => Warehouse

  block = 10
  nowSec = 1_800_000_000
  nowMs = 0
  told: EncodedEvent[] = []
  fetched: string[] = []
  called: string[] = []
  /** Contracts whose making was asked for. */
  searched: string[] = []
  /** How contracts came to be. */
  deployment: Deployment = { block: 3, deployer: ALICE, reason: null }
  /** Of a token, by `tokenURI` or `uri`; undefined reverts, and an answer is what the node says. */
  uriOf: (contract: string, id: bigint) => string | CallAnswer | undefined = (_, id) => `https://a.test/${id}`
  answer: (url: string) => PublicAnswer = (url) => answered(JSON.stringify({ name: `at ${url}` }))

  readonly #node: ContractNode = {
    call: async (calls) => ({
      block: { number: this.block, hash: idOf(BigInt(this.block)), timeSec: 1_700_000_000 },
      answers: calls.map(({ to, data }) => this.#called(to, data)),
    }),
    deploymentOf: async (contract) => {
      this.searched.push(contract)
      return this.deployment
    },
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
        if (typeof uri === 'string') return returned(['string'], [uri])
        return uri ?? { status: 'reverted' }
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
    mayBePublic,
    gateways: { ipfs: ['https://gateway.test/ipfs/'], arweave: [] },
    now: () => this.nowSec,
    warehouse: this.#warehouse(),
    writer: {
      append: async (_, events) => {
        this.told.push(...events)
        return events.map(() => ({ partition: 0, offset: 0n }))
      },
    },
    recently: this.recently,
    cursors: this.cursors,
  })
  readonly cursors = new Map<string, Hex>()
  recently = new Recently(() => this.nowMs)

  constructor(warehouse: () => Warehouse) {
    this.#warehouse = warehouse
  }

  /** One run, after which the tables have what was told; milliseconds pass, so that nothing counts as read a moment ago. */
  async run(contract: Hex, which: 'unread' | 'changed' = 'unread', contractsWaiting = 1, chain = CHAIN) {
    this.told = []
    const done = await readSome(this.reading(), { chain, contract, which, contractsWaiting }, never)
    await tell(this.#warehouse(), 'nft.metadata', this.told)
    this.nowMs += 61_000
    return done
  }
}

export function answered(text: string, type = 'application/json', httpStatus = 200): PublicAnswer {
  return { status: 'answered', httpStatus, type, body: Buffer.from(text) }
}

export const statesOf = (warehouse: Warehouse, contract: Hex) =>
  warehouse.query<Record<string, unknown>>(
    `SELECT toString(reinterpretAsUInt256(reverse(token_id))) AS id, error, attempts, token_uri, has_token_uri AS has,
       toUnixTimestamp(next_retry) AS next, block_number AS block
     FROM nft_token_states FINAL WHERE contract = unhex('${contract.slice(2)}') ORDER BY token_id`,
  )
export const documentsOf = (warehouse: Warehouse, contract: Hex) =>
  warehouse.query<Record<string, unknown>>(
    `SELECT toString(reinterpretAsUInt256(reverse(substring(token, 21)))) AS id, JSONExtractString(told, 'title') AS title,
       JSONExtractString(told, 'json') AS json
     FROM nft_token_told FINAL WHERE startsWith(token, unhex('${contract.slice(2)}')) AND kind = 'document' ORDER BY token`,
  )
