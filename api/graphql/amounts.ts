import { formatEthFromGwei, formatEthFromWei } from '../../schemas/eth/units.ts'

/** A `GweiAmount`. */
export const gwei = (amount: bigint) => ({ gwei: amount.toString(), eth: formatEthFromGwei(amount) })

/** A `WeiAmount`. */
export const wei = (amount: bigint) => ({ wei: amount.toString(), eth: formatEthFromWei(amount) })
