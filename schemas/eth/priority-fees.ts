import type { ExecutionHeaderFields, TransactionColumns } from '../events/execution-block.ts'
import type { Wei } from './units.ts'

/** What of a block its tips follow from. */
export interface PricedBlock {
  readonly header: Pick<ExecutionHeaderFields, 'baseFeePerGasWei'>
  readonly columns: Pick<TransactionColumns, 'gasUsed' | 'effectiveGasPriceWei'>
}

/**
 * Priority fees of a block, in wei: the sum over all receipts, failed transactions included, of
 * gasUsed * (effectiveGasPrice - baseFee) (EIP-1559). Blob fees are burnt and not part of the effective gas price. What is
 * priced below the base fee, as deposits of a layer above are, pays no tip and takes none back.
 */
export function priorityFeesWei({ header, columns }: PricedBlock): Wei {
  const baseFee = BigInt(header.baseFeePerGasWei)
  let total = 0n
  for (let i = 0; i < columns.gasUsed.length; i++) {
    const tip = (columns.effectiveGasPriceWei[i] as bigint) - baseFee
    if (tip > 0n) total += (columns.gasUsed[i] as bigint) * tip
  }
  return total
}
