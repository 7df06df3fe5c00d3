import { type Spec, specInteger } from '../../schemas/eth/chain-spec.ts'

/** First epoch of a fork; Infinity when the node does not plan it. */
export function forkEpoch(spec: Spec, fork: string): number {
  const text = spec[`${fork}_FORK_EPOCH`]
  return text === undefined || BigInt(text) > Number.MAX_SAFE_INTEGER ? Number.POSITIVE_INFINITY : Number(text)
}

/** A number that the node's config/spec must have. */
export function specNumber(spec: Spec, name: string): number {
  return Number(specInteger(spec, name))
}

/** The quotient that the initial slashing penalty is made with (consensus-specs, slash_validator of each fork). */
export function slashingPenaltyQuotient(spec: Spec, epoch: number): number {
  if (epoch >= forkEpoch(spec, 'ELECTRA')) return specNumber(spec, 'MIN_SLASHING_PENALTY_QUOTIENT_ELECTRA')
  if (epoch >= forkEpoch(spec, 'BELLATRIX')) return specNumber(spec, 'MIN_SLASHING_PENALTY_QUOTIENT_BELLATRIX')
  if (epoch >= forkEpoch(spec, 'ALTAIR')) return specNumber(spec, 'MIN_SLASHING_PENALTY_QUOTIENT_ALTAIR')
  return specNumber(spec, 'MIN_SLASHING_PENALTY_QUOTIENT')
}
