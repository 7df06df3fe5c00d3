import type { StakingNode } from '../../infra/ports/staking-node.ts'
import { checksumAddress } from '../../schemas/eth/address.ts'
import type { Hex } from '../../schemas/eth/hex.ts'
import { TRANSACTION_GAS_MAX } from '../../schemas/eth/staking-transaction.ts'
import type { QuotedTransaction } from '../../schemas/jobs/quote-stake.ts'

/** What is added to the gas of a simulation: what comes first may change what a contract's storage costs. */
const GAS_HEADROOM_PERCENT = 20n

/** A call that a wallet is to send; addresses are lower-case hex. */
export interface QuotedCall {
  readonly from: string
  readonly to: string
  readonly valueWei: bigint
  readonly data: Hex
  /** Where no node simulates the call. */
  readonly gasFallback: bigint
}

/** The call as a transaction to sign; undefined where it would revert as the chain is now. Throws AppError of a node fault. */
export async function quotedTransaction(node: StakingNode, call: QuotedCall): Promise<QuotedTransaction | undefined> {
  const { from, to, valueWei, data, gasFallback } = call
  const [{ chainId }, simulation] = await Promise.all([node.facts(), node.simulate({ from, to, valueWei, data })])
  if (simulation.status === 'reverted') return undefined
  const gas = simulation.status === 'done' ? (simulation.gas * (100n + GAS_HEADROOM_PERCENT)) / 100n : gasFallback
  return {
    gas: quantity(gas < TRANSACTION_GAS_MAX ? gas : TRANSACTION_GAS_MAX),
    to: checksumAddress(to),
    from: checksumAddress(from),
    value: quantity(valueWei),
    data,
    chainId: quantity(chainId),
  }
}

function quantity(value: bigint | number): Hex {
  return `0x${value.toString(16)}`
}
