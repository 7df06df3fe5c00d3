import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { dayOfSlot, firstSlotOfDay, firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import { type AccountScope, isIn, type SeenValidator, seenValidators } from '../http/seen-validators.ts'
import { type Horizon, horizonOf } from '../rewards/horizon.ts'
import { type Days, withinLife } from '../rewards/kept-spans.ts'
import { type OrphanRow, selectOrphans } from '../rewards/select-chain.ts'
import { type ProposalRow, selectProposals } from '../rewards/select-detail.ts'
import { type MissedRow, type SlotRange, selectMissed, selectUnknownTurns } from '../rewards/select-missed.ts'

/** What became of a validator's turns in a window. */
export interface ProposalsFound {
  readonly blocks: readonly ProposalRow[]
  /** Blocks that the head has shown and the final chain does not have. */
  readonly orphans: readonly OrphanRow[]
  /** Slots without a final block, of which the head has shown none either, as far as it is known whose turn they were. */
  readonly missed: readonly MissedRow[]
  /** Whether that is known of all slots. */
  readonly isWhole: boolean
}

export const NO_PROPOSALS: ProposalsFound = { blocks: [], orphans: [], missed: [], isWhole: false }

type Request = AccountScope & { readonly warehouse: WarehouseReader }

interface Asked {
  readonly validators: readonly SeenValidator[]
  readonly days: Days
}

/** What became of each validator's turns on the days on which the account sees it: four statements. */
export async function loadProposals(
  { warehouse }: Request,
  horizon: Horizon,
  { validators, days }: Asked,
): Promise<ReadonlyMap<number, ProposalsFound>> {
  const { chain, clock } = horizon
  const slots = slotsOf(horizon, days)
  const asked = { chain, indices: validators.map(({ index }) => index), ...slots }
  const blocks = Map.groupBy(await selectProposals(warehouse, asked), (row) => row.proposer_index)
  const orphans = Map.groupBy(await selectOrphans(warehouse, asked), (row) => row.proposer_index)
  const missed = Map.groupBy(await selectMissed(warehouse, asked, clock), (row) => row.proposer_index)
  const unknown = await selectUnknownTurns(warehouse, { chain, ...slots }, clock)
  return new Map(
    validators.map((validator) => {
      const { index } = validator
      const isSeen = isSeenBy(validator, horizon)
      const orphaned = (orphans.get(index) ?? []).filter(isSeen)
      const wasShown = new Set(orphaned.map(({ slot }) => slot))
      const found: ProposalsFound = {
        blocks: (blocks.get(index) ?? []).filter(isSeen),
        orphans: orphaned,
        missed: (missed.get(index) ?? []).filter((row) => isSeen(row) && !wasShown.has(row.slot)),
        isWhole: slots.fromSlot < slots.toSlot && !unknown.some((range) => isSeenIn(validator, horizon, range)),
      }
      return [index, found]
    }),
  )
}

/** Blocks that the account's validators proposed on its days, the newest first. */
export async function accountBlocks(request: Request, days: Days): Promise<readonly ProposalRow[]> {
  const horizon = await horizonOf(request.standing)
  if (horizon === undefined) return []
  const { registered } = await seenValidators(request)
  const slots = slotsOf(horizon, withinLife(days, horizon))
  const asked = { chain: horizon.chain, indices: registered.map(({ index }) => index), ...slots }
  const isSeen = new Map(registered.map((validator) => [validator.index, isSeenBy(validator, horizon)]))
  return (await selectProposals(request.warehouse, asked))
    .filter((row) => isSeen.get(row.proposer_index)?.(row) === true)
    .toSorted((one, other) => Number(other.slot) - Number(one.slot))
}

/** Those of the days that are final. */
function slotsOf({ clock, epoch }: Horizon, days: Days) {
  return {
    fromSlot: firstSlotOfDay(clock, days.from),
    toSlot: Math.min(firstSlotOfDay(clock, days.to), firstSlotOfEpoch(clock, epoch + 1)),
  }
}

function isSeenBy({ intervals }: SeenValidator, { clock }: Horizon) {
  return ({ slot }: { readonly slot: string }): boolean => {
    const day = dayOfSlot(clock, Number(slot))
    return intervals.some((interval) => isIn(interval, day))
  }
}

/** Whether one of the slots lies on a day on which the account sees the validator. */
function isSeenIn({ intervals }: SeenValidator, { clock }: Horizon, { from, to }: SlotRange): boolean {
  const [firstDay, lastDay] = [dayOfSlot(clock, from), dayOfSlot(clock, to - 1)]
  return intervals.some(({ fromDay, toDay }) => fromDay <= lastDay && firstDay < toDay)
}
