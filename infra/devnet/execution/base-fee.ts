import { BASE_FEE_WEI_MIN } from './genesis.ts'

const CHANGE_DENOMINATOR = 8n // EIP-1559
const ELASTICITY = 2n // EIP-1559

/** EIP-1559's next base fee, but never below the devnet's floor. */
export function nextBaseFeeWei(baseFeeWei: bigint, gasUsed: bigint, gasLimit: bigint): bigint {
  const target = gasLimit / ELASTICITY
  const distance = gasUsed > target ? gasUsed - target : target - gasUsed
  const change = (baseFeeWei * distance) / target / CHANGE_DENOMINATOR
  const next = gasUsed > target ? baseFeeWei + (change > 0n ? change : 1n) : baseFeeWei - change
  return next > BASE_FEE_WEI_MIN ? next : BASE_FEE_WEI_MIN
}
