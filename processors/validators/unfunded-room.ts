import type { ChainClock } from '../../schemas/eth/time.ts'
import type { CreateValidatorsInput } from '../../schemas/jobs/create-validators.ts'
import { isExpired, tooManyUnfunded, type UnfundedRules } from '../../schemas/validator-lifecycle.ts'
import type { CreatedSet } from './created-keys.ts'
import type { StakingBook } from './staking-book.ts'

type Request = Pick<CreateValidatorsInput, 'chain' | 'account' | 'requestId' | 'count'>

export interface UnfundedRoomOptions {
  readonly book: StakingBook
  readonly rules: UnfundedRules
  /** Keys that are funded: as far as it is known, and reading on what is. */
  readonly funded: { has(chain: string, pubkey: string): boolean; readOn(): Promise<void> }
}

/** The chain at the moment: its clock, and the slot that it is at. */
interface ChainNow {
  readonly clock: ChainClock
  readonly atSlot: number
}

/** What a request has of the room: disposed of when its validators are in the book, or will not be made. */
export interface Room extends Disposable {
  /** The sentence for who has asked, where there is no room for it. */
  readonly refusal: string | undefined
}

/**
 * Holds each account to the number of unfunded validators that it may have on a chain. What is being made counts before the log hears of
 * it, so of requests side by side no two take the last place.
 */
export class UnfundedRoom {
  readonly #options: UnfundedRoomOptions
  /** Requests that validators are being made for, by name: the same request twice is one. */
  readonly #making = new Map<string, Request & { holders: number }>()

  constructor(options: UnfundedRoomOptions) {
    this.#options = options
  }

  async take(request: Request, now: ChainNow): Promise<Room> {
    const first = this.#tryToTake(request, now)
    if (first.refusal === undefined) return first
    // Some may have been funded since it was last looked.
    await this.#options.funded.readOn()
    return this.#tryToTake(request, now)
  }

  /** Without an await between the look and the taking. */
  #tryToTake(request: Request, now: ChainNow): Room {
    const name = `${request.account}/${request.requestId}`
    const known = this.#making.get(name)
    const others = [...this.#making.values()].filter((one) => one !== known && isOfSame(one, request))
    const making = others.reduce((sum, { count }) => sum + count, 0)
    const reason = tooManyUnfunded(this.#waiting(request, now) + making, request.count, this.#options.rules)
    if (reason !== undefined) return { refusal: reason, [Symbol.dispose]: () => {} }
    const held = known ?? { ...request, holders: 0 }
    held.holders++
    this.#making.set(name, held)
    return {
      refusal: undefined,
      [Symbol.dispose]: () => {
        if (--held.holders === 0) this.#making.delete(name)
      },
    }
  }

  /** Those of the account that neither are funded nor expired. */
  #waiting({ chain, account }: Request, { clock, atSlot }: ChainNow): number {
    const { book, funded, rules } = this.#options
    const isOpen = ({ createdAt, createdAtSlot }: CreatedSet) =>
      !isExpired(
        clock,
        { createdAtSec: Date.parse(createdAt) / 1_000, createdAtSlot },
        { atSlot, expiryEpochs: rules.expiryEpochs },
      )
    const open = book.created.ofAccount(chain, account).filter(isOpen)
    return open.reduce((sum, { pubkeys }) => sum + pubkeys.filter((pubkey) => !funded.has(chain, pubkey)).length, 0)
  }
}

function isOfSame(one: Request, other: Request): boolean {
  return one.chain === other.chain && one.account === other.account
}
