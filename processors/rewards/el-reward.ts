import type { Wei } from '../../schemas/eth/units.ts'
import { type ExecutionBlockData, lastCoinbaseTransfer } from '../../schemas/events/execution-block.ts'

/**
 * Priority fees of a block, in wei: the sum over all receipts, failed transactions included, of
 * gasUsed * (effectiveGasPrice - baseFee) (EIP-1559). Blob fees are burnt and not part of the effective gas price. What is
 * priced below the base fee, as deposits of a layer above are, pays no tip and takes none back.
 */
export function priorityFeesWei({ header, columns }: ExecutionBlockData): Wei {
  const baseFee = BigInt(header.baseFeePerGasWei)
  let total = 0n
  for (let i = 0; i < columns.gasUsed.length; i++) {
    const tip = (columns.effectiveGasPriceWei[i] as bigint) - baseFee
    if (tip > 0n) total += (columns.gasUsed[i] as bigint) * tip
  }
  return total
}

/** A payment that a block seems to make to its proposer. */
export interface PaymentEvidence {
  readonly recipient: string
  readonly valueWei: Wei
  readonly succeeded: boolean
}

/**
 * What the block's coinbase sent somebody else in the last transaction, which is how a builder, who keeps the tips, pays the
 * proposer. Whether it is that, or a transfer of the proposer's own, is told by whom the proposer is known to be: `blockRevenuesSql`.
 */
export function paymentEvidence(block: ExecutionBlockData): PaymentEvidence | undefined {
  const last = lastCoinbaseTransfer(block)
  if (last === undefined || last.to === null || last.to === block.header.coinbase) return undefined
  const valueWei = BigInt(last.valueWei)
  return valueWei === 0n ? undefined : { recipient: last.to, valueWei, succeeded: last.succeeded }
}
