import { getValidatorStatus } from '@lodestar/types'
import { AppError } from '../../schemas/errors.ts'
import { type Hex, hexOf } from '../../schemas/eth/hex.ts'
import { type ChainClock, epochOf, slotAt, slotTimeSec } from '../../schemas/eth/time.ts'
import type { History } from './consensus/history.ts'
import type { SlotRunner } from './slot-runner.ts'
import type { TimeShift } from './time-shift.ts'

/** Where time-lapse leads to: some epochs on, or until a validator has a status of the Beacon API, in so many epochs at most. */
export type Destination =
  | { readonly epochs: number }
  | { readonly pubkey: Hex; readonly status: string; readonly epochsMax: number }

/** How far a journey is. */
export interface Leg {
  /** Where it began. */
  readonly fromSlot: number
  readonly slot: number
  /** Where it ends at the latest. */
  readonly targetSlot: number
}

export interface Journey {
  readonly fromSlot: number
  readonly slot: number
  /** False when the validator has not got its status in the epochs that were allowed, and when it was stopped before. */
  readonly isThere: boolean
  /** Whole epochs of those that it was to be led through; fewer than these where the devnet was stopped, or a validator was there before. */
  readonly epochs: number
  /** Whether the devnet was stopped before it was there. */
  readonly isStopped: boolean
}

interface Parts {
  readonly runner: SlotRunner
  readonly history: History
  readonly clock: ChainClock
  readonly shift: TimeShift
  /** Unix seconds on the chain. */
  readonly now: () => number
}

/** A chain that follows the clock, led through slots that are still to come: it makes them as fast as it can, as it does with its past. */
export class TimeLapse {
  readonly #parts: Parts
  #targetSlot = -1
  #isLed = false

  constructor(parts: Parts) {
    this.#parts = parts
    this.#keepUp() // what was made when the process died, and is ahead of the clock that it has left
  }

  /** The slot that the chain is on its way to: by the clock, or by who leads it beyond. */
  get targetSlot(): number {
    return Math.max(this.#targetSlot, slotAt(this.#parts.clock, this.#parts.now()))
  }

  /**
   * The clock follows the chain, and goes on from there; ends early, where it is, when the devnet is stopped. Throws AppError `usage`
   * while somebody else leads it.
   */
  async lead(to: Destination, onSlot: (leg: Leg) => void): Promise<Journey> {
    if (this.#isLed) throw new AppError('usage', 'The devnet is in time-lapse already: wait until it is there.')
    this.#isLed = true
    try {
      await this.#parts.runner.advanceTo(this.targetSlot) // of a history that is still being made
      return await this.#lead(to, onSlot)
    } finally {
      this.#isLed = false
    }
  }

  async #lead(to: Destination, onSlot: (leg: Leg) => void): Promise<Journey> {
    const { runner, history, clock } = this.#parts
    const fromSlot = history.headSlot
    const epochs = 'epochs' in to ? to.epochs : to.epochsMax
    const targetSlot = fromSlot + epochs * clock.slotsPerEpoch
    this.#targetSlot = targetSlot
    const isThere = () => ('epochs' in to ? history.headSlot >= targetSlot : hasStatus(this.#parts, to))
    const isEnough = (slot: number) => {
      if (slot % clock.slotsPerEpoch === 0) this.#keepUp()
      onSlot({ fromSlot, slot, targetSlot })
      return !('epochs' in to) && isThere()
    }
    try {
      await runner.advanceTo(targetSlot, isEnough)
    } finally {
      this.#targetSlot = -1
      this.#keepUp()
    }
    const reached = history.headSlot
    const isStopped = reached < targetSlot && !isThere()
    await runner.advanceTo(this.targetSlot) // of the epoch that the clock is in now
    return {
      fromSlot,
      slot: history.headSlot,
      isThere: isThere(),
      epochs: Math.floor((reached - fromSlot) / clock.slotsPerEpoch),
      isStopped,
    }
  }

  #keepUp(): void {
    const { shift, clock, history, now } = this.#parts
    shift.advance(slotTimeSec(clock, history.headSlot) - now())
  }
}

function hasStatus(
  { history, clock }: Parts,
  { pubkey, status }: { readonly pubkey: Hex; readonly status: string },
): boolean {
  const { registry, slot } = history.head
  const validator = registry.findLast((each) => hexOf(each.pubkey) === pubkey)
  return validator !== undefined && getValidatorStatus(validator, epochOf(clock, slot)) === status
}
