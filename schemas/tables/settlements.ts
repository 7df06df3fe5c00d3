import type { RevenueClass } from './execution.ts'

/** Sort keys: the columns that tell one row from another. */
export const SETTLEMENT_TABLES = { settlements: ['chain', 'account', 'slot'] } as const

// Rows as queries return them: 64-bit and wider integers are decimal text.

/** A row of `settlements`. */
export interface SettlementRow {
  readonly chain: string
  readonly account: string
  readonly slot: string
  readonly block_number: string
  readonly validator_index: number
  readonly pubkey: string
  readonly time: string
  readonly fee_address: string
  readonly revenue_class: RevenueClass
  readonly revenue_wei: string
  readonly fee_rate: string
  readonly service_fee_wei: string
  readonly user_reward_wei: string
  readonly version: string
  readonly is_deleted: number
}
