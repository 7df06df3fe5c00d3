import type { EventLog } from '../../infra/ports/event-log.ts'
import type { AccountBook } from '../../schemas/account-book.ts'
import type { DayNumber } from '../../schemas/eth/time.ts'
import { END_OF_DAYS, NOBODY } from '../../schemas/ownership.ts'
import { KEYS_PER_CHANGE_MAX, type SettlementChange } from '../../schemas/settlement-change.ts'
import { identifiedOn } from './identified.ts'
import type { KeysOfChain } from './ownership-rules.ts'
import type { Concerned } from './settlement-guard.ts'

/** The accounts that lose or gain days. */
export function concernedOwners({ day, from, to }: OwnerChange): readonly Concerned[] {
  return [from, to].filter((account) => account !== NOBODY).map((account) => ({ account, fromDay: day }))
}

interface OwnerChange {
  readonly day: DayNumber
  readonly from: string
  readonly to: string
}

/**
 * What a fact about owners would change of what was settled: each key up to the next fact about it. Of keys that the log does not
 * know from the registry nothing was.
 */
export async function ownerChanges(
  book: AccountBook,
  { eventLog, signal }: { readonly eventLog: EventLog; readonly signal: AbortSignal },
  { chain, pubkeys }: KeysOfChain,
  { day, from, to }: OwnerChange,
): Promise<readonly SettlementChange[]> {
  const known = await identifiedOn(eventLog, chain, signal)
  const settled = pubkeys.filter((pubkey) => known.has(pubkey))
  const byEnd = Map.groupBy(settled, (pubkey) => book.ownership.nextPoint(chain, pubkey, day)?.fromDay ?? END_OF_DAYS)
  const rates = book.ratesInForce(to).map(({ effectiveFromSec, rate }) => ({ fromSec: effectiveFromSec, rate }))
  return [...byEnd].flatMap(([toDay, keys]) =>
    Array.from({ length: Math.ceil(keys.length / KEYS_PER_CHANGE_MAX) }, (_, part) => ({
      kind: 'owner' as const,
      chain,
      pubkeys: keys.slice(part * KEYS_PER_CHANGE_MAX, (part + 1) * KEYS_PER_CHANGE_MAX),
      fromDay: day,
      toDay,
      from,
      to,
      rates,
    })),
  )
}
