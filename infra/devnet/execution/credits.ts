import type { Hex } from '../../../schemas/eth/hex.ts'
import type { EngineWithdrawal } from '../engine.ts'
import type { Call } from './json-rpc.ts'

const WEI_PER_GWEI = 1_000_000_000n

/** Withdrawals as credits, one call per address. */
export function creditCalls(withdrawals: readonly EngineWithdrawal[]): Call[] {
  const gweiByAddress = new Map<Hex, bigint>()
  for (const { address, amountGwei } of withdrawals) {
    gweiByAddress.set(address, (gweiByAddress.get(address) ?? 0n) + amountGwei)
  }
  return [...gweiByAddress].map(([address, gwei]) => [
    'anvil_addBalance',
    [address, `0x${(gwei * WEI_PER_GWEI).toString(16)}`],
  ])
}
