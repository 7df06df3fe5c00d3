import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Standings } from '../../api/http/standings.ts'
import { expectedDays } from '../../api/rewards/account-days.ts'
import { accountTotals } from '../../api/rewards/account-totals.ts'
import { completenessOf, completenessOfTotals } from '../../api/rewards/completeness.ts'
import { horizonOf } from '../../api/rewards/horizon.ts'
import { missingOf } from '../../api/rewards/shown-days.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { closedThrough } from '../../processors/rewards/closed-through.ts'
import { findDayGaps } from '../../processors/verify/day-gaps.ts'
import { proveDays } from '../../processors/verify/prove-days.ts'
import { verifyTables } from '../../processors/verify/verify.ts'
import { formatDay, parseDay } from '../../schemas/eth/time.ts'
import type { EncodedEvent, Topic } from '../../schemas/events/codec.ts'
import { tries } from '../long-form.ts'
import { epochOfEvent } from '../unit/changed-events.ts'
import { GIVEN_CHAIN, type GivenChain, givenChain } from '../unit/given-chain.ts'
import { processLog, readLog } from '../unit/processing.ts'
import { storesOfFile } from '../unit/warehouse-of-file.ts'

// The day in which a chain began: closed where epoch 0 tells the balances of the genesis state, and open in logs of before it did.

const TEST_MS = 120_000
const EPOCHS = 18
const SLOTS_PER_EPOCH = 4
const stores = storesOfFile()
const told = givenChain(EPOCHS, { tellsGenesis: true })
const earlier = givenChain(EPOCHS)
const [firstDay = '', secondDay = ''] = told.wholeDays
const FIRST = parseDay(firstDay) ?? 0

const epochsOf = ({ events }: GivenChain) => events.get('beacon.epochs') ?? []
const withEpochs = (epochs: readonly EncodedEvent[]): ReadonlyMap<Topic, readonly EncodedEvent[]> =>
  new Map([...told.events, ['beacon.epochs', epochs]])
const isOfGenesis = (event: EncodedEvent) => epochOfEvent(event, SLOTS_PER_EPOCH) === 0

async function filled(name: string, epochs: readonly EncodedEvent[]): Promise<EventLog> {
  return stores().filled(name, async () => {
    const eventLog = await stores().openLog(withEpochs(epochs))
    await processLog(eventLog, stores().warehouse)
    return eventLog
  })
}
const filledTold = () => filled('told', epochsOf(told))
const filledEarlier = () => filled('earlier', epochsOf(earlier))

async function verify(eventLog: EventLog) {
  const lines: string[] = []
  const verdict = await verifyTables({
    eventLog,
    warehouse: stores().warehouse,
    jobQueue: { pending: async () => 0 },
    signal: new AbortController().signal,
    notes: [],
    quiet: true,
    mayBeProcessed: false,
    print: async (line) => void lines.push(line),
  })
  return { ...verdict, last: lines.at(-1) ?? '' }
}
const SOUND = { wrong: 0, withheld: 0, missing: 0, untold: 0, nothingProven: false }

/** What the account is told of the first days. */
async function answers() {
  const { warehouse } = stores()
  const standing = await new Standings(warehouse).of(GIVEN_CHAIN)
  const horizon = await horizonOf(standing)
  if (horizon === undefined) throw new Error('epochs are complete')
  const scope = { standing, account: 'a', shared: warehouse, warehouse }
  const window = { from: FIRST, to: FIRST + 2 }
  const days = await expectedDays(scope, horizon, window)
  const { missing, clRewardGwei, elRewardWei } = await accountTotals(scope, horizon)
  return {
    days: days.map(({ date, clRewardGwei: cl, elRewardWei: el }) => ({ day: date, cl: String(cl), el: String(el) })),
    completeness: completenessOf(horizon, window, missingOf(days)),
    totals: { clRewardGwei, elRewardWei, completeness: completenessOfTotals(horizon, missing) },
    withoutStart: horizon.daysWithoutStart.map(formatDay),
  }
}

const closedDays = async () =>
  (await stores().warehouse.query<{ day: string }>('SELECT day FROM closed_days FINAL ORDER BY day')).map(
    ({ day }) => day,
  )
const dayRows = () =>
  stores().warehouse.query('SELECT * EXCEPT version FROM daily_rewards FINAL ORDER BY day, validator_index')
const through = async (fromDay: number) =>
  (await closedThrough(stores().warehouse, [{ chain: GIVEN_CHAIN, fromDay, toDay: FIRST + 2 }]))[0]?.through

describe('where epoch 0 tells the balances of the genesis state', () => {
  it('the day is closed, and each balance of it explained', { timeout: TEST_MS }, async () => {
    await using eventLog = await filledTold()
    expect(await closedDays()).toEqual(told.wholeDays)
    const proofs = (await Array.fromAsync(proveDays(stores().warehouse))).flat().filter(({ day }) => day === firstDay)
    expect(proofs).toHaveLength(told.validators)
    for (const proof of proofs) {
      expect(proof).toMatchObject({ balance_start: '32000000000', residual: '0', stored_agrees: 1 })
      expect(BigInt(proof.balance_end)).not.toBe(32_000_000_000n)
    }
    const result = await verify(eventLog)
    expect(result).toMatchObject(SOUND)
    expect(result.last).toMatch(new RegExp(`^${told.wholeDays.length} days, .* 0 wrong;`))
    expect(await findDayGaps(stores().warehouse)).toEqual([])
  })

  it('it is a day as any other for accounts, and can be locked', { timeout: TEST_MS }, async () => {
    await using _eventLog = await filledTold()
    const { days, completeness, totals, withoutStart } = await answers()
    expect(days).toEqual(told.dailySums.slice(0, 2))
    for (const covered of [completeness, totals.completeness]) expect(covered).toMatchObject({ state: 'complete' })
    expect(withoutStart).toEqual([])
    expect(await through(0)).toBe(FIRST + 1)
  })

  it('it is the same in whatever order its events come', { timeout: TEST_MS }, async () => {
    await using _inOrder = await filledTold()
    const expected = await dayRows()
    const events = epochsOf(told)
    const orders = fc.shuffledSubarray([...events], { minLength: events.length })
    await fc.assert(
      fc.asyncProperty(orders, async (shuffled) => {
        await stores().empty()
        await using eventLog = await stores().openLog(withEpochs(shuffled))
        await processLog(eventLog, stores().warehouse)
        expect(await dayRows()).toEqual(expected)
      }),
      { numRuns: tries(3, 50), examples: [[events.toReversed()]] },
    )
  })

  it('a figure of it that differs from its detail is found', { timeout: TEST_MS }, async () => {
    await using eventLog = await filledTold()
    await stores().warehouse.command(
      'INSERT INTO daily_rewards SELECT * REPLACE (cl_reward_gwei + 1 AS cl_reward_gwei, version + 1 AS version) ' +
        `FROM daily_rewards FINAL WHERE day = '${firstDay}' AND validator_index = 3`,
    )
    // With the month that it lies in.
    expect(await verify(eventLog)).toMatchObject({ wrong: 2 })
  })

  it('it stays open while one of its execution blocks is missing, and is called incomplete then', {
    timeout: TEST_MS,
  }, async () => {
    await stores().empty()
    const [first, ...blocks] = told.events.get('execution.blocks') ?? []
    await using eventLog = await stores().openLog(new Map([...told.events, ['execution.blocks', blocks]]))
    await processLog(eventLog, stores().warehouse)
    expect(await closedDays()).toEqual(told.wholeDays.slice(1))
    expect((await answers()).completeness.incomplete).toMatchObject([{ start_date: firstDay, end_date: secondDay }])
    expect(await through(0)).toBeNull()
    await eventLog.append('execution.blocks', [first as EncodedEvent])
    await readLog(eventLog, stores().warehouse, ['execution'])
    expect(await closedDays()).toEqual(told.wholeDays)
  })
})

describe('in a log of before it did', () => {
  it('the day is never closed, and not called missing', { timeout: TEST_MS }, async () => {
    await using eventLog = await filledEarlier()
    expect(await closedDays()).toEqual(told.wholeDays.slice(1))
    expect(await verify(eventLog)).toMatchObject(SOUND)
    expect(await findDayGaps(stores().warehouse)).toEqual([])
    const { days, completeness, totals, withoutStart } = await answers()
    expect(days).toEqual(told.dailySums.slice(1, 2))
    for (const covered of [completeness, totals.completeness]) expect(covered).toMatchObject({ state: 'complete' })
    expect(withoutStart).toEqual([firstDay])
    expect(await through(0)).toBe(FIRST + 1)
  })

  it('it is closed when epoch 0 is read anew, with the totals that were', { timeout: TEST_MS }, async () => {
    await using eventLog = await filledEarlier()
    const { totals } = await answers()
    await eventLog.append('beacon.epochs', epochsOf(told).filter(isOfGenesis))
    await readLog(eventLog, stores().warehouse, ['finalized'])
    expect(await closedDays()).toEqual(told.wholeDays)
    const { days, totals: since } = await answers()
    expect(days).toEqual(told.dailySums.slice(0, 2))
    expect(since).toEqual(totals)
    expect(await verify(eventLog)).toMatchObject(SOUND)
  })
})
