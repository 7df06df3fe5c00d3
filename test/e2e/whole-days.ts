import { expect } from 'vitest'
import {
  type ChainClock,
  type DayNumber,
  dayOfSlot,
  epochOf,
  firstSlotOfDay,
  formatDay,
} from '../../schemas/eth/time.ts'
import type { Completeness } from '../../schemas/routes/rewards/completeness.ts'
import type { DailyReward } from '../../schemas/routes/rewards/daily-rewards.ts'
import { finalEpochOf, type OracleNode } from './oracle.ts'
import { eventually } from './processes.ts'

const FIGURES = `query ($from: String!, $to: String!) {
  days(from: $from, to: $to) { date validatorsCount validatorsMissingCount }
  validators { nodes { pubkey days(from: $from, to: $to) { date residual { gwei } } } }
}`

interface Figures {
  readonly days: readonly object[]
  readonly validators: {
    readonly nodes: readonly {
      readonly pubkey: string
      readonly days: readonly { readonly date: string; readonly residual: { readonly gwei: string } }[]
    }[]
  }
}

interface DaysAnswer {
  readonly data: { readonly reward: readonly DailyReward[] }
  readonly completeness: Completeness
}

/** An account whose validators were all created by it and activated on one day. */
export interface CreatedAccount {
  /** Up to and with the account's token. */
  readonly url: string
  readonly pubkeys: readonly string[]
  readonly activationEpoch: number
}

/**
 * The account's figures begin with the whole day of the activation, and up to the newest final day none is missing, of the account or
 * of a validator. (Completeness is asked of these days alone: that on which the chain began is not reported.)
 */
export async function expectWholeDays(
  node: OracleNode,
  clock: ChainClock,
  { url, pubkeys, activationEpoch }: CreatedAccount,
): Promise<void> {
  const first = dayOfSlot(clock, activationEpoch * clock.slotsPerEpoch)
  const last = newestFinalDay(clock, await finalEpochOf(node))
  expect(last).toBeGreaterThanOrEqual(first)
  const dates = Array.from({ length: last + 1 - first }, (_, at) => formatDay(first + at))
  const to = formatDay(last + 1)
  const path = `${url}/api/v1/validator/daily-rewards?start_date=${formatDay(first)}&end_date=${to}&limit=31`
  const closed = async (): Promise<DaysAnswer | undefined> => {
    const answer = (await (await fetch(path)).json()) as DaysAnswer
    return answer.completeness.final_through === formatDay(last) ? answer : undefined
  }
  const { data, completeness } = await eventually(`the closing of ${formatDay(last)}`, closed)
  expect(data.reward.map(({ date }) => date)).toEqual(dates)
  expect(completeness).toMatchObject({ state: 'complete', not_final_from: null, incomplete: [] })
  const asked = {
    method: 'POST',
    body: JSON.stringify({ query: FIGURES, variables: { from: formatDay(first - 1), to } }),
  }
  const headers = { 'content-type': 'application/json' }
  const figures = (await (await fetch(`${url}/graphql`, { ...asked, headers })).json()) as { readonly data: Figures }
  const ofAccount = { validatorsCount: pubkeys.length, validatorsMissingCount: 0 }
  expect(figures.data.days).toEqual(dates.map((date) => ({ date, ...ofAccount })))
  const proven = dates.map((date) => ({ date, residual: { gwei: '0' } }))
  expect(figures.data.validators.nodes.map(({ pubkey }) => pubkey).toSorted()).toEqual(pubkeys.toSorted())
  for (const { pubkey, days } of figures.data.validators.nodes) expect(days, pubkey).toEqual(proven)
}

/** The last day whose epochs, and the one after them, are final. */
function newestFinalDay(clock: ChainClock, finalEpoch: number): DayNumber {
  let day = dayOfSlot(clock, finalEpoch * clock.slotsPerEpoch)
  while (epochOf(clock, firstSlotOfDay(clock, day + 1)) > finalEpoch) day--
  return day
}
