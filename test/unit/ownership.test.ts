import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDay } from '../../schemas/eth/time.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { END_OF_DAYS, FIRST_DAY, Ownership, type OwnershipFact, ownershipFact } from '../../schemas/ownership.ts'
import { tracked, trackedBefore, untracked, unwatched, watched } from './account-facts.ts'

const KEY = `0x${'ab'.repeat(48)}`
const OTHER_KEY = `0x${'cd'.repeat(48)}`
const day = (text: string): number => parseDay(text) as number

function ownershipOf(...events: readonly EncodedEvent[]): Ownership {
  const ownership = new Ownership()
  for (const event of events) {
    const fact = ownershipFact(event)
    if (fact !== undefined) ownership.add(fact)
  }
  return ownership
}

describe('the owner of a validator', () => {
  it('is the account of the last point up to a day, whatever order the days were named in', () => {
    const ownership = ownershipOf(
      tracked('b', [KEY], '2026-03-01'),
      tracked('a', [KEY]),
      untracked([KEY], '2026-05-01'),
    )
    const owners = ['1970-01-01', '2026-02-28', '2026-03-01', '2026-04-30', '2026-05-01', '2100-01-01']
    expect(owners.map((text) => ownership.ownerOn('mainnet', KEY, day(text)))).toEqual([
      'a',
      'a',
      'b',
      'b',
      undefined,
      undefined,
    ])
    expect(ownership.ownersOf('mainnet', KEY)).toEqual([
      { account: 'a', fromDay: FIRST_DAY, toDay: day('2026-03-01') },
      { account: 'b', fromDay: day('2026-03-01'), toDay: day('2026-05-01') },
    ])
    expect(ownership.nextPoint('mainnet', KEY, FIRST_DAY)).toEqual({ account: 'b', fromDay: day('2026-03-01') })
    expect(ownership.nextPoint('mainnet', KEY, day('2026-05-01'))).toBe(undefined)
    expect(ownership.ownersOf('hoodi', KEY)).toEqual([])
  })

  it('of a day about which there are several facts is told by the newest', () => {
    const ownership = ownershipOf(tracked('a', [KEY], '2026-03-01'), tracked('b', [KEY], '2026-03-01'))
    expect(ownership.ownersOf('mainnet', KEY)).toMatchObject([{ account: 'b' }])
  })

  it('was decided by nobody where a log of an earlier release paid several accounts, until a fact says', () => {
    const before = [trackedBefore('a', [KEY, OTHER_KEY]), trackedBefore('b', [KEY]), trackedBefore('b', [KEY])]
    const ownership = ownershipOf(...before)
    expect(ownership.ownerOn('mainnet', KEY, FIRST_DAY)).toBe('b')
    expect(ownership.undecided()).toEqual([{ chain: 'mainnet', pubkey: KEY, accounts: ['a', 'b'] }])
    expect(ownershipOf(...before, tracked('a', [KEY], '2026-03-01')).undecided()).toEqual([])
  })

  it('sees its own days, a watcher all of them, and nobody else any', () => {
    const ownership = ownershipOf(
      tracked('a', [KEY]),
      tracked('b', [KEY], '2026-03-01'),
      watched('c', [KEY]),
      watched('d', [KEY]),
      unwatched('d', [KEY]),
    )
    const seen = (account: string) => ownership.seenBy(account, 'mainnet').get(KEY)
    expect(seen('a')).toMatchObject([{ fromDay: FIRST_DAY, toDay: day('2026-03-01') }])
    expect(seen('b')).toMatchObject([{ fromDay: day('2026-03-01'), toDay: END_OF_DAYS }])
    expect(seen('c')).toMatchObject([{ fromDay: FIRST_DAY, toDay: END_OF_DAYS }])
    expect([seen('d'), seen('nobody')]).toEqual([undefined, undefined])
    expect(ownership.ownersOf('mainnet', KEY).map(({ account }) => account)).toEqual(['a', 'b'])
  })

  it('is one on every day, and of each day the newest fact about it or the last day before counts', () => {
    const points = fc.array(
      fc.record({ fromDay: fc.integer({ min: 0, max: 12 }), account: fc.constantFrom('', 'a', 'b', 'c') }),
      { maxLength: 12 },
    )
    fc.assert(
      fc.property(points, (some) => {
        const ownership = new Ownership()
        for (const point of some) {
          const fact: OwnershipFact = { kind: 'owner', chain: 'mainnet', pubkeys: [KEY], point, isUndecided: false }
          ownership.add(fact)
        }
        const owned = ownership.ownersOf('mainnet', KEY)
        for (let at = 0; at <= 13; at++) {
          const covering = owned.filter(({ fromDay, toDay }) => fromDay <= at && at < toDay)
          expect(covering.length).toBeLessThanOrEqual(1)
          const last = Math.max(...some.filter(({ fromDay }) => fromDay <= at).map(({ fromDay }) => fromDay))
          const newest = some.findLast(({ fromDay }) => fromDay === last)
          expect(covering[0]?.account ?? '').toBe(newest?.account ?? '')
        }
      }),
    )
  })
})
