import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  attestationRow,
  type Block,
  balanceRow,
  blockRewards,
  CHAIN_DATA,
  dutiesGwei,
  finalizedEvent,
  genesisGwei,
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

/** Who is asked for, in this order. */
interface Question {
  readonly indices: readonly number[]
  readonly isSmall: boolean
}

/** The states of some validators, and where in it their balances stand. */
interface States {
  readonly body: Buffer
  readonly balancesAt: Uint32Array
}

function kept<Key, Value>(all: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = all.get(key)
  if (known !== undefined) return known
  const made = make()
  all.set(key, made)
  return made
}

class SyntheticBeaconNode {
  readonly #registry: number
  readonly #chain: readonly Block[]
  readonly #byRoot: ReadonlyMap<string, Block>
  readonly #byExecutionHash: ReadonlyMap<string, Block>
  readonly #committee: readonly number[]
  readonly #execution: SyntheticExecution
  readonly #large = new Map<string, Buffer>()
  readonly #questions = new Map<string, Question>()
  readonly #states = new Map<string, States>()
  /** Of each validator: gwei at genesis, and what duties of each variant earn. */
  readonly #genesisGwei: Float64Array
  readonly #dutiesGwei: readonly Int32Array[]
  /** What blocks up to an epoch's end have brought. */
  readonly #blocksGwei = new Map<number, ReadonlyMap<number, number>>()
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
    this.#genesisGwei = Float64Array.from({ length: registry }, (_, index) => genesisGwei(index))
    this.#dutiesGwei = Array.from({ length: VARIANTS }, (_, variant) =>
      Int32Array.from({ length: registry }, (_, index) => dutiesGwei(index, variant)),
    )
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
    const { indices, isSmall } = this.#asked(asked)
    if (parts[5] === 'attestations') {
      const variant = Number(parts[6]) % VARIANTS
      const body = () => {
        const rows = indices.map((index) => attestationRow(index, variant)).join(',')
        return `{"data":{"ideal_rewards":[],"total_rewards":[${rows}]}}`
      }
      return isSmall ? body() : kept(this.#large, `${variant} ${asked}`, () => Buffer.from(body()))
    }
    const gweiOf = this.#balancesAfter(Math.floor(Number(parts[5]) / SLOTS_PER_EPOCH))
    if (path.endsWith('/validator_balances')) return rowsOf(indices.map((index) => balanceRow(index, gweiOf(index))))
    if (isSmall) return rowsOf(indices.map((index) => validatorRow(index, gweiOf(index))))
    const { body, balancesAt } = kept(this.#states, asked, () => statesOf(indices, gweiOf))
    const states = Buffer.from(body)
    indices.forEach((index, i) => void states.write(String(gweiOf(index)), balancesAt[i] as number, 'latin1'))
    return states
  }

  /** Gwei after an epoch: each brings what its blocks do, and what duties of the epoch before the last one earned. */
  #balancesAfter(epoch: number): (index: number) => number {
    const credits = this.#dutiesGwei.map((gwei, variant) => {
      return { gwei, times: Math.max(0, Math.floor((epoch - 2 - variant) / VARIANTS) + 1) }
    })
    const blocks = this.#blocksUpTo(epoch)
    const genesis = this.#genesisGwei
    return (index) => {
      let sum = (genesis[index] as number) + (blocks.get(index) ?? 0)
      for (const { gwei, times } of credits) sum += times * (gwei[index] as number)
      return sum
    }
  }

  #blocksUpTo(epoch: number): ReadonlyMap<number, number> {
    return kept(this.#blocksGwei, epoch, () => {
      const sums = new Map(epoch === 0 ? [] : this.#blocksUpTo(epoch - 1))
      const blocks = this.#chain.slice(epoch * SLOTS_PER_EPOCH, (epoch + 1) * SLOTS_PER_EPOCH)
      for (const [index, gwei] of blockRewards(blocks, this.#committee)) sums.set(index, (sums.get(index) ?? 0) + gwei)
      return sums
    })
  }

  /** Questions about many are the same in every epoch. */
  #asked(text: string): Question {
    return this.#questions.get(text) ?? this.#read(text)
  }

  #read(text: string): Question {
    const question = JSON.parse(text) as readonly string[] | { readonly ids?: readonly string[] }
    const ids = ('ids' in question ? question.ids : undefined) ?? (Array.isArray(question) ? question : [])
    const byKey = ids[0]?.startsWith('0x') === true
    const all = ids.length === 0
    const indices = all
      ? Array.from({ length: this.#registry }, (_, index) => index)
      : ids.map(byKey ? indexOf : Number).filter((index) => index < this.#registry)
    const isSmall = byKey || (!all && ids.length <= ROWS_MADE_MAX)
    const read = { indices, isSmall }
    if (!isSmall) this.#questions.set(text, read)
    return read
  }
}

interface RpcCall {
  readonly id: number
  readonly method: string
  readonly params?: readonly unknown[]
}

function rowsOf(rows: readonly string[]): string {
  return `{"data":[${rows.join(',')}]}`
}

const BALANCE_KEY = '"balance":"'

function statesOf(indices: readonly number[], gweiOf: (index: number) => number): States {
  const rows = indices.map((index) => validatorRow(index, gweiOf(index)))
  const text = rowsOf(rows)
  let at = 0
  const balancesAt = Uint32Array.from(rows, () => {
    at = text.indexOf(BALANCE_KEY, at) + BALANCE_KEY.length
    return at
  })
  return { body: Buffer.from(text), balancesAt }
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
