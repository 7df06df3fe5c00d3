import { type DayNumber, parseDay } from './eth/time.ts'
import { validatorsTracked, validatorsUntracked, validatorsUnwatched, validatorsWatched } from './events/accounts.ts'
import { decodeEvent, type EncodedEvent } from './events/codec.ts'
import { validatorsCreated } from './events/created-validators.ts'

/** The account of a validator that is nobody's. */
export const NOBODY = ''
/** The first day that tables hold, 1970-01-01: the start of all history. */
export const FIRST_DAY: DayNumber = 0
/** The day behind the last one that tables hold (2149-06-06): an interval that ends with it has no end. */
export const END_OF_DAYS: DayNumber = 65_535

/** Days `[fromDay, toDay)` in UTC+8. */
export interface Interval {
  readonly fromDay: DayNumber
  readonly toDay: DayNumber
}

/** From a day on, until the next point of the same validator, it is the account's. */
export interface OwnerPoint {
  readonly fromDay: DayNumber
  readonly account: string
}

export interface Owned extends Interval {
  readonly account: string
}

/** What one event says of owners or of watchers; undefined for other events of the topic. */
export type OwnershipFact =
  | {
      readonly kind: 'owner'
      readonly chain: string
      readonly pubkeys: readonly string[]
      readonly point: OwnerPoint
      /** The event is of a release that knew no owners: each account that named a key was paid. */
      readonly isUndecided: boolean
    }
  | {
      readonly kind: 'watcher'
      readonly chain: string
      readonly pubkeys: readonly string[]
      readonly account: string
      readonly isWatching: boolean
    }

/** First version of `account.validators-tracked` that makes one account the owner. */
const DECIDED_SINCE_VERSION = 3

/** Throws AppError `undecodable` for an event that is not what its type says. */
export function ownershipFact(event: EncodedEvent, unnamedChain?: string): OwnershipFact | undefined {
  switch (event.type) {
    case validatorsTracked.name: {
      const { chain, account, pubkeys, from } = decodeEvent(validatorsTracked, event, unnamedChain)
      const point = { fromDay: storedDay(from), account }
      return { kind: 'owner', chain, pubkeys, point, isUndecided: event.version < DECIDED_SINCE_VERSION }
    }
    case validatorsUntracked.name: {
      const { chain, pubkeys, from } = decodeEvent(validatorsUntracked, event)
      return {
        kind: 'owner',
        chain,
        pubkeys,
        point: { fromDay: storedDay(from), account: NOBODY },
        isUndecided: false,
      }
    }
    case validatorsCreated.name: {
      const { chain, account, pubkeys } = decodeEvent(validatorsCreated, event)
      return { kind: 'owner', chain, pubkeys, point: { fromDay: FIRST_DAY, account }, isUndecided: false }
    }
    case validatorsWatched.name:
      return { kind: 'watcher', ...decodeEvent(validatorsWatched, event), isWatching: true }
    case validatorsUnwatched.name:
      return { kind: 'watcher', ...decodeEvent(validatorsUnwatched, event), isWatching: false }
    default:
      return undefined
  }
}

/**
 * The day of a fact as tables hold it, the start of all history where it names none. So it is for a text that is no calendar date: no
 * command writes one.
 */
export function storedDay(text: string | undefined): DayNumber {
  const day = text === undefined ? undefined : parseDay(text)
  return Math.min(Math.max(day ?? FIRST_DAY, FIRST_DAY), END_OF_DAYS - 1)
}

interface OfValidator {
  /** By day, ascending; one of each day. */
  points: readonly OwnerPoint[]
  readonly watchers: Set<string>
  /** Accounts that named the key in a release that paid each of them, until a later fact has decided. */
  undecided: ReadonlySet<string>
}

const NOBODYS: OfValidator = { points: [], watchers: new Set(), undecided: new Set() }

/**
 * Who has which validator when. Facts of one log in its order make it; of a validator at most one account is the owner on any
 * day, since the owner of a day is the account of the last point up to it.
 */
export class Ownership {
  readonly #byChain = new Map<string, Map<string, OfValidator>>()
  /** Keys that an account has or had, or watches; by chain. */
  readonly #byAccount = new Map<string, Map<string, Set<string>>>()

  /** Facts have to come in the order of the log. */
  add(fact: OwnershipFact): void {
    const account = fact.kind === 'owner' ? fact.point.account : fact.account
    const own = account === NOBODY ? undefined : setIn(mapIn(this.#byAccount, account), fact.chain)
    const validators = mapIn(this.#byChain, fact.chain)
    for (const pubkey of fact.pubkeys) {
      own?.add(pubkey)
      const known = validators.get(pubkey) ?? { points: [], watchers: new Set(), undecided: new Set() }
      validators.set(pubkey, known)
      if (fact.kind === 'owner') {
        known.points = withPoint(known.points, fact.point)
        known.undecided = fact.isUndecided ? new Set([...known.undecided, account]) : new Set()
      } else if (fact.isWatching) known.watchers.add(account)
      else known.watchers.delete(account)
    }
  }

  /** Everybody's days with a validator, ascending; days of nobody are left out. */
  ownersOf(chain: string, pubkey: string): readonly Owned[] {
    const { points } = this.#of(chain, pubkey)
    return points.flatMap(({ fromDay, account }, at) => {
      const toDay = points[at + 1]?.fromDay ?? END_OF_DAYS
      return account === NOBODY ? [] : [{ account, fromDay, toDay }]
    })
  }

  /** The account that is paid for a validator on a day; undefined for nobody. */
  ownerOn(chain: string, pubkey: string, day: DayNumber): string | undefined {
    const owned = this.ownersOf(chain, pubkey).find(({ fromDay, toDay }) => fromDay <= day && day < toDay)
    return owned?.account
  }

  /** The next thing that was said of a validator behind a day: what is said of that day reaches up to it. */
  nextPoint(chain: string, pubkey: string, day: DayNumber): OwnerPoint | undefined {
    return this.#of(chain, pubkey).points.find(({ fromDay }) => fromDay > day)
  }

  isWatching(account: string, chain: string, pubkey: string): boolean {
    return this.#of(chain, pubkey).watchers.has(account)
  }

  /** Validators of a chain that the account sees, with the days on which it sees them: all of them where it watches. */
  seenBy(account: string, chain: string): ReadonlyMap<string, readonly Interval[]> {
    const seen = new Map<string, readonly Interval[]>()
    for (const pubkey of this.#byAccount.get(account)?.get(chain) ?? []) {
      const intervals = this.isWatching(account, chain, pubkey)
        ? [{ fromDay: FIRST_DAY, toDay: END_OF_DAYS }]
        : this.ownersOf(chain, pubkey).filter((owned) => owned.account === account)
      if (intervals.length > 0) seen.set(pubkey, intervals)
    }
    return seen
  }

  /** Accounts that any fact has named. */
  accounts(): readonly string[] {
    return [...this.#byAccount.keys()]
  }

  /** Keys that the account has or had, or watches, by chain. */
  keysOf(account: string): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#byAccount.get(account) ?? new Map()
  }

  /** Whether several accounts named the key in a release that paid each of them, and no fact has decided since. */
  isUndecided(chain: string, pubkey: string): boolean {
    return this.#of(chain, pubkey).undecided.size > 1
  }

  /** Keys that several accounts named in a release that paid each of them, and that nobody has decided on since. */
  undecided(): readonly { readonly chain: string; readonly pubkey: string; readonly accounts: readonly string[] }[] {
    return [...this.#byChain].flatMap(([chain, validators]) =>
      [...validators].flatMap(([pubkey, { undecided }]) =>
        undecided.size > 1 ? [{ chain, pubkey, accounts: [...undecided] }] : [],
      ),
    )
  }

  #of(chain: string, pubkey: string): OfValidator {
    return this.#byChain.get(chain)?.get(pubkey) ?? NOBODYS
  }
}

function withPoint(points: readonly OwnerPoint[], point: OwnerPoint): readonly OwnerPoint[] {
  return [...points.filter(({ fromDay }) => fromDay !== point.fromDay), point].sort((a, b) => a.fromDay - b.fromDay)
}

function mapIn<Key, Inner, Value>(maps: Map<Key, Map<Inner, Value>>, key: Key): Map<Inner, Value> {
  const known = maps.get(key) ?? new Map<Inner, Value>()
  maps.set(key, known)
  return known
}

function setIn<Key, Value>(sets: Map<Key, Set<Value>>, key: Key): Set<Value> {
  const known = sets.get(key) ?? new Set<Value>()
  sets.set(key, known)
  return known
}
