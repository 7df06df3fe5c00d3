import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  attestationRow,
  type Block,
  balanceRowBefore,
  CHAIN_DATA,
  finalizedEvent,
  headEvent,
  headerData,
  makeChain,
  makeCommittee,
  proposerReward,
  syncRewardRows,
  validatorRow,
} from './synthetic-answers.ts'
import { makeExecution, type SyntheticExecution } from './synthetic-execution.ts'
import { indexOf, SLOTS_PER_EPOCH } from './synthetic-registry.ts'

// A beacon node and an execution node with a registry of any size, for measurements, in a process of their own. It is told
// over its channel where the head and finality are, announces that on its event stream, and counts what it is asked.

/** States and rewards differ from epoch to epoch; so many different answers are kept. */
const VARIANTS = 3
/** Answers about more validators than this are made once, and sent again and again. */
const ROWS_MADE_MAX = 500

/** What the questions are about; the chain's blocks stand apart from what is asked besides. */
export type Kind = keyof ReturnType<typeof noTraffic>
export interface Traffic {
  readonly requests: number
  readonly bytes: number
}
export type TrafficByKind = Readonly<Record<Kind, Traffic>>

function noTraffic() {
  const none = () => ({ requests: 0, bytes: 0 })
  return {
    'beacon blocks': none(),
    'execution blocks': none(),
    'states of validators': none(),
    'attestation rewards': none(),
    'proposer rewards': none(),
    'sync rewards': none(),
    'pending deposits': none(),
    'head and finality': none(),
    'once: chain, committee, event stream': none(),
  }
}

function kindOf(path: string): Kind {
  if (path === '/') return 'execution blocks'
  if (path.startsWith('/eth/v2/beacon/blocks/')) return 'beacon blocks'
  if (path.endsWith('/validators') || path.endsWith('/validator_balances')) return 'states of validators'
  if (path.includes('/rewards/attestations/')) return 'attestation rewards'
  if (path.includes('/rewards/blocks/')) return 'proposer rewards'
  if (path.includes('/rewards/sync_committee/')) return 'sync rewards'
  if (path.endsWith('/pending_deposits')) return 'pending deposits'
  if (
    path.endsWith('/root') ||
    path.includes('/headers/') ||
    path.endsWith('/finality_checkpoints') ||
    path.endsWith('/node/syncing')
  ) {
    return 'head and finality'
  }
  return 'once: chain, committee, event stream'
}

/** Where the chain is; sent to the node, which announces it. */
export interface ChainPlace {
  readonly headSlot: number
  readonly finalEpoch: number
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

class SyntheticBeaconNode {
  readonly #registry: number
  readonly #chain: readonly Block[]
  readonly #byRoot: ReadonlyMap<string, Block>
  readonly #byExecutionHash: ReadonlyMap<string, Block>
  readonly #committee: readonly number[]
  readonly #execution: SyntheticExecution
  readonly #large = new Map<string, Buffer>()
  readonly #streams = new Set<ServerResponse>()
  readonly traffic = noTraffic()
  #place: ChainPlace

  constructor(registry: number, slots: number, place: ChainPlace, execution: SyntheticExecution) {
    this.#registry = registry
    this.#execution = execution
    this.#chain = makeChain(slots, registry, execution)
    this.#byRoot = new Map(this.#chain.map((block) => [block.root, block]))
    this.#byExecutionHash = new Map(this.#chain.map((block) => [block.execution.hash, block]))
    this.#committee = makeCommittee(registry)
    this.#place = place
  }

  moveTo(place: ChainPlace): void {
    const before = this.#place
    this.#place = place
    for (const stream of this.#streams) {
      if (place.headSlot !== before.headSlot) stream.write(headEvent(this.#at(place.headSlot)))
      if (place.finalEpoch !== before.finalEpoch) stream.write(finalizedEvent(place.finalEpoch, this.#finalRoot()))
    }
  }

  #at(slot: number): Block {
    return this.#chain[slot] as Block
  }

  #finalRoot(): string {
    return this.#at(this.#place.finalEpoch * SLOTS_PER_EPOCH).root
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?')[0] ?? ''
    const traffic = this.traffic[kindOf(path)]
    traffic.requests++
    if (path === '/eth/v1/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n')
      this.#streams.add(response)
      response.on('close', () => this.#streams.delete(response))
      return
    }
    const body = this.#bodyFor(path, await bodyOf(request))
    const isBytes = body instanceof Uint8Array && !Buffer.isBuffer(body)
    const length = body === undefined ? 0 : Buffer.byteLength(body)
    traffic.bytes += length
    response.writeHead(body === undefined ? 404 : 200, {
      'content-type': isBytes ? 'application/octet-stream' : 'application/json',
      'content-length': length,
      'eth-consensus-version': 'fulu',
    })
    response.end(body)
  }

  /** SSZ as plain bytes, JSON as text or a buffer; undefined for what is not there. */
  #bodyFor(path: string, asked: string): string | Uint8Array | undefined {
    const id = path.split('/').at(-1) ?? ''
    if (path === '/') return this.#rpc(asked)
    if (path in CHAIN_DATA) return data(CHAIN_DATA[path])
    if (path === '/eth/v1/beacon/headers/head') return data(headerData(this.#at(this.#place.headSlot)))
    if (path.endsWith('/finality_checkpoints')) {
      const finalized = { epoch: String(this.#place.finalEpoch), root: this.#finalRoot() }
      return data({ previous_justified: finalized, current_justified: finalized, finalized })
    }
    if (path.startsWith('/eth/v2/beacon/blocks/')) return this.#block(id)?.bytes
    if (path.endsWith('/root')) return data({ root: this.#block(path.split('/').at(-2) ?? '')?.root })
    if (path.endsWith('/pending_deposits')) return new Uint8Array(0)
    if (path.endsWith('/sync_committees')) {
      return data({ validators: this.#committee.map(String), validator_aggregates: [] })
    }
    if (path.includes('/rewards/blocks/') || path.includes('/rewards/sync_committee/')) {
      const block = this.#block(id)
      if (block === undefined) return undefined
      return data(path.includes('/blocks/') ? proposerReward(block) : syncRewardRows(this.#committee, block))
    }
    return this.#rows(path, asked)
  }

  #block(id: string): Block | undefined {
    const block = id.startsWith('0x') ? this.#byRoot.get(id) : this.#chain[id === 'genesis' ? 0 : Number(id)]
    return block === undefined || block.slot > this.#place.headSlot ? undefined : block
  }

  #rpc(asked: string): string {
    const calls = JSON.parse(asked) as RpcCall | RpcCall[]
    const answerOf = (call: RpcCall) => `{"jsonrpc":"2.0","id":${call.id},"result":${this.#rpcResult(call)}}`
    return Array.isArray(calls) ? `[${calls.map(answerOf).join(',')}]` : answerOf(calls)
  }

  #rpcResult({ method, params }: RpcCall): string {
    if (method === 'eth_chainId') return '"0x1"'
    const block = this.#byExecutionHash.get(String(params?.[0]))
    if (block === undefined || block.slot > this.#place.headSlot) return 'null'
    return method === 'eth_getBlockReceipts' ? this.#execution.receipts : block.execution.text
  }

  /** Answers with a row per validator. */
  #rows(path: string, asked: string): string | Buffer | undefined {
    const parts = path.split('/')
    const isRewards = parts[5] === 'attestations'
    const number = Number(isRewards ? parts[6] : parts[5])
    const variant = (isRewards ? number : Math.floor(number / SLOTS_PER_EPOCH)) % VARIANTS
    const question = JSON.parse(asked) as readonly string[] | { readonly ids?: readonly string[] }
    const ids = ('ids' in question ? question.ids : undefined) ?? (Array.isArray(question) ? question : [])
    const byKey = ids[0]?.startsWith('0x') === true
    if (path.endsWith('/validator_balances')) return `{"data":[${this.#balances(number, this.#known(ids)).join(',')}]}`
    const row = isRewards ? attestationRow : validatorRow
    const wrap = (rows: string) => {
      return isRewards ? `{"data":{"ideal_rewards":[],"total_rewards":[${rows}]}}` : `{"data":[${rows}]}`
    }
    if (byKey || (ids.length > 0 && ids.length <= ROWS_MADE_MAX)) {
      const asked = byKey ? ids.map(indexOf) : this.#known(ids)
      return wrap(asked.map((index) => row(index, variant)).join(','))
    }
    // Questions about many are the same in every epoch.
    const key = `${isRewards} ${variant} ${ids.length} ${ids[0]} ${ids.at(-1)}`
    const indices = ids.length === 0 ? Array.from({ length: this.#registry }, (_, index) => index) : this.#known(ids)
    const large = this.#large.get(key) ?? Buffer.from(wrap(indices.map((index) => row(index, variant)).join(',')))
    this.#large.set(key, large)
    return large
  }

  /** Rows of balances after a slot: before the epoch that follows, or comes with it. */
  #balances(slot: number, indices: readonly number[]): readonly string[] {
    const epoch = Math.ceil((slot + 1) / SLOTS_PER_EPOCH)
    const blocks = this.#chain.slice(epoch * SLOTS_PER_EPOCH, (epoch + 1) * SLOTS_PER_EPOCH)
    const variants = { of: epoch % VARIANTS, ofDuties: Math.max(0, epoch - 2) % VARIANTS }
    return indices.map(balanceRowBefore(blocks, this.#committee, variants))
  }

  #known(ids: readonly string[]): readonly number[] {
    return ids.map(Number).filter((index) => index < this.#registry)
  }
}

interface RpcCall {
  readonly id: number
  readonly method: string
  readonly params?: readonly unknown[]
}

function data(value: unknown): string {
  return JSON.stringify({ data: value })
}

if (process.send !== undefined && import.meta.main) {
  const [registry, slots, headSlot, finalEpoch] = process.argv.slice(2).map(Number) as [number, number, number, number]
  const node = new SyntheticBeaconNode(registry, slots, { headSlot, finalEpoch }, await makeExecution())
  process.on('disconnect', () => process.exit())
  process.on('message', (message: ChainPlace | 'traffic') => {
    if (message === 'traffic') process.send?.(node.traffic)
    else node.moveTo(message)
  })
  const server = createServer((request, response) => {
    node.answer(request, response).catch((error: unknown) => {
      process.stderr.write(`${error}\n`)
      response.destroy()
    })
  })
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    if (address !== null && typeof address === 'object') process.send?.(`http://127.0.0.1:${address.port}`)
  })
}
