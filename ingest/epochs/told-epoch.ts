import type { Balances, BeaconBlock } from '../../infra/ports/beacon-source.ts'
import {
  DAY_BALANCES_LAYOUT,
  EPOCH_BLOCKS_LAYOUT,
  EPOCH_VALIDATORS_LAYOUT,
  type EpochBlocksData,
  type EpochValidatorsColumns,
} from '../../schemas/events/beacon-epoch.ts'
import { joinRows } from './joined-rows.ts'
import { PubkeyBook } from './pubkey-book.ts'
import { isAmong } from './registry-rows.ts'
import type { TrackedSet } from './tracked-validators.ts'

/** What an epoch's events are made of, beside the balances that days begin with. */
export interface EpochContent {
  readonly validators: EpochValidatorsColumns
  readonly data: EpochBlocksData
}

/** Balances that a UTC+8 day begins with: those after `slot`, the last one before it, or 0 where the chain began in it. */
export interface DayStart {
  readonly day: number
  readonly slot: number
  readonly balances: Balances
}

/** An epoch as the log has it: whole, and told by reward endpoints. */
export interface ToldEpoch extends EpochContent {
  readonly dayStarts: readonly DayStart[]
}

/** Whether it was told of these blocks, by ascending slot, and with the balances after these slots. */
export function isToldOf(
  { data, dayStarts }: ToldEpoch,
  blocks: readonly BeaconBlock[],
  cutSlots: readonly number[],
): boolean {
  const told = data.header.blocks
  if (told.length !== blocks.length || told.some(({ root }, i) => root !== blocks[i]?.root)) return false
  return cutSlots.every((cut) => dayStarts.some(({ slot }) => slot === cut))
}

/** Those of the validators whom the log does not tell of in an epoch, and those whom the registry did not know. */
export function lackingIn({ validators }: ToldEpoch, { indices, pubkeys }: TrackedSet): TrackedSet {
  const lacking = indices.filter((index) => !isAmong(validators.validatorIndex, index))
  const named = new PubkeyBook()
  for (const pubkey of pubkeys) {
    const index = pubkeys.indexOf(pubkey)
    if (index === undefined) named.add(pubkey)
    else if (isAmong(lacking, index)) named.setIndex(pubkey, index)
  }
  return { indices: lacking, pubkeys: named }
}

/** An epoch of the log with what was told since of validators that it lacks, of the same blocks. */
export function addToTold(told: ToldEpoch, added: EpochContent): EpochContent {
  const { header, columns } = added.data
  const rewarded = new Map(told.data.header.blocks.map((block) => [block.root, block]))
  const residuals = [...told.data.header.residuals, ...header.residuals]
  return {
    validators: joinRows(EPOCH_VALIDATORS_LAYOUT, [told.validators, added.validators]),
    data: {
      header: {
        ...header,
        blocks: header.blocks.map((block) =>
          block.attestationsGwei === null ? (rewarded.get(block.root) ?? block) : block,
        ),
        effects: [...told.data.header.effects, ...header.effects],
        residuals: residuals.sort((some, other) => some.validatorIndex - other.validatorIndex),
      },
      columns: joinRows(EPOCH_BLOCKS_LAYOUT, [told.data.columns, columns], ['slotOffset', 'validatorIndex']),
    },
  }
}

/** The same of the balances that a day begins with. */
export function addToDayStart(told: ToldEpoch, { day, slot, balances }: DayStart): DayStart {
  const known = told.dayStarts
    .filter((start) => start.day === day && start.slot === slot)
    .map((start) => start.balances)
  return { day, slot, balances: joinRows(DAY_BALANCES_LAYOUT, [...known, balances]) }
}
