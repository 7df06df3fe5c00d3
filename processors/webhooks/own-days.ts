import type { DayNumber } from '../../schemas/eth/time.ts'
import { FIRST_DAY, type Interval, type Ownership } from '../../schemas/ownership.ts'

/**
 * Days of a chain on which an account had a validator, as intervals that differ: many validators have the same. One that was created here
 * is its account's since ever, and counts from the day of its creation on (`createdOn`; undefined for one that was not).
 */
export function ownIntervals(
  ownership: Ownership,
  { account, chain }: { readonly account: string; readonly chain: string },
  createdOn: (pubkey: string) => DayNumber | undefined,
): readonly Interval[] {
  const intervals = new Map<string, Interval>()
  for (const pubkey of ownership.keysOf(account).get(chain) ?? [])
    for (const owned of ownership.ownersOf(chain, pubkey)) {
      if (owned.account !== account) continue
      const fromDay = Math.max(owned.fromDay, createdOn(pubkey) ?? FIRST_DAY)
      intervals.set(`${fromDay}:${owned.toDay}`, { fromDay, toDay: owned.toDay })
    }
  return [...intervals.values()]
}
