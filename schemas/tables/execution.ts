/** Sort keys: the columns that tell one row from another. */
export const EXECUTION_TABLES = {
  execution_blocks: ['chain', 'block_hash'],
  execution_finality: ['chain'],
  execution_log_parts: ['chain', 'block_number', 'block_hash', 'part'],
  execution_heights: ['chain', 'block_number', 'block_hash'],
  execution_senders: ['chain', 'block_number', 'block_hash', 'transaction_index'],
  reverted_blocks: ['chain', 'block_number', 'block_hash'],
  weak_blocks: ['chain', 'logs_check', 'block_number', 'block_hash'],
} as const

/** How the execution revenue of a finalized block was found: `blockRevenuesSql`, `settlements.revenue_class`. */
export type RevenueClass = 'local' | 'builder_payment' | 'unexplained'

// Rows as queries return them: 64-bit and wider integers are decimal text.

/** A row of `execution_blocks`. */
export interface ExecutionBlockRow {
  readonly chain: string
  readonly block_hash: string
  readonly block_number: string
  readonly time: string
  readonly coinbase: string
  readonly transactions: number
  readonly base_fee_per_gas_wei: string
  readonly priority_fees_wei: string
  readonly payment_recipient: string
  readonly payment_wei: string
  readonly payment_succeeded: number
  readonly log_parts: number
  readonly matches_hash: number
  readonly version: string
  readonly is_deleted: number
}
