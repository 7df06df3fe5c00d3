import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { AppError } from '../../schemas/errors.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { executionBlock, executionBlockReverted } from '../../schemas/events/execution-block.ts'
import { type TableRows, versionOf } from '../loop/rows.ts'
import { executionRevenue, priorityFeesWei } from './el-reward.ts'

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`

/** Rows of one event of `execution.blocks`. */
export function executionRows(stored: StoredEvent, unnamedChain?: string): readonly TableRows[] {
  const version = versionOf(stored.position)
  switch (stored.event.type) {
    case executionBlock.name: {
      const block = decodeEvent(executionBlock, stored.event, unnamedChain)
      const { header, columns } = block
      const tipsWei = priorityFeesWei(block)
      const revenue = executionRevenue(block, tipsWei)
      return [
        {
          table: 'execution_blocks',
          columns: {
            block_hash: [header.hash],
            block_number: BigUint64Array.of(BigInt(header.number)),
            time: Uint32Array.of(header.timestampSec),
            coinbase: [header.coinbase],
            transactions: Uint32Array.of(columns.gasUsed.length),
            base_fee_per_gas_wei: [BigInt(header.baseFeePerGasWei)],
            priority_fees_wei: [tipsWei],
            revenue_class: [revenue.class],
            revenue_wei: [revenue.revenueWei],
            claimed_wei: [revenue.claimedWei],
            recipient: [revenue.recipient],
            version: BigUint64Array.of(version),
            is_deleted: Uint8Array.of(0),
          },
        },
      ]
    }
    case executionBlockReverted.name: {
      const { number, hash } = decodeEvent(executionBlockReverted, stored.event, unnamedChain)
      return [
        {
          table: 'execution_blocks',
          columns: {
            block_hash: [hash],
            block_number: BigUint64Array.of(BigInt(number)),
            time: Uint32Array.of(0),
            coinbase: [ZERO_ADDRESS],
            transactions: Uint32Array.of(0),
            base_fee_per_gas_wei: [0n],
            priority_fees_wei: [0n],
            revenue_class: ['unexplained'],
            revenue_wei: [0n],
            claimed_wei: [0n],
            recipient: [ZERO_ADDRESS],
            version: BigUint64Array.of(version),
            is_deleted: Uint8Array.of(1),
          },
        },
      ]
    }
    default:
      throw new AppError('undecodable', `unknown event type ${stored.event.type} among the execution blocks`)
  }
}
