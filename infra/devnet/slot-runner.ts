import { setTimeout as sleep, setImmediate as yieldToServer } from 'node:timers/promises'

/** The chain gives way to the HTTP server at least this often. */
const YIELD_EVERY_MS = 10
const PROGRESS_EVERY_MS = 1_000

/** A chain that grows slot by slot. */
export interface SlotProducer {
  readonly headSlot: number
  /** The slot after the head slot. Those up to `aheadTo` will follow at once. One call at a time. */
  produceSlot(aheadTo: number): Promise<void>
}

export interface DevnetProgress {
  readonly slot: number
  readonly targetSlot: number
  readonly slotsPerSecond: number
}

/** Produces slots one after the other, and lets the server answer in between. */
export class SlotRunner {
  readonly #chain: SlotProducer
  readonly #signal: AbortSignal
  readonly #onProgress: ((progress: DevnetProgress) => void) | undefined
  #queue: Promise<void> = Promise.resolve()

  constructor(chain: SlotProducer, signal: AbortSignal, onProgress: ((progress: DevnetProgress) => void) | undefined) {
    this.#chain = chain
    this.#signal = signal
    this.#onProgress = onProgress
  }

  /**
   * Calls queue up: a slot is produced once. Ends early, without an error, when the signal aborts, or when `isEnough` says so of a slot
   * that was just made.
   */
  advanceTo(slot: number, isEnough: (slot: number) => boolean = () => false): Promise<void> {
    const run = this.#queue.then(() => this.#produceUntil(slot, isEnough))
    this.#queue = run.catch(() => {}) // the caller has the failure; the queue only keeps the order
    return run
  }

  /** Resolves when nothing is being produced. */
  idle(): Promise<void> {
    return this.#queue
  }

  async #produceUntil(targetSlot: number, isEnough: (slot: number) => boolean): Promise<void> {
    const chain = this.#chain
    let yieldedAt = performance.now()
    let reported = { at: yieldedAt, slot: chain.headSlot }
    const report = (now: number) => {
      const slot = chain.headSlot
      const slotsPerSecond = ((slot - reported.slot) * 1000) / Math.max(1, now - reported.at)
      reported = { at: now, slot }
      this.#onProgress?.({ slot, targetSlot, slotsPerSecond })
    }
    while (chain.headSlot < targetSlot && !this.#signal.aborted) {
      await chain.produceSlot(targetSlot)
      if (isEnough(chain.headSlot)) break
      const now = performance.now()
      if (now - reported.at >= PROGRESS_EVERY_MS) report(now)
      if (now - yieldedAt < YIELD_EVERY_MS) continue
      await yieldToServer()
      yieldedAt = performance.now()
    }
    report(performance.now())
  }
}

export interface Following {
  readonly runner: SlotRunner
  /** The slot that is current at an instant, in Unix seconds. */
  readonly slotAt: (unixSec: number) => number
  /** Unix seconds of a slot's start. */
  readonly slotTimeSec: (slot: number) => number
  /** Unix seconds. */
  readonly now: () => number
  readonly signal: AbortSignal
}

/** Catches up with the clock, then plays each slot when it begins, until the signal aborts. */
export async function followClock({ runner, slotAt, slotTimeSec, now, signal }: Following): Promise<void> {
  while (!signal.aborted) {
    const slot = slotAt(now())
    await runner.advanceTo(slot)
    const waitMs = Math.max(0, (slotTimeSec(slot + 1) - now()) * 1000)
    await sleep(waitMs, undefined, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
  }
}
