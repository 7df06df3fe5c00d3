import { FAR_FUTURE_EPOCH } from '../../schemas/eth/far-future.ts'
import type { Interval } from '../../schemas/ownership.ts'
import { type AccountScope, seenValidators } from '../http/seen-validators.ts'
import { StandingMemo } from '../http/standing-memo.ts'
import { activationsOf } from './activations.ts'
import type { ClosedDay, Horizon } from './horizon.ts'
import { untoldKeys } from './untold-keys.ts'

/** A validator of an account, of which figures are expected on the days from its activation on on which the account sees it. */
export interface ExpectedValidator {
  /** Undefined where nobody has looked for it in the registry yet. */
  readonly index?: number
  readonly pubkey: string
  /** Epoch; 0 where nothing is known of it. */
  readonly activation: bigint
  /** They do not overlap. */
  readonly intervals: readonly Interval[]
}

const expectedMemo = new StandingMemo<readonly ExpectedValidator[]>((validators) => validators.length)

/** Those of which figures are expected: whom the registry knows, and whom nobody has looked for there since they were tracked. */
export function expectedValidators(scope: AccountScope, horizon: Horizon): Promise<readonly ExpectedValidator[]> {
  return expectedMemo.of(scope.standing, scope.account, async () => {
    const { registered, unregistered } = await seenValidators(scope)
    const activations = await activationsOf(scope, horizon)
    const untold = await untoldKeys(scope, horizon)
    return [
      ...registered.map(({ index, pubkey, intervals }) => {
        return { index, pubkey, activation: activations.get(index) ?? FAR_FUTURE_EPOCH, intervals }
      }),
      ...unregistered
        .filter(({ pubkey }) => untold.has(pubkey))
        .map((interval) => ({ pubkey: interval.pubkey, activation: 0n, intervals: [interval] })),
    ]
  })
}

/** What makes validators be expected on the same days. */
type Expectation = Pick<ExpectedValidator, 'activation' | 'intervals'>

/** Validators that are expected on the same days: of ten thousand that are staked together there are a few. */
export interface Cohort extends Expectation {
  readonly members: readonly ExpectedValidator[]
}

const cohortsMemo = new StandingMemo<readonly Cohort[]>((cohorts) => cohorts.length)

export function cohortsOf(scope: AccountScope, horizon: Horizon): Promise<readonly Cohort[]> {
  return cohortsMemo.of(scope.standing, scope.account, async () => {
    const validators = await expectedValidators(scope, horizon)
    const alike = Map.groupBy(validators, ({ activation, intervals }) =>
      [activation, ...intervals.flatMap(({ fromDay, toDay }) => [fromDay, toDay])].join(),
    )
    return [...alike.values()].flatMap((members) =>
      members.slice(0, 1).map(({ activation, intervals }) => ({ activation, intervals, members })),
    )
  })
}

/** Places of the closed days (ascending) on which a validator is expected: from each to before each. */
export function expectedSpans(
  { activation, intervals }: Expectation,
  days: readonly ClosedDay[],
): readonly (readonly [from: number, to: number])[] {
  const activated = activatedAt(activation, days)
  return intervals.flatMap(({ fromDay, toDay }) => {
    const seenFrom = firstAt(days, ({ day }) => day >= fromDay)
    const from = Math.max(activated, seenFrom)
    const to = firstAt(days, ({ day }) => day >= toDay)
    return from < to ? [[from, to] as const] : []
  })
}

/** Place of the closed day (ascending) by whose end a validator is activated first; their number where there is none. */
export function activatedAt(activation: bigint, days: readonly ClosedDay[]): number {
  return firstAt(days, ({ lastEpoch }) => activation <= BigInt(lastEpoch))
}

/** Position of the first day for which it holds, as it does for all after it; their number where it holds for none. */
function firstAt(days: readonly ClosedDay[], holds: (day: ClosedDay) => boolean): number {
  let [from, to] = [0, days.length]
  while (from < to) {
    const middle = (from + to) >> 1
    const day = days[middle]
    if (day !== undefined && holds(day)) to = middle
    else from = middle + 1
  }
  return from
}
