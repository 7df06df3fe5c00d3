import type { BeaconChain, BeaconHead, BeaconSource } from '../../infra/ports/beacon-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { AppError } from '../../schemas/errors.ts'
import { epochOf } from '../../schemas/eth/time.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { type LookAtHead, watchHead } from '../beacon-head/watch-head.ts'
import type { ChainLog } from '../cursor.ts'
import { forkEpoch } from '../epochs/spec.ts'
import { TrackedKeys } from '../epochs/tracked-keys.ts'
import { type QueuesOfChain, queueRules, queuesEvent } from './queue-event.ts'

/** Between two reads: a chain in time-lapse makes several epochs a second, and a look at each would be most of the node's work. */
const READ_PAUSE_MS = 1_000

export interface FollowQueuesOptions extends ChainLog {
  readonly beacon: BeaconSource
  readonly log: Log
  readonly readPauseMs?: number
  /** Unix milliseconds. */
  readonly now?: () => number
  /** Wait before the first repetition after an outage. */
  readonly outageWaitMs?: number
}

/**
 * Tells once an epoch what waits at the head (`beacon.queues`), as soon as the head is in the epoch; epochs that have passed meanwhile are
 * left out, for only the newest counts. Keeps no place: a start tells the running epoch. Nodes that are away are waited for. Resolves
 * when the signal aborts; throws AppError `config` for a node of another chain than configured, `lease_lost` when another process writes.
 */
export async function followQueues(options: FollowQueuesOptions, signal: AbortSignal): Promise<void> {
  const what = `reading the queues of ${options.chain}`
  const open = (chain: BeaconChain): LookAtHead => {
    const reader = new QueueReader(options, chain)
    return (head, ending) => reader.readUpTo(head, ending)
  }
  await watchHead({ ...options, what, pauseMs: options.readPauseMs ?? READ_PAUSE_MS }, open, signal)
}

class QueueReader {
  readonly #options: FollowQueuesOptions
  readonly #chain: BeaconChain
  readonly #keys: TrackedKeys
  /** The epoch that was told last. */
  #toldEpoch: number

  constructor(options: FollowQueuesOptions, chain: BeaconChain) {
    this.#options = options
    this.#chain = chain
    this.#keys = new TrackedKeys(options)
    // Before Electra the state has no such queues.
    this.#toldEpoch = Math.max(0, forkEpoch(chain.spec, 'ELECTRA')) - 1
  }

  /** Tells the queues when the head is in an epoch that was not told; false when it is not. */
  async readUpTo(head: BeaconHead, signal: AbortSignal): Promise<boolean> {
    const { beacon, chain: name, writer } = this.#options
    const { clock, spec } = this.#chain
    if (epochOf(clock, head.slot) <= this.#toldEpoch) return false
    await this.#keys.refresh(signal)
    const own = this.#keys.pubkeys
    const queues = await beacon.queues([...own])
    this.#toldEpoch = epochOf(clock, queues.slot)
    const event = this.#encode({ chain: { name, clock }, rules: queueRules(spec), queues, own })
    if (event !== undefined) await writer.append('beacon.blocks', [event])
    return true
  }

  /** Undefined for a queue that is larger than any event: the estimates stay what they were, which is no reason to stop. */
  #encode(told: QueuesOfChain): EncodedEvent | undefined {
    try {
      return queuesEvent(told)
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'event_log')) throw error
      const { chain, log } = this.#options
      log.warn({ chain }, `the queues of ${chain} cannot be told, and estimates stay as they were: ${error.message}`)
      return undefined
    }
  }
}
