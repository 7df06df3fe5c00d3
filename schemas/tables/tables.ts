/**
 * Every table that is a projection of the log: what `rebuild` empties and a replay fills again, with the columns that
 * tell one row from another (its sort key).
 */
export const PROJECTIONS = {
  chain: ['network'],
  beacon_blocks: ['slot', 'block_root'],
  execution_blocks: ['block_hash'],
  finalized_blocks: ['slot'],
  epochs: ['epoch'],
  validator_epochs: ['epoch', 'validator_index'],
  ledger_entries: ['slot', 'validator_index', 'kind', 'reference'],
  day_balances: ['day', 'validator_index'],
  validators: ['validator_index'],
  access_tokens: ['token_hash'],
  account_validators: ['account', 'pubkey'],
  fee_rates: ['account', 'effective_from'],
  daily_rewards: ['day', 'validator_index'],
  closed_days: ['day'],
  settlements: ['account', 'slot'],
  dead_letters: ['consumer_group', 'topic', 'event_id'],
} as const satisfies Record<string, readonly string[]>

export type Projection = keyof typeof PROJECTIONS

/** Kinds of `ledger_entries`: rewards first, then capital flows. The amount is signed by its effect on the balance. */
export type LedgerKind = 'sync' | 'proposer' | 'slashing_penalty' | 'withdrawal' | 'deposit' | 'returned_from_queue'

/** How the execution revenue of a block was found (`execution_blocks.revenue_class`, `settlements.revenue_class`). */
export type RevenueClass = 'local' | 'builder_payment' | 'unexplained'

// Rows as queries return them: 64-bit and wider integers are decimal text.

/** A row of `daily_rewards`. */
export interface DailyRewardRow {
  readonly day: string
  readonly validator_index: number
  readonly is_whole: number
  readonly source_gwei: string
  readonly target_gwei: string
  readonly head_gwei: string
  readonly inactivity_gwei: string
  readonly sync_gwei: string
  readonly proposer_gwei: string
  readonly slashing_penalty_gwei: string
  readonly cl_reward_gwei: string
  readonly el_reward_wei: string
  readonly blocks: number
  readonly deposits_gwei: string
  readonly withdrawals_gwei: string
  readonly returned_from_queue_gwei: string
  readonly balance_start_gwei: string
  readonly balance_end_gwei: string
  readonly residual_gwei: string
  readonly version: string
}

/** A row of `validator_epochs`. */
export interface ValidatorEpochRow {
  readonly epoch: number
  readonly day: string
  readonly validator_index: number
  readonly source_gwei: string
  readonly target_gwei: string
  readonly head_gwei: string
  readonly inactivity_gwei: string
  readonly balance_gwei: string
  readonly effective_balance_gwei: string
  readonly status: number
  readonly slashed: number
  readonly activation_epoch: string
  readonly exit_epoch: string
  readonly withdrawable_epoch: string
  readonly version: string
}

/** A row of `finalized_blocks`. */
export interface FinalizedBlockRow {
  readonly slot: string
  readonly epoch: number
  readonly day: string
  readonly block_root: string
  readonly proposer_index: number
  readonly execution_block_hash: string
  readonly execution_block_number: string
  readonly fee_recipient: string
  readonly attestations_gwei: string
  readonly sync_aggregate_gwei: string
  readonly proposer_slashings_gwei: string
  readonly attester_slashings_gwei: string
  readonly version: string
}

/** A row of `execution_blocks`. */
export interface ExecutionBlockRow {
  readonly block_hash: string
  readonly block_number: string
  readonly time: string
  readonly coinbase: string
  readonly transactions: number
  readonly base_fee_per_gas_wei: string
  readonly priority_fees_wei: string
  readonly revenue_class: RevenueClass
  readonly revenue_wei: string
  readonly claimed_wei: string
  readonly recipient: string
  readonly version: string
  readonly is_deleted: number
}

/** A row of `settlements`. */
export interface SettlementRow {
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

/** A row of `chain`. */
export interface ChainRow {
  readonly network: string
  readonly genesis_time_sec: string
  readonly seconds_per_slot: number
  readonly slots_per_epoch: number
  readonly version: string
}
