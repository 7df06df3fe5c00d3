import type { DaySpan } from '../../schemas/eth/day-span.ts'
import { firstSlotOfEpoch, lastSlotOfEpoch } from '../../schemas/eth/time.ts'
import type { DayProof, ProofEffect, ProofEpoch, ProofPoint } from '../../schemas/routes/rewards/validator-proof.ts'
import { isWithheld, levelOfEpoch } from '../../schemas/tables/day-levels.ts'
import { isComponent } from '../../schemas/tables/rewards.ts'
import type { EffectRow, ProofRows } from './select-proof.ts'
import type { ValidatorDayRow } from './validator-days.ts'

export interface ProvenDay {
  readonly pubkey: string
  readonly row: ValidatorDayRow
  readonly span: DaySpan
  readonly slotsPerEpoch: number
  readonly rows: ProofRows
}

/**
 * The whole calculation of a closed day, all epochs that have a slot in it: the first and the last one in part. Sums are made of what is
 * shown, so whoever adds it up again comes to the same; the stored row of the day stands beside them.
 */
export function toDayProof(day: ProvenDay): DayProof {
  const { pubkey, row, span } = day
  const epochs = epochsOf(day)
  const [start, end] = [pointOf(day, span.firstSlot - 1), pointOf(day, span.lastSlot)]
  const componentsGwei = sumOf(epochs.map((epoch) => epoch.components_gwei))
  const flowsGwei = sumOf(epochs.map((epoch) => epoch.flows_gwei))
  return {
    ...{ pubkey, validator_index: row.validator_index, date: row.day },
    level: row.level as DayProof['level'],
    is_withheld: isWithheld(row.level),
    ...{ start, end },
    ...{ source_gwei: row.source_gwei, target_gwei: row.target_gwei, head_gwei: row.head_gwei },
    ...{ inactivity_gwei: row.inactivity_gwei, sync_gwei: row.sync_gwei, proposer_gwei: row.proposer_gwei },
    ...{ slashing_penalty_gwei: row.slashing_penalty_gwei, deposits_gwei: row.deposits_gwei },
    ...{ withdrawals_gwei: row.withdrawals_gwei, returned_from_queue_gwei: row.returned_from_queue_gwei },
    moved_to_queue_gwei: row.moved_to_queue_gwei,
    consolidations_in_gwei: row.consolidations_in_gwei,
    consolidations_out_gwei: row.consolidations_out_gwei,
    ...identityOf({ start, end, componentsGwei, flowsGwei }),
    cl_reward_gwei: row.cl_reward_gwei,
    epochs,
  }
}

function epochsOf(day: ProvenDay): ProofEpoch[] {
  const { span, slotsPerEpoch, rows } = day
  const own = new Map(rows.epochs.map((row) => [row.epoch, row]))
  const proofs = new Map(rows.proofs.map((row) => [row.epoch, row]))
  const effects = Map.groupBy(rows.effects, (row) => row.epoch)
  const count = span.lastTransition - span.firstEpoch + 1
  return Array.from({ length: count }, (_, offset): ProofEpoch => {
    const epoch = span.firstEpoch + offset
    const row = own.get(epoch)
    const firstSlot = Math.max(span.firstSlot, firstSlotOfEpoch({ slotsPerEpoch }, epoch))
    const lastSlot = Math.min(span.lastSlot, lastSlotOfEpoch({ slotsPerEpoch }, epoch))
    const hasTransition = epoch >= span.firstTransition
    const credited = hasTransition && row !== undefined ? row : NOTHING_CREDITED
    const { source_gwei, target_gwei, head_gwei, inactivity_gwei } = credited
    const told = effects.get(epoch) ?? []
    const [start, end] = [pointOf(day, firstSlot - 1), pointOf(day, lastSlot)]
    const attested = [source_gwei, target_gwei, head_gwei, inactivity_gwei]
    const componentsGwei = sumOf([...attested, ...told.filter(isOfComponent).map((one) => one.amount_gwei)])
    const flowsGwei = sumOf(told.filter((one) => !isOfComponent(one)).map((one) => one.amount_gwei))
    return {
      ...{ epoch, first_slot: firstSlot, last_slot: lastSlot },
      level: levelOfEpoch({
        level: proofs.get(epoch)?.level ?? '',
        residual_gwei: row?.residual_gwei ?? '0',
      }) as ProofEpoch['level'],
      formulas: proofs.get(epoch)?.formulas ?? 0,
      ...{ start, end, has_transition: hasTransition, source_gwei, target_gwei, head_gwei, inactivity_gwei },
      effects: told.map(toEffect),
      ...identityOf({ start, end, componentsGwei, flowsGwei }),
    }
  })
}

const NOTHING_CREDITED = { source_gwei: '0', target_gwei: '0', head_gwei: '0', inactivity_gwei: '0' } as const

const isOfComponent = ({ kind }: EffectRow): boolean => isComponent(kind)

function toEffect({ slot, kind, reference, amount_gwei, block_root: root }: EffectRow): ProofEffect {
  return { slot: Number(slot), kind, reference, amount_gwei, block_root: root === '' ? null : root }
}

/** What is known of the state after a slot: the end of an epoch, or of a day. */
function pointOf(day: ProvenDay, slot: number): ProofPoint {
  const { rows, slotsPerEpoch } = day
  const epoch = Math.floor(slot / slotsPerEpoch)
  const isEndOfEpoch = slot === lastSlotOfEpoch({ slotsPerEpoch }, epoch)
  const proof = isEndOfEpoch ? rows.proofs.find((one) => one.epoch === epoch) : undefined
  const block = rows.blocks.find((one) => Number(one.slot) <= slot)
  return {
    slot,
    balance_gwei: balanceAt(day, slot, epoch),
    state_root: proof === undefined || proof.state_root === '' ? null : proof.state_root,
    block_slot: block === undefined ? null : Number(block.slot),
    block_root: block?.block_root ?? null,
  }
}

function balanceAt({ row, span, rows }: ProvenDay, slot: number, epoch: number): string | null {
  if (slot === span.firstSlot - 1) return row.balance_start_gwei
  if (slot === span.lastSlot) return row.balance_end_gwei
  const known = rows.epochs.find((one) => one.epoch === epoch)
  if (known !== undefined) return known.balance_gwei
  // A whole day that begins with nothing is that of a validator which joins during it.
  return row.balance_start_gwei === '0' ? '0' : null
}

interface Summed {
  readonly start: ProofPoint
  readonly end: ProofPoint
  readonly componentsGwei: bigint
  readonly flowsGwei: bigint
}

function identityOf({ start, end, componentsGwei, flowsGwei }: Summed) {
  const [before, after] = [start.balance_gwei, end.balance_gwei]
  const changeGwei = before === null || after === null ? null : BigInt(after) - BigInt(before)
  return {
    components_gwei: String(componentsGwei),
    flows_gwei: String(flowsGwei),
    balance_change_gwei: changeGwei === null ? null : String(changeGwei),
    residual_gwei: changeGwei === null ? null : String(changeGwei - componentsGwei - flowsGwei),
  }
}

function sumOf(amounts: readonly string[]): bigint {
  return amounts.reduce((sum, amount) => sum + BigInt(amount), 0n)
}
