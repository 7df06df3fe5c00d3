import { type ExecutionSourceOptions, openExecutionSource } from '../../infra/execution/source.ts'
import type { EventLog, EventWriter } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import { backfillBlocks } from '../../ingest/execution/block-backfill.ts'
import { followExecutionHead } from '../../ingest/execution/execution-head.ts'
import { chainKey } from '../../schemas/chains.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { ingestCursor } from '../../schemas/events/cursor.ts'
import { openRpcNode, type RpcBlock, type SyntheticRpcChain } from '../unit/synthetic-rpc-chain.ts'
import { type BlockFault, CONCURRENCY, type Turn } from './block-faults.ts'
import { openFaultyNode, TrueNode } from './faulty-node.ts'
import { LIMITS } from './follow.ts'

const POLL_MS = 10
const OUTAGE_WAIT_MS = 20
const RUN_TIMEOUT_MS = 60_000

/** A chain that turns to other branches while it is read. */
class TurningChain {
  readonly view: SyntheticRpcChain
  readonly #turns: readonly (Turn & { readonly head: RpcBlock })[]
  #made = 0
  #wasReached = false
  #wasTold = false

  constructor(view: SyntheticRpcChain, turns: readonly (Turn & { readonly head: RpcBlock })[]) {
    this.view = view
    this.#turns = turns
  }

  /** The head was told to somebody. */
  noteTold(): void {
    if (this.#wasReached && this.#wasTold && this.#turns[this.#made]?.when === 'asked') this.#turn()
    this.#wasTold = true
  }

  /** The log has a block. `down`: nobody may read until the next call of `turnWhileDown`. */
  noteReached(hash: string): 'on' | 'down' | 'done' {
    if (hash !== this.view.head.hash) return 'on'
    this.#wasReached = true
    const next = this.#turns[this.#made]
    if (next === undefined) return 'done'
    if (next.isDown === true) return 'down'
    if (next.when === 'reached') this.#turn()
    return 'on'
  }

  turnWhileDown(): void {
    this.#turn()
  }

  #turn(): void {
    const next = this.#turns[this.#made++]
    if (next !== undefined) this.view.goTo(next.head)
    this.#wasTold = false
  }
}

/** The chain of a fault, whose branches are there, at its beginning; and the head that it ends with. */
async function turning(base: SyntheticRpcChain, { turns = [], missing = [] }: Partial<BlockFault>) {
  const view = base.view()
  for (const method of missing) view.missing.add(method)
  const heads: RpcBlock[] = []
  for (const [i, { from, to }] of turns.entries()) {
    heads.push(await view.extendTo(to, { on: from, branch: String.fromCharCode('b'.charCodeAt(0) + i) }))
  }
  view.goTo(base.head)
  return new TurningChain(
    view,
    turns.map((turn, i) => ({ ...turn, head: heads[i] as RpcBlock })),
  )
}

export interface BlockRun {
  readonly chain: string
  readonly base: SyntheticRpcChain
  readonly fault: Partial<BlockFault>
  readonly eventLog: EventLog
  readonly log: Log
}

/** Lets the ingester of a chain meet the fault until its log has the chain as it is in the end; returns its head, and wrong answers. */
export async function meetBlockFault({ chain, base, fault, eventLog, log }: BlockRun) {
  const turningChain = await turning(base, fault)
  await using open = new AsyncDisposableStack()
  const node = open.use(
    await openRpcNode(turningChain.view, (method, result, [name]) => {
      if (method === 'eth_getBlockByNumber' && name === 'latest') turningChain.noteTold()
      return result
    }),
  )
  const truth = open.use(new TrueNode(new URL(node.url).origin))
  const nodes = await Promise.all(
    (fault.nodes ?? [[]]).map(async (faults) => open.use(await openFaultyNode(truth, faults))),
  )
  const urls = nodes.map(({ url }) => url)
  const source = { urls, log, binding: 'layer', limits: LIMITS, ...fault.rules } as const
  const reading = { chain, eventLog, log, source, startBlock: fault.followedFrom ?? 1 }
  const end = AbortSignal.timeout(RUN_TIMEOUT_MS)
  const filled = fault.followedFrom === undefined ? undefined : fillBack(reading, fault.followedFrom - 1, end)
  filled?.catch(() => undefined) // it is awaited below
  for (;;) {
    const state = await readUntil(reading, turningChain, end)
    if (state === 'done') break
    turningChain.turnWhileDown()
  }
  await filled
  return { head: turningChain.view.head, faults: nodes.reduce((sum, one) => sum + one.faults, 0) }
}

interface Reading {
  readonly chain: string
  readonly eventLog: EventLog
  readonly log: Log
  readonly source: ExecutionSourceOptions
  readonly startBlock: number
}

const ingesterOf = ({ chain, eventLog, log }: Reading) => ({
  chain,
  eventLog,
  unnamedChain: 'mainnet',
  log,
  concurrency: CONCURRENCY,
  outageWaitMs: OUTAGE_WAIT_MS,
})

async function readUntil(reading: Reading, turningChain: TurningChain, end: AbortSignal): Promise<'down' | 'done'> {
  const { chain, eventLog } = reading
  await using execution = await openExecutionSource(reading.source)
  const stop = new AbortController()
  let tip: string | undefined
  let state: 'on' | 'down' | 'done' = 'on'
  const writer: EventWriter = {
    append: async (topic, events) => {
      const positions = await eventLog.append(topic, events)
      const cursor = topic === 'ingest.cursors' ? events.find(({ key }) => key === chainKey(chain, 'head')) : undefined
      if (cursor !== undefined) tip = decodeEvent(ingestCursor, cursor).recent?.at(-1)?.id
      return positions
    },
  }
  const onProgress = (): void => {
    if (state === 'on' && tip !== undefined) state = turningChain.noteReached(tip)
    if (state !== 'on') stop.abort()
  }
  const given = { ...ingesterOf(reading), writer, execution, startBlock: reading.startBlock, onProgress }
  await followExecutionHead({ ...given, pollMs: POLL_MS, finalityPollMs: POLL_MS }, AbortSignal.any([stop.signal, end]))
  end.throwIfAborted()
  if (state === 'on') throw new Error('the follower ended by itself')
  return state
}

async function fillBack(reading: Reading, toBlock: number, end: AbortSignal): Promise<void> {
  await using execution = await openExecutionSource(reading.source)
  const given = { ...ingesterOf(reading), writer: reading.eventLog, execution }
  await backfillBlocks(given, { fromBlock: 1, toBlock }, end)
  end.throwIfAborted()
}
