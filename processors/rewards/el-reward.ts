import type { Wei } from '../../schemas/eth/units.ts'
import { coinbaseTransfers, type ExecutionBlockData } from '../../schemas/events/execution-block.ts'
import type { RevenueClass } from '../../schemas/tables/execution.ts'

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

export interface ExecutionRevenue {
  readonly class: RevenueClass
  /** What the recipient provably received. */
  readonly revenueWei: Wei
  /** What the block claims to have paid. */
  readonly claimedWei: Wei
  readonly recipient: string
}

/**
 * Whom a block paid for being proposed, and how much. A builder keeps the tips and pays the proposer in the block's last
 * transaction, so tips and payment are never added. A payment that failed proves nothing: its value is kept as a claim.
 */
export function executionRevenue(block: ExecutionBlockData, tipsWei: Wei): ExecutionRevenue {
  const { header, columns } = block
  const lastIndex = columns.gasUsed.length - 1
  const last = coinbaseTransfers(block).findLast((transfer) => transfer.transactionIndex === lastIndex)
  const valueWei = last === undefined ? 0n : BigInt(last.valueWei)
  if (last === undefined || last.to === null || last.to === header.coinbase || valueWei === 0n) {
    return { class: 'local', revenueWei: tipsWei, claimedWei: tipsWei, recipient: header.coinbase }
  }
  return last.succeeded
    ? { class: 'builder_payment', revenueWei: valueWei, claimedWei: valueWei, recipient: last.to }
    : { class: 'unexplained', revenueWei: 0n, claimedWei: valueWei, recipient: last.to }
}
