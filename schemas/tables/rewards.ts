import type { BalanceEffectKind } from '../events/balance-effects.ts'
import type { DayLevel } from './day-levels.ts'
import { textSql } from './literals.ts'

/** Sort keys: the columns that tell one row from another. */
export const REWARD_TABLES = {
  chains: ['chain'],
  finalized_blocks: ['chain', 'slot'],
  epoch_parts: ['chain', 'epoch', 'kind', 'range', 'is_expected', 'rows'],
  epochs: ['chain', 'epoch'],
  validator_epochs: ['chain', 'epoch', 'validator_index'],
  ledger_entries: ['chain', 'slot', 'validator_index', 'kind', 'reference'],
  epoch_proofs: ['chain', 'epoch'],
  epoch_residuals: ['chain', 'epoch', 'validator_index'],
  missed_slots: ['chain', 'slot'],
  network_epochs: ['chain', 'epoch'],
  epoch_differences: ['chain', 'epoch', 'node', 'what'],
  day_balances: ['chain', 'day', 'validator_index'],
  daily_rewards: ['chain', 'day', 'validator_index'],
  closed_days: ['chain', 'day'],
  monthly_rewards: ['chain', 'month', 'validator_index'],
  closed_months: ['chain', 'month'],
} as const

/** Kinds of `ledger_entries`: rewards first, then capital flows. The amount is signed by its effect on the balance. */
export type LedgerKind = 'sync' | 'proposer' | BalanceEffectKind

const SLASHINGS: readonly LedgerKind[] = ['slashing_penalty', 'slashing_correlation']
const WITHDRAWALS: readonly LedgerKind[] = [
  'withdrawal',
  'withdrawal_requested',
  'withdrawal_partial',
  'withdrawal_full',
]

/** Whether a change of a balance is income or a loss, and no capital. */
export function isComponent(kind: LedgerKind): boolean {
  return kind === 'sync' || kind === 'proposer' || SLASHINGS.includes(kind)
}

/** Conditions on `kind`, of kinds that count as one. */
export const IS_SLASHING = isOneOf(SLASHINGS)
export const IS_WITHDRAWAL = isOneOf(WITHDRAWALS)

function isOneOf(kinds: readonly LedgerKind[]): string {
  return `kind IN (${kinds.map(textSql).join(', ')})`
}

/** Whether the balances are known that a day began with: of the day in which a chain began, earlier logs have none. Parameters: `chain` String, `day` Date. */
export const IS_START_TOLD_SQL =
  'SELECT count() > 0 AS told FROM day_balances WHERE chain = {chain:String} AND day = {day:Date}'

// Rows as queries return them: 64-bit and wider integers are decimal text.

/** A row of `daily_rewards`. */
export interface DailyRewardRow {
  readonly chain: string
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
  readonly blocks_unexplained: number
  readonly unexplained_wei: string
  readonly deposits_gwei: string
  readonly withdrawals_gwei: string
  readonly returned_from_queue_gwei: string
  readonly moved_to_queue_gwei: string
  readonly consolidations_in_gwei: string
  readonly consolidations_out_gwei: string
  readonly balance_start_gwei: string
  readonly balance_end_gwei: string
  readonly residual_gwei: string
  /** Epochs at whose end it was active, and the sum of its effective balances at these ends. */
  readonly active_epochs: number
  readonly effective_balance_epochs_gwei: string
  readonly level: DayLevel
  readonly version: string
}

/** A row of `validator_epochs`. */
export interface ValidatorEpochRow {
  readonly chain: string
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
  readonly chain: string
  readonly slot: string
  readonly epoch: number
  readonly day: string
  readonly block_root: string
  readonly proposer_index: number
  readonly execution_block_hash: string
  readonly execution_block_number: string
  readonly fee_recipient: string
  /** 0: the proposer was not tracked and its rewards are not known. */
  readonly has_rewards: number
  readonly attestations_gwei: string
  readonly sync_aggregate_gwei: string
  readonly proposer_slashings_gwei: string
  readonly attester_slashings_gwei: string
  readonly version: string
}

/** A row of `chains`. */
export interface ChainRow {
  readonly chain: string
  readonly genesis_time_sec: string
  readonly seconds_per_slot: number
  readonly slots_per_epoch: number
  readonly version: string
}
