import type { ChainClock } from '../../schemas/eth/time.ts'
import { isExpired, type UnfundedRules } from '../../schemas/validator-lifecycle.ts'
import type { CreatedKeys, CreatedSet } from './created-keys.ts'

/** How many keys may wait for their deposits, of one kind of asker. */
export interface KeyLimits {
  readonly perAddress: number
  /** Below that of an address: nobody can use up alone what somebody else's address may have. */
  readonly perClient: number
}

export const QUOTED_KEYS_MAX: KeyLimits = { perAddress: 400, perClient: 200 }

/** Keys that are funded: as far as it is known, and reading on what is. */
export interface FundedKeys {
  has(chain: string, pubkey: string): boolean
  readOn(): Promise<void>
  /** Remembers keys whose own deposits somebody has seen on the chain. */
  addSeen(chain: string, pubkeys: readonly string[]): void
}

/** Who asks for keys. */
export interface KeyAsker {
  readonly chain: string
  readonly account: string
  /** Names the question. */
  readonly requestId: string
  readonly address: string
  readonly client: string
  readonly count: number
}

/** Where the chain is. */
export interface ChainNow {
  readonly clock: ChainClock
  readonly slot: number
}

/** What a question has of the limits: disposed of when its keys are in the log, or will not be made. */
export interface Place extends Disposable {
  /** The sentence for whoever asks, where there is none. */
  readonly refusal: string | undefined
}

/** Keys of one question that wait for their deposits. */
interface Waiting {
  readonly address: string
  readonly count: number
}

export interface QuotedKeysOptions {
  readonly created: CreatedKeys
  readonly funded: FundedKeys
  /** How long keys wait, and how many of the account may in all. */
  readonly rules: UnfundedRules
  readonly limits?: KeyLimits
}

/**
 * Holds addresses, clients and all together to the number of keys that may wait for their deposits. What an address and all have is in the
 * log; which client asked for which is in memory alone, and forgotten with the process.
 */
export class QuotedKeys {
  readonly #options: QuotedKeysOptions
  /** Questions that keys are being made for, by their names. */
  readonly #making = new Map<string, Waiting>()
  /** Names of the questions of each client whose keys wait, as far as it was looked. */
  readonly #asked = new Map<string, Set<string>>()

  constructor(options: QuotedKeysOptions) {
    this.#options = options
  }

  /** Whether any of the keys is funded, as far as the log and who has seen deposits tell now. */
  async areFunded(chain: string, pubkeys: readonly string[]): Promise<boolean> {
    const { funded } = this.#options
    await funded.readOn()
    return pubkeys.some((pubkey) => funded.has(chain, pubkey))
  }

  /** Keys whose own deposits are on the chain wait no longer, long before the registry knows them. */
  addFunded(chain: string, pubkeys: readonly string[]): void {
    this.#options.funded.addSeen(chain, pubkeys)
  }

  async take(asker: KeyAsker, now: ChainNow): Promise<Place> {
    const first = this.#tryToTake(asker, now)
    if (first.refusal === undefined) return first
    // Some may have been funded since it was last looked.
    await this.#options.funded.readOn()
    return this.#tryToTake(asker, now)
  }

  /** Without an await between the look and the taking. */
  #tryToTake(asker: KeyAsker, now: ChainNow): Place {
    const { requestId, client, address, count } = asker
    const refusal = this.#refusalOf(asker, this.#waiting(asker, now))
    if (refusal !== undefined) return { refusal, [Symbol.dispose]: () => {} }
    this.#making.set(requestId, { address, count })
    this.#asked.set(client, (this.#asked.get(client) ?? new Set()).add(requestId))
    return { refusal, [Symbol.dispose]: () => void this.#making.delete(requestId) }
  }

  /** By the names of the questions; the one that is asked is not among them. */
  #waiting({ chain, account, requestId }: KeyAsker, { clock, slot }: ChainNow): ReadonlyMap<string, Waiting> {
    const { created, funded, rules } = this.#options
    const isOpen = ({ createdAt, createdAtSlot }: CreatedSet) =>
      !isExpired(
        clock,
        { createdAtSec: Date.parse(createdAt) / 1_000, createdAtSlot },
        { atSlot: slot, expiryEpochs: rules.expiryEpochs },
      )
    const waiting = new Map(this.#making)
    for (const set of created.ofAccount(chain, account).filter(isOpen)) {
      const count = set.pubkeys.filter((pubkey) => !funded.has(chain, pubkey)).length
      if (count > 0) waiting.set(set.requestId, { address: set.depositFrom, count })
    }
    waiting.delete(requestId)
    return waiting
  }

  #refusalOf({ address, client, count }: KeyAsker, waiting: ReadonlyMap<string, Waiting>): string | undefined {
    const { rules, limits = QUOTED_KEYS_MAX } = this.#options
    this.#forget(waiting)
    const all = [...waiting.values()]
    const ofAddress = all.filter((some) => some.address === address)
    const ofClient = [...(this.#asked.get(client) ?? [])].flatMap((name) => waiting.get(name) ?? [])
    const tooMany = (of: string, max: number) => `validators that ${of} and wait for their deposits are ${max} at most`
    if (sumOf(ofAddress) + count > limits.perAddress) return tooMany('are of one address', limits.perAddress)
    if (sumOf(ofClient) + count > limits.perClient) return tooMany('one client has asked for', limits.perClient)
    return sumOf(all) + count > rules.unfundedMax ? tooMany('are prepared', rules.unfundedMax) : undefined
  }

  /** Which client asked for what waits no longer. */
  #forget(waiting: ReadonlyMap<string, Waiting>): void {
    for (const [client, names] of this.#asked) {
      for (const name of names) if (!waiting.has(name)) names.delete(name)
      if (names.size === 0) this.#asked.delete(client)
    }
  }
}

function sumOf(some: readonly Waiting[]): number {
  return some.reduce((sum, { count }) => sum + count, 0)
}
