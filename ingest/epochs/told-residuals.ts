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
  const take = (rows: Uint32Array, gwei: BigInt64Array): void => takeRows(left, states.validatorIndex, rows, gwei)
  take(before.validatorIndex, before.balanceGwei)
  const { sourceGwei, targetGwei, headGwei, inactivityGwei } = attestations
  for (const part of [sourceGwei, targetGwei, headGwei, inactivityGwei]) take(attestations.validatorIndex, part)
  take(sync.validatorIndex, sync.syncGwei)
  const amounts = BigInt64Array.from(effects, ({ amountGwei }) => BigInt(amountGwei))
  take(
    Uint32Array.from(effects, ({ validatorIndex }) => validatorIndex),
    amounts,
  )
  return left
}

/** Takes amounts of rows of whatever order off those of the same validators; where most ascend, without looking for each. */
function takeRows(left: BigInt64Array, validators: Uint32Array, rows: Uint32Array, gwei: BigInt64Array): void {
  let at = 0
  for (let row = 0; row < rows.length; row++) {
    const index = rows[row] as number
    if (validators[at] !== index) {
      const found = positionIn(validators, index)
      if (found === undefined) continue
      at = found
    }
    left[at] = (left[at] as bigint) - (gwei[row] as bigint)
    at++
  }
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
  for (let i = 0; i < left.length; i++) {
    const gwei = left[i] as bigint
    if (gwei <= ROUNDING_GWEI_MAX && gwei >= -ROUNDING_GWEI_MAX) continue
    const validatorIndex = states.validatorIndex[i] as number
    if (hasBalances(validatorIndex)) residuals.push({ validatorIndex, gwei: String(gwei) })
  }
  return residuals
}
