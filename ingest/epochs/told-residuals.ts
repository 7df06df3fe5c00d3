import type { AttestationRewards, Balances, ValidatorStates } from '../../infra/ports/beacon-source.ts'
import type { BalanceEffect } from '../../schemas/events/balance-effects.ts'
import type { EpochBlocksColumns, EpochBlocksHeader, FinalizedBlock } from '../../schemas/events/beacon-epoch.ts'
import { ROUNDING_GWEI_MAX } from '../../schemas/tables/day-levels.ts'
import { positionIn } from './registry-rows.ts'

/** What an epoch did to balances, as nodes have told it, but for what proposers earned. */
export interface ToldFigures {
  /** After the last slot before the epoch; of whoever joined in it there is no row. */
  readonly before: Balances
  /** After the epoch. */
  readonly states: Pick<ValidatorStates, 'validatorIndex' | 'balanceGwei' | 'slashed'>
  readonly attestations: AttestationRewards
  readonly sync: EpochBlocksColumns
  readonly effects: readonly BalanceEffect[]
}

/** What is left of the change of each validator's balance, gwei, in the order of `states`: what it earned as a proposer, if all is true. */
export function unexplainedChanges({ before, states, attestations, sync, effects }: ToldFigures): BigInt64Array {
  const left = states.balanceGwei.slice()
  const take = (index: number, gwei: bigint): void => {
    const at = positionIn(states.validatorIndex, index)
    if (at !== undefined) left[at] = (left[at] as bigint) - gwei
  }
  before.validatorIndex.forEach((index, i) => {
    take(index, before.balanceGwei[i] as bigint)
  })
  const { sourceGwei, targetGwei, headGwei, inactivityGwei } = attestations
  attestations.validatorIndex.forEach((index, i) => {
    for (const part of [sourceGwei, targetGwei, headGwei, inactivityGwei]) take(index, part[i] as bigint)
  })
  sync.validatorIndex.forEach((index, i) => {
    take(index, sync.syncGwei[i] as bigint)
  })
  for (const { validatorIndex, amountGwei } of effects) take(validatorIndex, BigInt(amountGwei))
  return left
}

/** All that a proposer earned with a block, gwei. */
export function proposerGwei(block: FinalizedBlock): bigint {
  const { attestationsGwei, syncAggregateGwei, proposerSlashingsGwei, attesterSlashingsGwei } = block
  const parts = [attestationsGwei, syncAggregateGwei, proposerSlashingsGwei, attesterSlashingsGwei]
  return parts.reduce((sum, part) => sum + BigInt(part ?? 0), 0n)
}

/**
 * Validators whose balances are not explained by what nodes have told of the epoch, by more than nodes round; `changes` as `unexplainedChanges`
 * tells them. Whoever joined by a deposit that nodes do not tell apart (before Electra) has nothing to be compared with.
 */
export function toldResiduals(
  { before, states, effects }: ToldFigures,
  changes: BigInt64Array,
  blocks: readonly FinalizedBlock[],
): EpochBlocksHeader['residuals'] {
  const left = changes.slice()
  for (const block of blocks) {
    const at = positionIn(states.validatorIndex, block.proposerIndex)
    if (at !== undefined) left[at] = (left[at] as bigint) - proposerGwei(block)
  }
  const deposited = new Set(
    effects.filter(({ kind }) => kind === 'deposit').map(({ validatorIndex }) => validatorIndex),
  )
  const hasBalances = (index: number) => deposited.has(index) || positionIn(before.validatorIndex, index) !== undefined
  const residuals: EpochBlocksHeader['residuals'] = []
  states.validatorIndex.forEach((validatorIndex, i) => {
    const gwei = left[i] as bigint
    if (gwei <= ROUNDING_GWEI_MAX && gwei >= -ROUNDING_GWEI_MAX) return
    if (hasBalances(validatorIndex)) residuals.push({ validatorIndex, gwei: String(gwei) })
  })
  return residuals
}
