import { AppError } from '../../schemas/errors.ts'
import { type DayNumber, formatDay } from '../../schemas/eth/time.ts'
import { END_OF_DAYS, FIRST_DAY, type Owned, type Ownership } from '../../schemas/ownership.ts'

/** Public keys of one chain, lower-case, each once. */
export interface KeysOfChain {
  readonly chain: string
  readonly pubkeys: readonly string[]
}

interface AccountDay {
  readonly account: string
  readonly day: DayNumber
}

/** Keys that one sentence names; the rest is counted. */
const NAMED_MAX = 3

/**
 * The keys that the account comes to own for all of history: those that no fact has named yet. Those that it owns so already are
 * left out. Throws AppError `usage` for keys with days of their own: whose they are from now on needs a day.
 */
export function trackedAnew(ownership: Ownership, { chain, pubkeys }: KeysOfChain, account: string): readonly string[] {
  const isForEver = ([first, second]: readonly Owned[]): boolean =>
    second === undefined && first?.account === account && first.fromDay === FIRST_DAY && first.toDay === END_OF_DAYS
  const fresh = pubkeys.filter((pubkey) => !isForEver(ownership.ownersOf(chain, pubkey)))
  refuseWhere(fresh, (pubkey) => {
    const owned = ownership.ownersOf(chain, pubkey)
    if (owned.length > 0) {
      return `is tracked for ${owned.map(formatOwned).join(', ')}: say from which day on it is ${account}'s (track --at, move --at), or only --watch it`
    }
    // A fact that made it nobody's.
    return ownership.nextPoint(chain, pubkey, FIRST_DAY - 1) === undefined
      ? undefined
      : `was untracked: say from which day on it is ${account}'s (track --at)`
  })
  return fresh
}

/**
 * The keys that the account comes to own from a day on; those that it owns on that day already are left out, unless nobody has
 * decided on them yet. Throws AppError `usage` where another account has it on that day.
 */
export function takeDay(
  ownership: Ownership,
  { chain, pubkeys }: KeysOfChain,
  { account, day }: AccountDay,
): readonly string[] {
  refuseWhere(pubkeys, (pubkey) => {
    const owned = ownedOn(ownership, chain, pubkey, day)
    if (owned === undefined || owned.account === account) return undefined
    return (
      `is tracked for ${formatOwned(owned)}: ` +
      `move it (admin validators move --from ${owned.account} --to ${account} --at ${formatDay(day)}), or only --watch it`
    )
  })
  return pubkeys.filter(
    (pubkey) => ownership.ownerOn(chain, pubkey, day) !== account || ownership.isUndecided(chain, pubkey),
  )
}

/** The keys as they are, if the account owns all of them on the day. Throws AppError `usage` otherwise. */
export function giveUpDay(ownership: Ownership, of: KeysOfChain, { account, day }: AccountDay): KeysOfChain {
  refuseWhere(of.pubkeys, (pubkey) => {
    const owned = ownedOn(ownership, of.chain, pubkey, day)
    if (owned?.account === account) return undefined
    const on = `on ${formatDay(day)}`
    return owned === undefined
      ? `is nobody's ${on}`
      : `is not ${account}'s ${on}: it is tracked for ${formatOwned(owned)}`
  })
  return of
}

function ownedOn(ownership: Ownership, chain: string, pubkey: string, day: DayNumber): Owned | undefined {
  return ownership.ownersOf(chain, pubkey).find(({ fromDay, toDay }) => fromDay <= day && day < toDay)
}

function formatOwned({ account, fromDay, toDay }: Owned): string {
  const since = fromDay === FIRST_DAY ? '' : ` from ${formatDay(fromDay)} on`
  const until = toDay === END_OF_DAYS ? '' : ` until ${formatDay(toDay)}`
  return since === '' && until === '' ? `${account} since the start of all history` : `${account}${since}${until}`
}

function refuseWhere(pubkeys: readonly string[], reasonOf: (pubkey: string) => string | undefined): void {
  const reasons = pubkeys.flatMap((pubkey) => {
    const reason = reasonOf(pubkey)
    return reason === undefined ? [] : [`${pubkey} ${reason}.`]
  })
  if (reasons.length === 0) return
  const more = reasons.length > NAMED_MAX ? [`So it is with ${reasons.length - NAMED_MAX} more of them.`] : []
  throw new AppError('usage', [...reasons.slice(0, NAMED_MAX), ...more, 'Nothing was changed.'].join('\n'))
}
