import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createBeaconConfig } from '@lodestar/config'
import { mainnetChainConfig } from '@lodestar/config/configs'
import { toSpecJson } from '../../../infra/devnet/consensus/chain-config.ts'
import { hexOf } from '../../../schemas/eth/hex.ts'
import { dayOfSlot } from '../../../schemas/eth/time.ts'
import { makeExecution } from '../synthetic-execution.ts'
import { SLOTS_PER_EPOCH } from '../synthetic-registry.ts'
import type { MadeBlock } from './blocks.ts'
import { type MadeEpoch, type MadeState, StateChain } from './chain.ts'
import { clockOf, FIRST_EPOCH, type StateChainSize } from './size.ts'

// A beacon node that gives whole states, in a process of its own: everything is made before it says where it is, so that it only sends while
// something is measured. It is told over its channel up to which epoch the chain is final.

const ROOT = `0x${'5a'.repeat(32)}`

class StateNode {
  readonly #clock: ReturnType<typeof clockOf>
  readonly #spec: Readonly<Record<string, unknown>>
  readonly #blocks = new Map<number | string, MadeBlock>()
  readonly #states = new Map<number, MadeState>()
  /** JSON about everybody, by the slot behind which a day begins. */
  readonly #balances = new Map<number, Buffer>()
  readonly #registry: number
  #finalEpoch = FIRST_EPOCH

  constructor(size: StateChainSize, transactions: readonly Uint8Array[]) {
    this.#clock = clockOf(size)
    this.#registry = size.registry
    this.#spec = specOf(this.#clock.secondsPerSlot)
    const chain = new StateChain(size, transactions)
    const endsDay = (slot: number) => dayOfSlot(this.#clock, slot) !== dayOfSlot(this.#clock, slot + 1)
    this.#keep(chain.begin())
    const end = FIRST_EPOCH + size.epochs
    for (let epoch = FIRST_EPOCH; epoch < end; epoch++) {
      const made = chain.advance(epoch, (slot) => {
        if (endsDay(slot)) this.#balances.set(slot, balancesJson(chain.balancesGwei))
      })
      this.#keep(made)
    }
    this.#keep({ state: undefined, blocks: [chain.checkpointBlock(end)] })
  }

  #keep({ state, blocks }: { readonly state: MadeState | undefined; readonly blocks: MadeEpoch['blocks'] }): void {
    if (state !== undefined) this.#states.set(state.slot, state)
    for (const block of blocks) this.#blocks.set(block.slot, block).set(hexOf(block.root), block)
  }

  /** Epochs before this one are final. */
  finalize(epoch: number): void {
    this.#finalEpoch = epoch
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?')[0] ?? ''
    const asked: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) asked.push(chunk)
    const body = this.#bodyFor(path, Buffer.concat(asked).toString())
    if (body === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"code":404,"message":"not found"}')
      return
    }
    const pieces = Array.isArray(body) ? body : [body]
    const length = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0)
    response.writeHead(200, {
      'content-type': Array.isArray(body) ? 'application/octet-stream' : 'application/json',
      'content-length': length,
      'eth-consensus-version': 'fulu',
    })
    for (const piece of pieces) if (piece.length > 0) response.write(piece)
    response.end()
  }

  /** SSZ as a list of pieces, JSON as text or a buffer; undefined for what is not there. */
  #bodyFor(path: string, asked: string): readonly Uint8Array[] | string | Uint8Array | undefined {
    const parts = path.split('/')
    const last = parts.at(-1) ?? ''
    if (path.startsWith('/eth/v2/debug/beacon/states/')) return this.#states.get(Number(last))?.pieces
    if (path.startsWith('/eth/v2/beacon/blocks/')) {
      const block = this.#block(last)
      return block === undefined ? undefined : [block.bytes]
    }
    if (path === '/eth/v1/beacon/genesis') return data(this.#genesis())
    if (path === '/eth/v1/config/spec') return data(this.#spec)
    if (path === '/eth/v1/node/syncing') return data(this.#syncing())
    if (path.endsWith('/root')) {
      const block = this.#block(parts.at(-2) ?? '')
      return block === undefined ? undefined : data({ root: hexOf(block.root) })
    }
    if (path.endsWith('/finality_checkpoints')) return data(this.#checkpoints())
    if (path.endsWith('/validator_balances')) return this.#balancesOf(Number(parts[5]), asked)
    return undefined
  }

  #block(id: string): MadeBlock | undefined {
    return this.#blocks.get(id.startsWith('0x') ? id : Number(id))
  }

  #genesis() {
    return {
      genesis_time: String(this.#clock.genesisTimeSec),
      genesis_validators_root: ROOT,
      genesis_fork_version: '0x00000000',
    }
  }

  #syncing() {
    const head = String((this.#finalEpoch + 2) * SLOTS_PER_EPOCH)
    return { head_slot: head, sync_distance: '0', is_syncing: false, is_optimistic: false, el_offline: false }
  }

  #checkpoints() {
    const root = hexOf(this.#blocks.get(this.#finalEpoch * SLOTS_PER_EPOCH)?.root ?? new Uint8Array(32))
    const finalized = { epoch: String(this.#finalEpoch), root }
    return { previous_justified: finalized, current_justified: finalized, finalized }
  }

  /** Everybody's, or those of indices that only serve to find how large the registry is. */
  #balancesOf(slot: number, asked: string): string | Uint8Array | undefined {
    const ids = JSON.parse(asked) as readonly string[]
    if (ids.length === 0) return this.#balances.get(slot)
    const known = ids.map(Number).filter((index) => index < this.#registry)
    const all = this.#balances.get(slot)
    if (all === undefined) return undefined
    const rows = known.length === 0 ? [] : pick(JSON.parse(all.toString()) as BalancesAnswer, known)
    return JSON.stringify({ data: rows })
  }
}

interface BalancesAnswer {
  readonly data: readonly { readonly index: string; readonly balance: string }[]
}

function pick({ data: rows }: BalancesAnswer, indices: readonly number[]) {
  return indices.map((index) => rows[index])
}

function balancesJson(balances: Float64Array): Buffer {
  const rows = Array.from(balances, (gwei, index) => `{"index":"${index}","balance":"${gwei}"}`)
  return Buffer.from(`{"data":[${rows.join(',')}]}`)
}

function data(value: unknown): string {
  return JSON.stringify({ data: value })
}

/** Mainnet's numbers, all forks from the genesis on. */
function specOf(secondsPerSlot: number): Readonly<Record<string, unknown>> {
  const forks = ['ALTAIR', 'BELLATRIX', 'CAPELLA', 'DENEB', 'ELECTRA', 'FULU']
  const epochs = Object.fromEntries(forks.map((fork) => [`${fork}_FORK_EPOCH`, 0]))
  const times = { SECONDS_PER_SLOT: secondsPerSlot, SLOT_DURATION_MS: secondsPerSlot * 1_000 }
  return toSpecJson(createBeaconConfig({ ...mainnetChainConfig, ...epochs, ...times }, new Uint8Array(32)))
}

if (process.send !== undefined && import.meta.main) {
  const size = JSON.parse(process.argv[2] ?? '{}') as StateChainSize
  const node = new StateNode(size, (await makeExecution()).transactions)
  process.on('disconnect', () => process.exit())
  process.on('message', (epoch: number) => node.finalize(epoch))
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
