import type { Offsets } from '../../infra/ports/event-log.ts'
import type { ExecutionSource } from '../../infra/ports/execution-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { isNodeFault } from '../../schemas/errors.ts'
import { beaconBlock, beaconBlockReverted } from '../../schemas/events/beacon-block.ts'
import { blockEvidence } from '../../schemas/events/block-evidence.ts'
import { decodeEvent, type Topic, unlessUndecodable } from '../../schemas/events/codec.ts'
import { retryWithBackoff } from '../../schemas/retry.ts'
import { pause } from '../../schemas/wait.ts'
import { hasExecutionBlock } from '../beacon-head/block-events.ts'
import type { ChainLog } from '../cursor.ts'
import { tellPassedOver } from '../epochs/tracked-keys.ts'
import { ownEvents } from '../own-events.ts'
import { type BlockEvidenceReader, isLacking, type LackingEvidence, type ProposedBlock } from './block-evidence.ts'

/**
 * When what lacks of a block is asked for again, behind its time, ms. Relays tell most of what they tell late within a minute, and default nodes
 * have balances for 128 blocks; an outage of a relay takes hours.
 */
export const ASKED_AGAIN_AFTER_MS = [60_000, 300_000, 3_600_000, 21_600_000] as const
/** Between two looks at what is due. */
const LOOK_MS = 5_000
/** Blocks that are waited for; the oldest are given up for newer ones. 100,000 validators propose 180 in six hours. */
const WAITING_MAX = 5_000
/** Newest events of each partition in which a start looks for blocks that lack something: six hours of mainnet are half as many. */
const LOOKED_BACK_EVENTS = 4_000n

/** Blocks that lack something, and when it is asked for again. */
export class WaitingEvidence {
  readonly #now: () => number
  readonly #waiting = new Map<string, Waiting>()

  /** `now` in Unix milliseconds. */
  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** Takes what lacks of a block, unless all times have passed at which it would be asked for. */
  note(lacking: LackingEvidence): void {
    const nowMs = this.#now()
    // A chain whose clock is ahead, as one in time-lapse may be, waits from now on.
    this.#put({ lacking, sinceMs: Math.min(nowMs, Date.parse(lacking.time)), asked: 0 }, nowMs)
  }

  /** Those that are due, which it forgets; `again` takes them back. */
  due(): readonly Waiting[] {
    const nowMs = this.#now()
    const due = [...this.#waiting.values()].filter(({ sinceMs, asked }) => sinceMs + afterMs(asked) <= nowMs)
    for (const { lacking } of due) this.#waiting.delete(lacking.hash)
    return due
  }

  /** Takes back what still lacks of a block that was due. */
  again({ sinceMs, asked }: Waiting, lacking: LackingEvidence): void {
    this.#put({ lacking, sinceMs, asked: asked + 1 }, this.#now())
  }

  #put({ asked, ...waiting }: Waiting, nowMs: number): void {
    const next = ASKED_AGAIN_AFTER_MS.findIndex((ms, nth) => nth >= asked && waiting.sinceMs + ms > nowMs)
    if (next === -1) return
    this.#waiting.set(waiting.lacking.hash, { ...waiting, asked: next })
    const [oldest] = this.#waiting.keys()
    if (this.#waiting.size > WAITING_MAX && oldest !== undefined) this.#waiting.delete(oldest)
  }
}

interface Waiting {
  readonly lacking: LackingEvidence
  /** Unix milliseconds that the times count from. */
  readonly sinceMs: number
  /** How many of the times have passed. */
  readonly asked: number
}

function afterMs(asked: number): number {
  return ASKED_AGAIN_AFTER_MS[asked] ?? Number.POSITIVE_INFINITY
}

export interface LateEvidenceOptions extends ChainLog {
  readonly evidence: BlockEvidenceReader
  readonly waiting: WaitingEvidence
  readonly execution: Pick<ExecutionSource, 'blockByHash'>
  readonly log: Log
  readonly lookMs?: number
  /** Wait before the first repetition after an outage. */
  readonly outageWaitMs?: number
}

/**
 * Asks again for what lacked of tracked proposers' blocks when they were read: relays that tell late or were away, balances that a node had not
 * yet. A few times, and what is told is another event of the block. Begins with what the log's newest blocks lack. Resolves when the
 * signal aborts. Throws AppErrors of the log alone, `lease_lost` when another process writes.
 */
export async function followLateEvidence(options: LateEvidenceOptions, signal: AbortSignal): Promise<void> {
  const { waiting, lookMs = LOOK_MS, log, chain, outageWaitMs: firstMs } = options
  const retry = { log, signal, what: `looking for evidence that blocks of ${chain} lack`, firstMs }
  await retryWithBackoff(retry, () => noteLackingOfLog(options, signal))
  while (!signal.aborted) {
    for (const one of waiting.due()) if (!signal.aborted) await askAgain(options, one, signal)
    await pause(lookMs, signal)
  }
}

async function askAgain(options: LateEvidenceOptions, one: Waiting, signal: AbortSignal): Promise<void> {
  const { evidence, waiting, execution, writer, log, chain } = options
  const { lacking } = one
  let left: LackingEvidence | undefined = lacking
  try {
    const told = await evidence.askAgain(lacking, await execution.blockByHash(lacking.hash), one.asked + 1)
    if (told.events.length > 0) await writer.append('execution.blocks', told.events)
    left = told.lacking
  } catch (error) {
    if (signal.aborted) return
    if (!isNodeFault(error)) throw error
    // No figure waits for it, and the next time comes.
    log.debug({ chain, block: lacking.hash }, `${error.message}: asked again later, for what it lacks`)
  }
  if (left !== undefined) waiting.again(one, left)
}

/** What a process that ran before had waited for. */
async function noteLackingOfLog(options: LateEvidenceOptions, signal: AbortSignal): Promise<void> {
  const { evidence, waiting } = options
  const told = await toldEvidence(options, signal)
  for (const block of await newestBlocks(options, signal)) {
    const all = await evidence.allOf(block)
    if (all === undefined) continue
    const known = told.get(block.hash)
    const claims = all.claims && known?.claims !== true
    const lacking = { ...all, claims, addresses: all.addresses.filter((one) => known?.addresses.has(one) !== true) }
    if (isLacking(lacking)) waiting.note(lacking)
  }
}

interface ToldEvidence {
  claims: boolean
  readonly addresses: Set<string>
}

async function toldEvidence(
  options: LateEvidenceOptions,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ToldEvidence>> {
  const told = new Map<string, ToldEvidence>()
  for await (const { event } of newestEvents(options, 'execution.blocks', signal)) {
    if (event.type !== blockEvidence.name) continue
    const data = unlessUndecodable(
      () => decodeEvent(blockEvidence, event),
      (reason) => tellPassedOver(options, event.id, reason),
    )
    if (data === undefined) continue
    const known = told.get(data.hash) ?? { claims: false, addresses: new Set() }
    if (data.claims.length > 0) known.claims = true
    for (const { address } of data.balances) known.addresses.add(address)
    told.set(data.hash, known)
  }
  return told
}

/** Blocks that stand, oldest first. */
async function newestBlocks(options: LateEvidenceOptions, signal: AbortSignal) {
  const { unnamedChain } = options
  const blocks = new Map<string, ProposedBlock>()
  for await (const { event } of newestEvents(options, 'beacon.blocks', signal)) {
    const take = () => {
      if (event.type === beaconBlockReverted.name)
        blocks.delete(decodeEvent(beaconBlockReverted, event, unnamedChain).root)
      if (event.type !== beaconBlock.name) return
      const block = decodeEvent(beaconBlock, event, unnamedChain)
      const { proposerIndex, executionBlockHash: hash } = block
      if (hasExecutionBlock(block)) blocks.set(block.root, { proposerIndex, hash, time: event.time })
    }
    unlessUndecodable(take, (reason) => tellPassedOver(options, event.id, reason))
  }
  return blocks.values()
}

async function* newestEvents(options: LateEvidenceOptions, topic: Topic, signal: AbortSignal) {
  const ends = await options.eventLog.ends(topic)
  const from: Offsets = new Map(
    [...ends].map(([partition, end]) => [partition, end > LOOKED_BACK_EVENTS ? end - LOOKED_BACK_EVENTS : 0n]),
  )
  yield* ownEvents({ ...options, topic, from, signal })
}
