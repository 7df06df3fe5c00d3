import { beforeAll, describe, expect, it } from 'vitest'
import { expectedDays } from '../../api/rewards/account-days.ts'
import { completenessOfSettled } from '../../api/rewards/settled-completeness.ts'
import { findDayGaps } from '../../processors/verify/day-gaps.ts'
import { countDays, proveDays } from '../../processors/verify/prove-days.ts'
import { proveEpochs } from '../../processors/verify/prove-epochs.ts'
import { proveSettlements } from '../../processors/verify/prove-settlements.ts'
import { PROVE_ALL } from '../../processors/verify/proving.ts'
import { parseDay } from '../../schemas/eth/time.ts'
import type { Topic } from '../../schemas/events/codec.ts'
import { epochOfEvent, withoutExecutionBlocks } from '../unit/changed-events.ts'
import {
  chain,
  finalized,
  type Row,
  rebuiltTablesOfFile,
  SLOTS_PER_EPOCH,
  trackedFrom,
  withEpochs,
} from '../unit/rebuilt-tables.ts'

const TEST_MS = 60_000
const { warehouse, rebuilt, whole, wholeRows, look, totals } = rebuiltTablesOfFile()
/** The whole rows of the whole chain. */
let truth: readonly Row[]

beforeAll(async () => {
  await whole()
  truth = await wholeRows()
}, TEST_MS)

const wholeDays = async () => {
  const { scope, horizon } = await look()
  const [first, last] = [chain.wholeDays[0], chain.wholeDays.at(-1)].map((day) => parseDay(day ?? '') ?? 0)
  const days = await expectedDays({ ...scope, warehouse: scope.shared }, horizon, {
    from: first as number,
    to: (last as number) + 1,
  })
  return days.filter(({ validators }) => validators > 0)
}

describe('validators that are tracked late', () => {
  const late = [0, 0, 7, 12, 0] // validator 2 with the epoch of its top-up

  it('have whole days where they were followed, a visible gap before, and equal figures', {
    timeout: TEST_MS,
  }, async () => {
    await rebuilt(withEpochs(trackedFrom(late)), 'late')
    const whole = await wholeRows()
    for (const row of whole) expect(truth).toContainEqual(row)
    for (const proof of (await Array.fromAsync(proveDays(warehouse()))).flat()) {
      expect(proof).toMatchObject({ residual: '0', stored_agrees: 1 })
    }
    const missingOf = (day: string) => 5 - whole.filter((row) => row.day === day).length
    const gaps = await findDayGaps(warehouse())
    expect(gaps.map(({ day, validators_missing }) => [day, Number(validators_missing)])).toEqual(
      chain.wholeDays.filter((day) => missingOf(day) > 0).map((day) => [day, missingOf(day)]),
    )
    expect(gaps.length).toBeGreaterThan(0)
    expect((await wholeDays()).map(({ date, validators, missing }) => [date, validators, missing])).toEqual(
      chain.wholeDays.map((day) => [day, 5 - missingOf(day), missingOf(day)]),
    )
  })

  it('keep in the totals what is known of the day in which they were tracked, when it is closed', {
    timeout: TEST_MS,
  }, async () => {
    await rebuilt(withEpochs(trackedFrom(late)), 'late')
    const { missing, openDays: _, ...closed } = await totals()
    // The day in which the log begins and the first whole one lack both that were tracked late, the second one of them.
    expect([...missing.values()]).toEqual([2, 2, 1])
    await warehouse().command('TRUNCATE TABLE closed_days')
    // Of an open day it has each epoch, and lacks the balance that the day begins with alone.
    const { openDays, ...open } = await totals()
    expect(open).toEqual({ ...closed, missing: new Map([...missing].slice(0, 2)) })
    expect(openDays.get(0)).toHaveLength(4)
  })

  it('are counted among those whose settlements of the day in which the log begins are asked for, and no others', {
    timeout: TEST_MS,
  }, async () => {
    await rebuilt(withEpochs(trackedFrom(late)), 'late')
    const { scope, horizon } = await look()
    const from = (parseDay(chain.wholeDays[0] ?? '') ?? 0) - 1
    const lackingOf = async (indices: readonly number[]) => {
      const asked = { days: { from, to: from + 1 }, indices }
      const { incomplete } = await completenessOfSettled({ ...scope, warehouse: scope.shared }, horizon, asked)
      return incomplete.map(({ validators_missing }) => validators_missing)
    }
    expect(await lackingOf([])).toEqual([2])
    expect(await lackingOf([0, 2])).toEqual([1])
    expect(await lackingOf([2, 3, 4])).toEqual([2])
    expect(await lackingOf([0, 1])).toEqual([])
  })

  it('have whole days once the past was backfilled', { timeout: TEST_MS }, async () => {
    const backfill = finalized((event) => event).slice(0, -6)
    await rebuilt(withEpochs([...trackedFrom(late), ...backfill]))
    expect(await wholeRows()).toEqual(truth)
    expect(await findDayGaps(warehouse())).toEqual([])
  })

  it('do not fail the proof when only a day before was backfilled', { timeout: TEST_MS }, async () => {
    const [day = ''] = chain.wholeDays
    const [, next = ''] = chain.wholeDays
    // The second whole day begins with slot 47: tracked within it, and the day before backfilled.
    const since = [0, 0, 0, 13, 0]
    const backfill = finalized((event) => event).filter((event) => {
      const epoch = epochOfEvent(event, SLOTS_PER_EPOCH)
      return epoch >= 5 && epoch <= 11
    })
    await rebuilt(withEpochs([...trackedFrom(since), ...backfill]))
    const own = (await wholeRows()).filter(({ validator_index }) => validator_index === 3).map((row) => row.day)
    expect(own).toContain(day)
    expect(own).not.toContain(next)
    for (const proof of (await Array.fromAsync(proveDays(warehouse()))).flat()) {
      expect(proof).toMatchObject({ residual: '0', stored_agrees: 1 })
    }
    expect(await findDayGaps(warehouse())).toMatchObject([{ day: next, closed: 1, validators_missing: '1' }])
  })
})

describe('closing and proving days', () => {
  it('closes days before the merge, whose blocks have no execution block', { timeout: TEST_MS }, async () => {
    const events = new Map([...withEpochs(finalized(withoutExecutionBlocks)), ['execution.blocks' as Topic, []]])
    await rebuilt(events)
    const rows = await wholeRows()
    expect([...new Set(rows.map(({ day }) => day))]).toEqual(chain.wholeDays)
    expect(rows.some(({ blocks }) => Number(blocks) > 0)).toBe(true)
    expect(await proveSettlements(warehouse())).toEqual({ checked: 0, wrong: 0, examples: [] })
  })

  it('has nothing to say of the first epoch of a log that begins with epoch 1', { timeout: TEST_MS }, async () => {
    const late = (chain.events.get('beacon.epochs') ?? []).filter((e) => epochOfEvent(e, SLOTS_PER_EPOCH) >= 1)
    await rebuilt(withEpochs(late))
    expect(await proveEpochs(warehouse())).toMatchObject({ unexplained: 0 })
  })

  it('sees a row that is missing, a revenue that is wrong, a day that is open between closed ones', {
    timeout: TEST_MS,
  }, async () => {
    await whole()
    const [first, second, third] = chain.wholeDays
    await warehouse().command(
      `ALTER TABLE daily_rewards DELETE WHERE day = '${first}' AND validator_index = 3 SETTINGS mutations_sync = 1`,
    )
    await warehouse().command(`INSERT INTO daily_rewards SELECT * REPLACE (el_reward_wei + 1 AS el_reward_wei, version + 1 AS version)
      FROM daily_rewards FINAL WHERE day = '${third}' AND validator_index = 1`)
    await warehouse().command(`ALTER TABLE closed_days DELETE WHERE day = '${second}' SETTINGS mutations_sync = 1`)
    const wrong = (await Array.fromAsync(proveDays(warehouse())))
      .flat()
      .filter(({ stored_agrees }) => stored_agrees !== 1)
    expect(wrong.map(({ day, validator_index }) => [day, validator_index])).toEqual([
      [first, 3],
      [third, 1],
    ])
    const counts = async (quiet: boolean) => {
      const some = await Array.fromAsync(countDays(warehouse(), PROVE_ALL, quiet))
      const sum = (of: 'checked' | 'wrong') => some.reduce((all, one) => all + one[of], 0)
      return { checked: sum('checked'), wrong: sum('wrong'), told: some.flatMap(({ told }) => told) }
    }
    const [counted, toldAll] = [await counts(true), await counts(false)]
    expect(counted).toEqual({ checked: toldAll.told.length, wrong: 2, told: wrong })
    expect(toldAll).toMatchObject({ checked: counted.checked, wrong: 2 })
    expect(await findDayGaps(warehouse())).toMatchObject([
      { day: first, closed: 1, validators_missing: '1' },
      { day: second, closed: 0, epochs: expect.stringMatching(/^[1-9]/) },
    ])
  })
})
