import { type EffectKind, isProposerKind } from '../../schemas/eth/transition/effects.ts'
import type { ExplainedEpoch } from '../../schemas/eth/transition/explain-epoch.ts'
import { isActive, type StateColumns } from '../../schemas/eth/transition/state-columns.ts'
import { GWEI_PER_ETH } from '../../schemas/eth/units.ts'
import type { NetworkSums } from '../../schemas/events/beacon-epoch.ts'

const SLASHINGS: ReadonlySet<EffectKind> = new Set(['slashing_penalty', 'slashing_correlation'])

/** What an epoch credited to the whole registry; undefined where a balance of it is left unexplained. */
export function networkSums(explained: ExplainedEpoch, after: StateColumns): NetworkSums | undefined {
  if (explained.residuals.size > 0) return undefined
  const { epoch, effects, seats } = explained
  let [activeValidators, increments] = [0, 0]
  for (let index = 0; index < after.validators; index++) {
    if (!isActive(after, index, epoch)) continue
    activeValidators++
    increments += after.effectiveIncrements[index] as number
  }
  let [proposer, slashing] = [0, 0]
  for (const { kind, gwei } of effects) {
    if (isProposerKind(kind)) proposer += gwei
    else if (SLASHINGS.has(kind)) slashing += gwei
  }
  return {
    activeValidators,
    effectiveBalanceGwei: String(BigInt(increments) * BigInt(GWEI_PER_ETH)),
    sourceGwei: sumOf(explained.sourceGwei),
    targetGwei: sumOf(explained.targetGwei),
    headGwei: sumOf(explained.headGwei),
    inactivityGwei: sumOf(explained.inactivityGwei),
    syncGwei: sumOf(seats.gwei),
    proposerGwei: String(proposer),
    slashingPenaltyGwei: String(slashing),
    idealAttestationsGwei: String(explained.idealGwei),
  }
}

/** Doubles are exact: an epoch moves less than 2^53 gwei, which is 9 million ETH. */
function sumOf(gwei: Int32Array | Float64Array): string {
  let sum = 0
  for (let place = 0; place < gwei.length; place++) sum += gwei[place] as number
  return String(sum)
}
