import DataLoader from 'dataloader'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { DAY_OFFSET_SEC, type DayNumber, epochOf, firstSlotOfDay, parseDay } from '../../schemas/eth/time.ts'
import type { HistoryStep } from '../../schemas/routes/validators/validator-history.ts'
import type { UnfundedRules } from '../../schemas/validator-lifecycle.ts'
import type { AccountScope } from '../http/seen-validators.ts'
import { type AccountDay, expectedDays } from '../rewards/account-days.ts'
import { type AccountLocalDay, accountLocalDays } from '../rewards/account-local-days.ts'
import { type Horizon, horizonOf } from '../rewards/horizon.ts'
import { type LocalWindow, localDays } from '../rewards/local-days.ts'
import {
  type ProposalRow,
  type ProvenEpochRow,
  selectProposals,
  selectValidatorEpochs,
} from '../rewards/select-detail.ts'
import { type BlockEvidenceRow, selectEvidence } from '../rewards/select-evidence.ts'
import { type ShownDay, shownAccountDays, shownValidatorDays } from '../rewards/shown-days.ts'
import { type ValidatorDayRow, validatorDays } from '../rewards/validator-days.ts'
import { withPast } from '../validators/account-validators.ts'
import { historiesOf } from '../validators/history.ts'
import type { ListedValidator } from '../validators/list-validators.ts'
import { type AnalystLoaders, createAnalystLoaders } from './analyst-loaders.ts'
import type { NftQuestions } from './nft-questions.ts'

export interface WindowKey {
  readonly from: DayNumber
  readonly to: DayNumber
}

export interface DaysKey {
  readonly index: number
  readonly from: DayNumber
  readonly to: DayNumber
}

export interface LocalDaysKey extends DaysKey {
  readonly offsetSec: number
}

/** A day of a validator, by its index. */
export interface ValidatorDay extends ShownDay<ValidatorDayRow> {
  readonly index: number
}

export interface DayKey {
  readonly index: number
  /** `YYYY-MM-DD`. */
  readonly day: string
}

export interface EpochKey {
  readonly index: number
  readonly epoch: number
}

/**
 * What the resolvers of one request share; the loaders ask once per level, or once for equal arguments, and forget with the
 * request.
 */
export interface GraphqlContext extends AccountScope {
  readonly warehouse: WarehouseReader
  readonly nowMs: number
  readonly unfundedRules: UnfundedRules
  readonly servesUnproven: boolean
  readonly requestId: string
  /** Whether the chain has validators. */
  readonly hasBeacon: boolean
  readonly nft: NftQuestions
  readonly horizon: () => Promise<Horizon | undefined>
  readonly accountDays: DataLoader<WindowKey, readonly ShownDay<AccountDay>[], string>
  readonly accountLocalDays: DataLoader<LocalWindow, readonly ShownDay<AccountLocalDay>[], string>
  readonly days: DataLoader<DaysKey, readonly ValidatorDay[], string>
  readonly localDays: DataLoader<LocalDaysKey, readonly ValidatorDay[], string>
  readonly histories: DataLoader<ListedValidator, readonly HistoryStep[], number>
  readonly epochs: DataLoader<DayKey, ProvenEpochRow[], string>
  readonly blocksOfDay: DataLoader<DayKey, ProposalRow[], string>
  readonly blocksOfEpoch: DataLoader<EpochKey, ProposalRow[], string>
  /** By the hash of the execution block. */
  readonly evidence: DataLoader<string, BlockEvidenceRow | null>
  readonly analysts: AnalystLoaders
}

type Request = Pick<
  GraphqlContext,
  'warehouse' | 'nowMs' | 'unfundedRules' | 'servesUnproven' | 'requestId' | 'hasBeacon' | 'nft' | keyof AccountScope
>

const dayKey = (key: DayKey) => `${key.index}/${key.day}`
const localKey = (key: LocalDaysKey) => `${key.index}/${key.from}/${key.to}/${key.offsetSec}`
const epochKey = (key: EpochKey) => `${key.index}/${key.epoch}`

export function createContext(request: Request): GraphqlContext {
  const { warehouse } = request
  const horizon = () => horizonOf(request.standing)
  return {
    ...request,
    horizon,
    // Fields with equal arguments share their statement.
    accountDays: new DataLoader((keys) => Promise.all(keys.map((window) => loadAccountDays(request, window))), {
      batch: false,
      cacheKeyFn: ({ from, to }) => `${from}/${to}`,
    }),
    accountLocalDays: new DataLoader((keys) => Promise.all(keys.map((one) => loadAccountLocalDays(request, one))), {
      batch: false,
      cacheKeyFn: ({ days, offsetSec }) => `${days.from}/${days.to}/${offsetSec}`,
    }),
    days: new DataLoader(
      (keys) =>
        loadDays(
          request,
          keys.map((key) => ({ ...key, offsetSec: DAY_OFFSET_SEC })),
          validatorDays,
        ),
      { cacheKeyFn: (key) => `${key.index}/${key.from}/${key.to}` },
    ),
    localDays: new DataLoader((keys) => loadDays(request, keys, localDays), { cacheKeyFn: localKey }),
    histories: new DataLoader((listed) => loadHistories(request, listed), {
      cacheKeyFn: ({ validator_index }) => validator_index,
    }),
    epochs: new DataLoader((keys) => loadEpochs(warehouse, horizon, keys), { cacheKeyFn: dayKey }),
    blocksOfDay: new DataLoader((keys) => loadBlocksOfDays(warehouse, horizon, keys), { cacheKeyFn: dayKey }),
    analysts: createAnalystLoaders(request),
    blocksOfEpoch: new DataLoader((keys) => loadBlocksOfEpochs(warehouse, horizon, keys), { cacheKeyFn: epochKey }),
    evidence: new DataLoader((hashes) => loadEvidence(request, hashes)),
  }
}

async function loadAccountDays(request: Request, days: WindowKey): Promise<readonly ShownDay<AccountDay>[]> {
  const horizon = await horizonOf(request.standing)
  if (horizon === undefined) return []
  const expected = await expectedDays(request, horizon, days)
  return shownAccountDays(request, horizon, { days, offsetSec: DAY_OFFSET_SEC }, expected)
}

async function loadAccountLocalDays(
  request: Request,
  window: LocalWindow,
): Promise<readonly ShownDay<AccountLocalDay>[]> {
  const horizon = await horizonOf(request.standing)
  if (horizon === undefined) return []
  return shownAccountDays(request, horizon, window, await accountLocalDays(request, horizon, window))
}

type Horizons = GraphqlContext['horizon']

/** One statement per distinct window and offset: siblings have one and the same. */
async function loadDays(
  request: Request,
  keys: readonly LocalDaysKey[],
  select: typeof localDays,
): Promise<(readonly ValidatorDay[])[]> {
  const horizon = await horizonOf(request.standing)
  if (horizon === undefined) return keys.map(() => [])
  const found = new Map<string, readonly ValidatorDay[]>()
  for (const members of Map.groupBy(keys, (key) => localKey({ ...key, index: 0 })).values()) {
    const [one] = members
    if (one === undefined) continue
    const { offsetSec } = one
    const window = { indices: new Set(members.map(({ index }) => index)), days: one, offsetSec }
    const rows = await select(request, horizon, window)
    for (const [index, own] of await shownValidatorDays(request, horizon, window, rows))
      found.set(
        localKey({ ...one, index }),
        own.map((day) => ({ ...day, index })),
      )
  }
  return keys.map((key) => found.get(localKey(key)) ?? [])
}

async function loadHistories(
  request: Request,
  listed: readonly ListedValidator[],
): Promise<readonly (readonly HistoryStep[])[]> {
  const horizon = await horizonOf(request.standing)
  if (horizon === undefined) return listed.map(() => [])
  return historiesOf(request, horizon, await withPast(request, horizon, listed))
}

async function loadEpochs(
  warehouse: WarehouseReader,
  horizon: Horizons,
  keys: readonly DayKey[],
): Promise<ProvenEpochRow[][]> {
  const known = await horizon()
  if (known === undefined) return keys.map(() => [])
  const slots = slotsOfDays(known, keys)
  const rows = await selectValidatorEpochs(warehouse, {
    chain: known.chain,
    indices: distinct(keys.map((key) => key.index)),
    days: distinct(keys.map((key) => key.day)),
    fromEpoch: epochOf(known.clock, slots.fromSlot),
    toEpoch: epochOf(known.clock, slots.toSlot) + 1,
  })
  const found = Map.groupBy(rows, (row) => dayKey({ index: row.validator_index, day: row.day }))
  return keys.map((key) => found.get(dayKey(key)) ?? [])
}

async function loadBlocksOfDays(
  warehouse: WarehouseReader,
  horizon: Horizons,
  keys: readonly DayKey[],
): Promise<ProposalRow[][]> {
  const known = await horizon()
  if (known === undefined) return keys.map(() => [])
  const indices = distinct(keys.map((key) => key.index))
  const rows = await selectProposals(warehouse, { chain: known.chain, indices, ...slotsOfDays(known, keys) })
  const found = Map.groupBy(rows, (row) => dayKey({ index: row.proposer_index, day: row.day }))
  return keys.map((key) => found.get(dayKey(key)) ?? [])
}

async function loadBlocksOfEpochs(
  warehouse: WarehouseReader,
  horizon: Horizons,
  keys: readonly EpochKey[],
): Promise<ProposalRow[][]> {
  const known = await horizon()
  if (known === undefined) return keys.map(() => [])
  const { slotsPerEpoch } = known.clock
  const epochs = keys.map((key) => key.epoch)
  const rows = await selectProposals(warehouse, {
    chain: known.chain,
    indices: distinct(keys.map((key) => key.index)),
    fromSlot: smallest(epochs) * slotsPerEpoch,
    toSlot: (largest(epochs) + 1) * slotsPerEpoch,
  })
  const found = Map.groupBy(rows, (row) => epochKey({ index: row.proposer_index, epoch: row.epoch }))
  return keys.map((key) => found.get(epochKey(key)) ?? [])
}

async function loadEvidence(
  { warehouse, standing }: Request,
  hashes: readonly string[],
): Promise<(BlockEvidenceRow | null)[]> {
  const rows = await selectEvidence(warehouse, { chain: standing.chain, hashes })
  const found = new Map(rows.map((row) => [row.block_hash, row]))
  return hashes.map((hash) => found.get(hash) ?? null)
}

/** Slots from the first day to the last one. */
function slotsOfDays({ clock }: Horizon, keys: readonly DayKey[]): { fromSlot: number; toSlot: number } {
  const days = distinct(keys.map((key) => key.day)).map((day) => parseDay(day) ?? 0)
  return { fromSlot: firstSlotOfDay(clock, smallest(days)), toSlot: firstSlotOfDay(clock, largest(days) + 1) }
}

function distinct<Value>(values: readonly Value[]): Value[] {
  return [...new Set(values)]
}

// Spreading a level's keys into Math.min would overflow the stack at some 100,000.
function smallest(values: readonly number[]): number {
  return values.reduce((one, other) => Math.min(one, other), Number.MAX_SAFE_INTEGER)
}

function largest(values: readonly number[]): number {
  return values.reduce((one, other) => Math.max(one, other), 0)
}
