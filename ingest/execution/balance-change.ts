import type { BalanceChange, ExecutionBlock } from '../../infra/ports/execution-source.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { priorityFeesWei } from '../../schemas/eth/priority-fees.ts'
import { WEI_PER_GWEI } from '../../schemas/eth/units.ts'
import type { ExplainedBalance } from '../../schemas/events/block-evidence.ts'
import { bytesOfRow } from '../../schemas/events/columns.ts'
import { ADDRESS_BYTES } from '../../schemas/events/execution-block.ts'

/** Blobs are paid apart from gas (EIP-4844), at a price that the block's transactions do not have. */
const BLOB_TYPE = 3

/**
 * An address's balances around a block, with what the block's own bytes explain of their difference. Undefined where they leave it
 * open: the address has sent blobs, or withdrawals or what became of transactions are not known.
 */
export function explainedBalance(
  address: string,
  { beforeWei, afterWei }: BalanceChange,
  block: ExecutionBlock,
): ExplainedBalance | undefined {
  const { header, columns, withdrawals, hasOutcomes } = block
  if (withdrawals === undefined || !hasOutcomes) return undefined
  const own = Buffer.from(bytesOf(address))
  let [receivedWei, spentWei] = [0n, 0n]
  for (let row = 0; row < columns.gasUsed.length; row++) {
    const movedWei = columns.succeeded[row] === 1 ? (columns.valueWei[row] as bigint) : 0n
    if (own.equals(bytesOfRow(columns.recipient, row, ADDRESS_BYTES))) receivedWei += movedWei
    if (!own.equals(bytesOfRow(columns.sender, row, ADDRESS_BYTES))) continue
    if (columns.type[row] === BLOB_TYPE) return undefined
    spentWei += movedWei + (columns.gasUsed[row] as bigint) * (columns.effectiveGasPriceWei[row] as bigint)
  }
  const withdrawnGwei = withdrawals.reduce((sum, one) => (one.address === address ? sum + one.amountGwei : sum), 0n)
  return {
    beforeWei: `${beforeWei}`,
    afterWei: `${afterWei}`,
    withdrawalsWei: `${withdrawnGwei * WEI_PER_GWEI}`,
    receivedWei: `${receivedWei}`,
    spentWei: `${spentWei}`,
    tipsWei: `${header.coinbase === address ? priorityFeesWei(block) : 0n}`,
  }
}
