import type { EventLog, Offsets } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import { unlessUndecodable } from '../../schemas/events/codec.ts'
import { ownershipFact } from '../../schemas/ownership.ts'

export interface TrackedKeysOptions {
  readonly eventLog: EventLog
  readonly chain: string
  /** The chain of events from before events named theirs. */
  readonly unnamedChain: string
  readonly log: Log
}

/**
 * Public keys of a chain that the accounts track, have tracked or watch, or that were made for them: follows the `accounts` topic when it is
 * asked to.
 */
export class TrackedKeys {
  readonly #options: TrackedKeysOptions
  readonly #pubkeys = new Set<string>()
  /** Where the next account fact will lie. */
  readonly #next = new Map<number, bigint>()

  constructor(options: TrackedKeysOptions) {
    this.#options = options
  }

  /** Always the same set, which grows. */
  get pubkeys(): ReadonlySet<string> {
    return this.#pubkeys
  }

  /** Takes up what accounts have come to track since the last call; true when it was something. */
  async refresh(signal: AbortSignal): Promise<boolean> {
    const { eventLog, chain, unnamedChain, log } = this.#options
    const ends = await eventLog.ends('accounts')
    if (!this.#isBehind(ends)) return false
    const before = this.#pubkeys.size
    for await (const { position, event } of eventLog.read({ topic: 'accounts', from: this.#next, signal })) {
      this.#next.set(position.partition, position.offset + 1n)
      const fact = unlessUndecodable(
        () => ownershipFact(event, unnamedChain),
        (reason) => tellPassedOver({ chain, log }, event.id, reason),
      )
      if (fact?.chain === chain) for (const pubkey of fact.pubkeys) this.#pubkeys.add(pubkey)
    }
    // The end may lie behind the newest event by what a log writes for itself.
    for (const [partition, end] of ends) if (end > this.#nextOf(partition)) this.#next.set(partition, end)
    return this.#pubkeys.size !== before
  }

  #isBehind(ends: Offsets): boolean {
    return [...ends].some(([partition, end]) => end > this.#nextOf(partition))
  }

  #nextOf(partition: number): bigint {
    return this.#next.get(partition) ?? 0n
  }
}

export function tellPassedOver(
  { chain, log }: Pick<TrackedKeysOptions, 'chain' | 'log'>,
  event: string,
  reason: string,
): void {
  log.error({ chain, event, reason }, `the event ${event} cannot be read and is passed over: ${reason}`)
}
