import { type Spec, specInteger } from '../../schemas/eth/chain-spec.ts'
import { slashingPenaltyQuotientOf, TRANSITION_FORKS } from '../../schemas/eth/transition/fork-rules.ts'

/** First epoch of a fork; Infinity when the node does not plan it. */
export function forkEpoch(spec: Spec, fork: string): number {
  const text = spec[`${fork}_FORK_EPOCH`]
  return text === undefined || BigInt(text) > Number.MAX_SAFE_INTEGER ? Number.POSITIVE_INFINITY : Number(text)
}

/** A number that the node's config/spec must have. */
export function specNumber(spec: Spec, name: string): number {
  return Number(specInteger(spec, name))
}

/** The quotient that the initial slashing penalty is made with, from Altair on. */
export function slashingPenaltyQuotient(spec: Spec, epoch: number): number {
  const fork = TRANSITION_FORKS.findLast((name) => epoch >= forkEpoch(spec, name.toUpperCase()))
  return slashingPenaltyQuotientOf(spec, fork ?? 'altair')
}
