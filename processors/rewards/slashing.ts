import type { Gwei } from '../../schemas/eth/units.ts'

/** Initial slashing penalty: effective balance // MIN_SLASHING_PENALTY_QUOTIENT of the fork (consensus-specs, slash_validator). */
export function initialSlashingPenalty(effectiveBalanceGwei: Gwei, penaltyQuotient: number): Gwei {
  return effectiveBalanceGwei / BigInt(penaltyQuotient)
}
