/** Sort keys: the columns that tell one row from another. */
export const EXECUTION_TABLES = {
  execution_blocks: ['chain', 'block_hash'],
  block_payments: ['chain', 'block_hash', 'transaction_index'],
  block_balances: ['chain', 'block_hash', 'address'],
  relay_claims: ['chain', 'block_hash', 'relay'],
  execution_finality: ['chain'],
  execution_log_parts: ['chain', 'block_number', 'block_hash', 'bucket', 'part'],
  execution_heights: ['chain', 'block_number', 'block_hash'],
  execution_senders: ['chain', 'block_number', 'block_hash', 'transaction_index'],
  reverted_blocks: ['chain', 'block_number', 'block_hash'],
  weak_blocks: ['chain', 'logs_check', 'block_number', 'block_hash'],
} as const

/** Before the merge, blocks have a payload of zeros: there is no execution block to wait for. */
export const NO_EXECUTION_BLOCK = `0x${'00'.repeat(32)}`

/** How the execution revenue of a finalized block was found: `blockRevenuesSql`, `settlements.revenue_class`. */
export type RevenueClass =
  | 'local'
  | 'builder_payment'
  | 'coinbase_is_proposer'
  | 'direct_transfers'
  | 'relay_only'
  | 'unexplained'

/** Who has sent what may be a payment: the coinbase, or somebody else at the block's end. */
export type Payer = 'coinbase' | 'other'

// Rows as queries return them: 64-bit and wider integers are decimal text.

/** A row of `block_payments`. */
export interface BlockPaymentRow {
  readonly chain: string
  readonly block_hash: string
  readonly transaction_index: number
  readonly transaction_hash: string
  readonly sender: string
  readonly recipient: string
  readonly value_wei: string
  readonly succeeded: number
  readonly payer: Payer
  readonly pays_tip: number
  readonly runs_code: number
  readonly version: string
}

/** A row of `block_balances`. */
export interface BlockBalanceRow {
  readonly chain: string
  readonly block_hash: string
  readonly address: string
  readonly before_wei: string
  readonly after_wei: string
  readonly withdrawals_wei: string
  readonly received_wei: string
  readonly spent_wei: string
  readonly tips_wei: string
  readonly internal_wei: string
  readonly version: string
}

/** A row of `relay_claims`. */
export interface RelayClaimRow {
  readonly chain: string
  readonly block_hash: string
  readonly relay: string
  readonly value_wei: string
  readonly fee_recipient: string
  readonly proposer_pubkey: string
  readonly builder_pubkey: string
  readonly slot: string
  readonly version: string
}
