import { type EffectKind, isProposerKind } from '../../schemas/eth/transition/effects.ts'
import type { ExplainedEpoch } from '../../schemas/eth/transition/explain-epoch.ts'
import { GWEI_PER_ETH } from '../../schemas/eth/units.ts'
import type { NetworkSums } from '../../schemas/events/beacon-epoch.ts'

const SLASHINGS: ReadonlySet<EffectKind> = new Set(['slashing_penalty', 'slashing_correlation'])

/** What an epoch credited to the whole registry; undefined where a balance of it is left unexplained. */
export function networkSums(explained: ExplainedEpoch): NetworkSums | undefined {
  if (explained.residuals.size > 0) return undefined
  const { active, effects, seats } = explained
  let [proposer, slashing] = [0, 0]
  for (const { kind, gwei } of effects) {
    if (isProposerKind(kind)) proposer += gwei
    else if (SLASHINGS.has(kind)) slashing += gwei
  }
  return {
    activeValidators: active.validators,
    effectiveBalanceGwei: String(BigInt(active.increments) * BigInt(GWEI_PER_ETH)),
    sourceGwei: sumOfInts(explained.sourceGwei),
    targetGwei: sumOfInts(explained.targetGwei),
    headGwei: sumOfInts(explained.headGwei),
    inactivityGwei: sumOf(explained.inactivityGwei),
    syncGwei: sumOf(seats.gwei),
    proposerGwei: String(proposer),
    slashingPenaltyGwei: String(slashing),
    idealAttestationsGwei: String(explained.idealGwei),
  }
}

// Doubles are exact: an epoch moves less than 2^53 gwei, which is 9 million ETH. A loop for each kind of columns: one that meets both takes four times
// as long.

function sumOf(gwei: Float64Array): string {
  let sum = 0
  for (let place = 0; place < gwei.length; place++) sum += gwei[place] as number
  return String(sum)
}

function sumOfInts(gwei: Int32Array): string {
  let sum = 0
  for (let place = 0; place < gwei.length; place++) sum += gwei[place] as number
  return String(sum)
}
