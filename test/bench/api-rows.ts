import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { DAY_OFFSET_SEC, DAY_SEC, dayOfInstant, formatDay } from '../../schemas/eth/time.ts'
import { hashToken } from '../../schemas/events/accounts.ts'

export const BENCH_CHAIN = 'mainnet'
export const BENCH_TOKEN = 'token-of-the-bench'
export const BENCH_VALIDATORS = 64
export const BENCH_DAYS = 90
/** Index of the first of them: a registry has many others before. */
const FIRST_INDEX = 400_000
/** One slot in so many is proposed by one of them: far more often than on mainnet, so that settlements fill pages. */
const SLOTS_PER_PROPOSAL = 337
const SECONDS_PER_SLOT = 12
const SLOTS_PER_EPOCH = 32
const SLOTS_PER_DAY = DAY_SEC / SECONDS_PER_SLOT
const EPOCHS_PER_DAY = SLOTS_PER_DAY / SLOTS_PER_EPOCH
const ACCOUNT = 'bench'

export function benchPubkey(position: number): string {
  return `0x${(FIRST_INDEX + position).toString(16).padStart(96, 'b')}`
}

/** Hash of a block as SQL, from its slot. */
const HASH = "concat('0x', leftPad(lower(hex(slot)), 64, '0'))"
const ADDRESS = `'0x${'fe'.repeat(20)}'`
const DAY = `toDate(toDateTime({genesis:UInt64} + slot * ${SECONDS_PER_SLOT}, 'UTC') + ${DAY_OFFSET_SEC})`

/**
 * Rows as mainnet with its blocks would leave them for one account: closed days up to yesterday, epochs of today as far as two
 * epochs ago, and a settlement of every block that a validator of the account has proposed. Deterministic but for the date.
 */
export async function fillApiRows(warehouse: Warehouse, nowSec: number): Promise<void> {
  const today = dayOfInstant(nowSec)
  const firstDay = today - BENCH_DAYS
  // A chain of any age: its days begin with a slot, its epochs do not.
  const genesis = firstDay * DAY_SEC - DAY_OFFSET_SEC - 17 * SECONDS_PER_SLOT
  const epochs = Math.floor((nowSec - genesis) / SECONDS_PER_SLOT / SLOTS_PER_EPOCH) - 2
  const params = {
    chain: BENCH_CHAIN,
    genesis,
    epochs,
    firstDay: formatDay(firstDay),
    account: ACCOUNT,
    tokenHash: hashToken(BENCH_TOKEN),
    pubkeys: Array.from({ length: BENCH_VALIDATORS }, (_, position) => benchPubkey(position)),
  }
  for (const sql of [...ACCOUNT_ROWS, ...CHAIN_ROWS]) await warehouse.command(sql, params)
}

const ACCOUNT_ROWS = [
  `INSERT INTO access_tokens (token_hash, account, version) SELECT {tokenHash:String}, {account:String}, 1`,
  `INSERT INTO account_validators (account, chain, pubkey, version)
   SELECT {account:String}, {chain:String}, arrayJoin({pubkeys:Array(String)}), 2`,
  `INSERT INTO validator_owners (chain, pubkey, from_day, account, version)
   SELECT {chain:String}, arrayJoin({pubkeys:Array(String)}), toDate(0), {account:String}, 2`,
]

/** Blocks, those of the account among them. */
const BLOCKS = `(
  SELECT number AS slot, intDiv(slot, ${SLOTS_PER_EPOCH}) AS epoch,
    if(slot % ${SLOTS_PER_PROPOSAL} = 0, ${FIRST_INDEX} + intDiv(slot, ${SLOTS_PER_PROPOSAL}) % ${BENCH_VALIDATORS}, slot % 1000000) AS proposer
  FROM numbers({epochs:UInt64} * ${SLOTS_PER_EPOCH})
)`
/** Epochs of each validator. */
const STATES = `(
  SELECT intDiv(number, ${BENCH_VALIDATORS}) AS epoch, epoch * ${SLOTS_PER_EPOCH} AS slot,
    ${FIRST_INDEX} + number % ${BENCH_VALIDATORS} AS validator
  FROM numbers({epochs:UInt64} * ${BENCH_VALIDATORS})
)`
const REVENUE = '(toUInt256(20000000000000000) + slot)'

const CHAIN_ROWS = [
  `INSERT INTO chains (chain, genesis_time_sec, seconds_per_slot, slots_per_epoch, version)
   SELECT {chain:String}, {genesis:UInt64}, ${SECONDS_PER_SLOT}, ${SLOTS_PER_EPOCH}, 1`,
  `INSERT INTO validators (chain, validator_index, pubkey, withdrawal_credentials, version)
   SELECT {chain:String}, ${FIRST_INDEX} + number, {pubkeys:Array(String)}[number + 1],
     concat('0x01', repeat('0', 22), repeat('ab', 20)), 3
   FROM numbers(${BENCH_VALIDATORS})`,
  `INSERT INTO epochs (chain, epoch, first_slot, last_slot, blocks, version)
   SELECT {chain:String}, number, number * ${SLOTS_PER_EPOCH}, number * ${SLOTS_PER_EPOCH} + ${SLOTS_PER_EPOCH - 1}, 32, number + 10
   FROM numbers({epochs:UInt64})`,
  `INSERT INTO validator_epochs (chain, epoch, day, validator_index, source_gwei, target_gwei, head_gwei, inactivity_gwei,
     balance_gwei, effective_balance_gwei, status, slashed, activation_epoch, exit_epoch, withdrawable_epoch, version)
   SELECT {chain:String}, epoch, ${DAY}, validator, 2600, 4900, 2500, 0, 32000000000 + epoch, 32000000000, 2, 0, 0,
     18446744073709551615, 18446744073709551615, epoch + 10
   FROM ${STATES}`,
  `INSERT INTO finalized_blocks (chain, slot, epoch, day, block_root, proposer_index, execution_block_hash,
     execution_block_number, fee_recipient, attestations_gwei, sync_aggregate_gwei, proposer_slashings_gwei,
     attester_slashings_gwei, version)
   SELECT {chain:String}, slot, epoch, ${DAY}, ${HASH}, proposer, ${HASH}, slot + 1, ${ADDRESS}, 30000000, 900000, 0, 0, slot + 10
   FROM ${BLOCKS}`,
  `INSERT INTO execution_blocks (chain, block_hash, block_number, time, coinbase, transactions, base_fee_per_gas_wei,
     priority_fees_wei, matches_hash, version)
   SELECT {chain:String}, ${HASH}, slot + 1, toDateTime({genesis:UInt64} + slot * ${SECONDS_PER_SLOT}, 'UTC'), ${ADDRESS},
     150, 7000000000, ${REVENUE}, 1, slot + 10
   FROM ${BLOCKS}`,
  `INSERT INTO ledger_entries (chain, slot, epoch, day, validator_index, kind, reference, amount_gwei, version)
   SELECT {chain:String}, slot, epoch, ${DAY}, proposer, 'proposer', 0, 31000000, slot + 10
   FROM ${BLOCKS} WHERE slot % ${SLOTS_PER_PROPOSAL} = 0`,
  `INSERT INTO epoch_proofs (chain, epoch, level, version)
   SELECT {chain:String}, epoch, 'reported', slot + 10 FROM ${BLOCKS} WHERE slot % ${SLOTS_PER_PROPOSAL} = 0`,
  `INSERT INTO daily_rewards (chain, day, validator_index, is_whole, source_gwei, target_gwei, head_gwei, inactivity_gwei,
     cl_reward_gwei, el_reward_wei, blocks, balance_start_gwei, balance_end_gwei, version)
   SELECT {chain:String}, toDate({firstDay:String}) + intDiv(number, ${BENCH_VALIDATORS}),
     ${FIRST_INDEX} + number % ${BENCH_VALIDATORS}, 1, ${2600 * EPOCHS_PER_DAY}, ${4900 * EPOCHS_PER_DAY},
     ${2500 * EPOCHS_PER_DAY}, 0, ${10000 * EPOCHS_PER_DAY} + number, 20000000000000000, 1, 32000000000, 32002250000, number + 10
   FROM numbers(${BENCH_DAYS} * ${BENCH_VALIDATORS})`,
  `INSERT INTO closed_days (chain, day, first_slot, last_slot, validators, validators_unexplained, validators_incomplete, version)
   SELECT {chain:String}, toDate({firstDay:String}) + number, 17 + number * ${SLOTS_PER_DAY},
     17 + (number + 1) * ${SLOTS_PER_DAY} - 1, ${BENCH_VALIDATORS}, 0, 0, number + 10
   FROM numbers(${BENCH_DAYS})`,
  `INSERT INTO settlements (chain, account, slot, block_number, validator_index, pubkey, time, fee_address, revenue_class,
     revenue_wei, fee_rate, service_fee_wei, user_reward_wei, version)
   SELECT {chain:String}, {account:String}, slot, slot + 1, proposer, {pubkeys:Array(String)}[proposer - ${FIRST_INDEX} + 1],
     toDateTime({genesis:UInt64} + slot * ${SECONDS_PER_SLOT}, 'UTC'), ${ADDRESS}, 'local', ${REVENUE}, '0.1',
     intDiv(${REVENUE}, 10), ${REVENUE} - intDiv(${REVENUE}, 10), slot + 10
   FROM ${BLOCKS} WHERE slot % ${SLOTS_PER_PROPOSAL} = 0`,
]
