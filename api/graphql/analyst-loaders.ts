import DataLoader from 'dataloader'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { type DayNumber, firstSlotOfDay, parseDay } from '../../schemas/eth/time.ts'
import type { Completeness } from '../../schemas/routes/rewards/completeness.ts'
import { type AccountScope, type SeenValidator, seenValidators } from '../http/seen-validators.ts'
import { expectedDays } from '../rewards/account-days.ts'
import { attestationDuties, type EpochDuties } from '../rewards/attestation-duties.ts'
import { completenessOf } from '../rewards/completeness.ts'
import { type Horizon, horizonOf } from '../rewards/horizon.ts'
import type { Days } from '../rewards/kept-spans.ts'
import { type NetworkSums, networkSums } from '../rewards/network-sums.ts'
import { type NetworkWindow, NO_WINDOW, networkWindow } from '../rewards/network-window.ts'
import { NO_SUMS, type Period, type PeriodSums, periodSums, sumPeriods } from '../rewards/period-sums.ts'
import { type DifferenceRow, selectDifferences } from '../rewards/select-chain.ts'
import { missingOf } from '../rewards/shown-days.ts'
import { loadProposals, NO_PROPOSALS, type ProposalsFound } from './load-proposals.ts'

/** A window of days of one validator. */
export interface WindowOf extends Days {
  readonly index: number
}

/** Loaders of one request: fields of one level share their statements, and equal fields their rows. */
export interface AnalystLoaders {
  /** Of all the account's validators. */
  readonly ofAccount: DataLoader<Days, PeriodSums, string>
  readonly ofValidator: DataLoader<WindowOf, PeriodSums, string>
  readonly ofDay: DataLoader<DayNumber, PeriodSums>
  readonly months: DataLoader<Days, readonly Period[], string>
  /** Of the account's figures of days, by `[from, to)`. */
  readonly completeness: DataLoader<Days, Completeness, string>
  readonly validatorMonths: DataLoader<WindowOf, readonly Period[], string>
  readonly duties: DataLoader<{ readonly index: number; readonly day: string }, readonly EpochDuties[], string>
  readonly proposals: DataLoader<WindowOf, ProposalsFound, string>
  /** Of all validators of the network; undefined where an epoch of the day was not computed of states that the chain names. */
  readonly network: DataLoader<DayNumber, NetworkSums | undefined>
  /** Of a window of any length. */
  readonly networkOf: DataLoader<Days, NetworkWindow, string>
  /** By epoch. */
  readonly differences: DataLoader<number, readonly DifferenceRow[]>
}

type Request = AccountScope & { readonly warehouse: WarehouseReader }

const daysKey = ({ from, to }: Days): string => `${from}/${to}`
const windowKey = ({ index, from, to }: WindowOf): string => `${index}/${from}/${to}`

export function createAnalystLoaders(request: Request): AnalystLoaders {
  const all = async (days: Days, by: 'day' | 'month'): Promise<readonly Period[]> => {
    const horizon = await horizonOf(request.standing)
    if (horizon === undefined) return []
    const { registered } = await seenValidators(request)
    return await periodSums(request, horizon, { validators: registered, days, by, each: false })
  }
  const each = byWindow<readonly Period[]>(request, [], async (horizon, validators, days) => {
    const periods = await periodSums(request, horizon, { validators, days, by: 'month', each: true })
    return Map.groupBy(periods, ({ index }) => index ?? -1)
  })
  return {
    ofAccount: new DataLoader(
      (windows) => Promise.all(windows.map(async (days) => sumPeriods(await all(days, 'month')))),
      { batch: false, cacheKeyFn: daysKey },
    ),
    ofValidator: new DataLoader(async (keys) => (await each(keys)).map(sumPeriods), { cacheKeyFn: windowKey }),
    ofDay: new DataLoader(async (days) => {
      const window = { from: Math.min(...days), to: Math.max(...days) + 1 }
      const found = new Map((await all(window, 'day')).map(({ start, sums }) => [start, sums]))
      return days.map((day) => found.get(day) ?? NO_SUMS)
    }),
    months: new DataLoader((windows) => Promise.all(windows.map((days) => all(days, 'month'))), {
      batch: false,
      cacheKeyFn: daysKey,
    }),
    completeness: new DataLoader((windows) => loadCompleteness(request, windows), { cacheKeyFn: daysKey }),
    validatorMonths: new DataLoader(each, { cacheKeyFn: windowKey }),
    duties: new DataLoader((keys) => loadDuties(request, keys), { cacheKeyFn: ({ index, day }) => `${index}/${day}` }),
    proposals: new DataLoader(
      byWindow(request, NO_PROPOSALS, (horizon, validators, days) =>
        loadProposals(request, horizon, { validators, days }),
      ),
      { cacheKeyFn: windowKey },
    ),
    network: new DataLoader((days) => loadNetworkSums(request, days)),
    networkOf: new DataLoader((windows) => Promise.all(windows.map((days) => loadNetworkWindow(request, days))), {
      batch: false,
      cacheKeyFn: daysKey,
    }),
    differences: new DataLoader(async (epochs) => {
      const { chain } = request.standing
      const rows = await selectDifferences(request.warehouse, { chain, epochs })
      const found = Map.groupBy(rows, ({ epoch }) => epoch)
      return epochs.map((epoch) => found.get(epoch) ?? [])
    }),
  }
}

/** Sums of months leave out what is not proven, whatever is served of days. Days of all windows are read at once. */
async function loadCompleteness(request: Request, windows: readonly Days[]): Promise<Completeness[]> {
  const horizon = await horizonOf(request.standing)
  const from = Math.min(...windows.map((days) => days.from))
  const to = Math.max(...windows.map((days) => days.to))
  const reading = { ...request, servesUnproven: false }
  const expected = horizon === undefined ? [] : await expectedDays(reading, horizon, { from, to })
  const missing = missingOf(expected)
  return windows.map((days) => completenessOf(horizon, days, missing))
}

async function loadNetworkSums(
  { standing, warehouse }: Request,
  days: readonly DayNumber[],
): Promise<(NetworkSums | undefined)[]> {
  const horizon = await horizonOf(standing)
  if (horizon === undefined) return days.map(() => undefined)
  const { chain, clock } = horizon
  const window = { from: Math.min(...days), to: Math.max(...days) + 1 }
  const found = await networkSums(warehouse, { chain, clock, days: window })
  return days.map((day) => found.get(day))
}

async function loadNetworkWindow({ standing, warehouse }: Request, days: Days): Promise<NetworkWindow> {
  const horizon = await horizonOf(standing)
  return horizon === undefined ? NO_WINDOW : await networkWindow(warehouse, horizon, days)
}

/** Asks once for each window of the keys, which siblings have in common. */
function byWindow<Found>(
  request: Request,
  none: Found,
  load: (horizon: Horizon, validators: readonly SeenValidator[], days: Days) => Promise<ReadonlyMap<number, Found>>,
) {
  return async (keys: readonly WindowOf[]): Promise<Found[]> => {
    const horizon = await horizonOf(request.standing)
    if (horizon === undefined) return keys.map(() => none)
    const { registered } = await seenValidators(request)
    const found = new Map<string, ReadonlyMap<number, Found>>()
    for (const [window, members] of Map.groupBy(keys, daysKey)) {
      const indices = new Set(members.map(({ index }) => index))
      const [days] = members
      if (days === undefined) continue
      const validators = registered.filter(({ index }) => indices.has(index))
      found.set(window, await load(horizon, validators, days))
    }
    return keys.map((key) => found.get(daysKey(key))?.get(key.index) ?? none)
  }
}

async function loadDuties(
  request: Request,
  keys: readonly { readonly index: number; readonly day: string }[],
): Promise<EpochDuties[][]> {
  const horizon = await horizonOf(request.standing)
  if (horizon === undefined) return keys.map(() => [])
  const { chain, clock } = horizon
  const found = new Map<string, EpochDuties[]>()
  // A day at a time: validators to compare with are those of its last epoch.
  for (const [text, members] of Map.groupBy(keys, ({ day }) => day)) {
    const day = parseDay(text) ?? 0
    const firstEpoch = Math.ceil(firstSlotOfDay(clock, day) / clock.slotsPerEpoch)
    const behind = Math.ceil(firstSlotOfDay(clock, day + 1) / clock.slotsPerEpoch)
    const indices = [...new Set(members.map(({ index }) => index))]
    const lastEpoch = Math.min(behind - 1, horizon.epoch)
    const duties = await attestationDuties(request.warehouse, { chain, indices, firstEpoch, lastEpoch })
    for (const [index, own] of Map.groupBy(duties, (one) => one.index)) found.set(`${index}/${text}`, own)
  }
  return keys.map(({ index, day }) => found.get(`${index}/${day}`) ?? [])
}
