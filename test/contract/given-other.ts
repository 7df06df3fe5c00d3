import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { DEPOSIT_CONTRACT } from '../unit/given-staking.ts'
import {
  addressOf,
  dailyRow,
  epochRow,
  GENESIS_SEC,
  hashOf,
  insertOwners,
  insertRows,
  pubkeyOf,
  UNFUNDED_MAX,
} from './api-fixture.ts'

// What the account `other` comes to have, beside what the API's fixture has.

export const DAY = '2026-11-19'
export const NEXT_DAY = '2026-11-20'

/** A validator of the registry, one that was only created and deposited, one whose staking failed, and an address. */
export const INDEX = 21
export const PUBKEY = pubkeyOf(INDEX)
export const CREATED = pubkeyOf(960)
export const FAILED = pubkeyOf(961)
export const ADDRESS = addressOf(0x7777)
const SLOT = 14_380
/** What it calls them, and one of the account that asks. */
export const LABEL = 'of another account'
export const DEPOSITED_BY = hashOf(0x71717171)
const STAKED_BY = hashOf(0x72727272)

const CREDENTIALS = `0x01${'00'.repeat(11)}${ADDRESS.slice(2)}`
const dataRootOf = (at: number) => hashOf(0x73737300 + at)
const timeSecOf = (slot: number) => GENESIS_SEC + 12 * slot

/** Everything that tables can have of a validator, for the other account. */
export async function giveToOther(warehouse: Warehouse): Promise<void> {
  const created = [CREATED, FAILED, PUBKEY, ...Array.from({ length: UNFUNDED_MAX }, (_, i) => pubkeyOf(970 + i))]
  await insertOwners(
    warehouse,
    created.map((pubkey) => ({ account: 'other', pubkey })),
  )
  await insertRows(warehouse, 'validators', [
    { validator_index: INDEX, pubkey: PUBKEY, withdrawal_credentials: CREDENTIALS, version: 1 },
  ])
  await insertRows(
    warehouse,
    'created_validators',
    created.map((pubkey, at) => ({
      pubkey,
      account: 'other',
      withdrawal_credentials: CREDENTIALS,
      deposit_from: ADDRESS,
      fee_recipient: ADDRESS,
      amount_gwei: 32_000_000_000n,
      deposit_data_root: dataRootOf(at),
      created_at: '2026-11-19 00:00:00',
      created_at_slot: SLOT - 100,
      version: 1,
    })),
  )
  await insertRows(warehouse, 'daily_rewards', [dailyRow(DAY, INDEX, 5_555n, 6_666n)])
  await insertRows(warehouse, 'validator_epochs', [
    epochRow(449, DAY, INDEX),
    epochRow(450, NEXT_DAY, INDEX),
    epochRow(451, NEXT_DAY, INDEX),
  ])
  await insertRows(warehouse, 'finalized_blocks', [
    {
      slot: SLOT,
      epoch: 449,
      day: DAY,
      block_root: hashOf(SLOT),
      proposer_index: INDEX,
      execution_block_hash: hashOf(SLOT),
      execution_block_number: SLOT,
      fee_recipient: ADDRESS,
      has_rewards: 1,
      attestations_gwei: 1,
      sync_aggregate_gwei: 2,
      proposer_slashings_gwei: 0,
      attester_slashings_gwei: 0,
      version: 1,
    },
  ])
  await insertRows(
    warehouse,
    'validator_labels',
    [PUBKEY, CREATED, pubkeyOf(10)].map((pubkey) => ({ account: 'other', pubkey, label: LABEL, version: 1 })),
  )
  await insertRows(warehouse, 'settlements', [
    {
      account: 'other',
      slot: SLOT,
      block_number: SLOT,
      validator_index: INDEX,
      pubkey: PUBKEY,
      time: '2026-11-19 03:00:00',
      fee_address: ADDRESS,
      revenue_class: 'local',
      revenue_wei: 10n,
      fee_rate: '0.5',
      service_fee_wei: 5n,
      user_reward_wei: 5n,
      version: 1,
    },
  ])
  await insertRows(warehouse, 'execution_blocks', [
    {
      block_hash: hashOf(SLOT),
      block_number: SLOT,
      time: timeSecOf(SLOT),
      coinbase: ADDRESS,
      transactions: 1,
      base_fee_per_gas_wei: 7,
      priority_fees_wei: 9,
      version: 1,
      is_deleted: 0,
    },
  ])
  await giveEvidence(warehouse)
  await giveSteps(warehouse, created)
}

/** What the block's revenue is read out of. */
async function giveEvidence(warehouse: Warehouse): Promise<void> {
  const ofBlock = { block_hash: hashOf(SLOT), version: 1 }
  const payment = { transaction_hash: hashOf(SLOT), sender: ADDRESS, recipient: DEPOSIT_CONTRACT, value_wei: 3n }
  await insertRows(warehouse, 'block_payments', [{ ...ofBlock, ...payment, succeeded: 1, payer: 'coinbase' }])
  const balance = { before_wei: 1n, after_wei: 10n, withdrawals_wei: 0n, received_wei: 0n, spent_wei: 0n, tips_wei: 9n }
  await insertRows(warehouse, 'block_balances', [{ ...ofBlock, address: ADDRESS, ...balance, internal_wei: 0n }])
  const claim = { value_wei: 9n, fee_recipient: ADDRESS, proposer_pubkey: PUBKEY, builder_pubkey: PUBKEY, slot: SLOT }
  await insertRows(warehouse, 'relay_claims', [{ ...ofBlock, relay: 'relay 1', ...claim }])
}

/** Deposits, a staking transaction that failed, and an exit on its way. */
async function giveSteps(warehouse: Warehouse, created: readonly string[]): Promise<void> {
  const deposited = [PUBKEY, CREATED]
  await insertRows(
    warehouse,
    'deposits',
    deposited.map((pubkey, log_index) => ({
      pubkey,
      contract: DEPOSIT_CONTRACT,
      block_hash: hashOf(SLOT),
      log_index,
      block_number: SLOT,
      time: timeSecOf(SLOT),
      transaction_hash: DEPOSITED_BY,
      withdrawal_credentials: CREDENTIALS,
      amount_gwei: 32_000_000_000n,
      deposit_data_root: dataRootOf(created.indexOf(pubkey)),
      deposit_index: log_index,
      version: 1,
    })),
  )
  const staking = { transaction_hash: STAKED_BY, time: timeSecOf(SLOT), version: 1 }
  await insertRows(warehouse, 'staking_steps', [
    { ...staking, step: 'broadcast', pubkey: FAILED, block_number: 0 },
    { ...staking, step: 'failed', pubkey: '', block_number: SLOT, version: 2 },
  ])
  await insertRows(
    warehouse,
    'exit_steps',
    ['requested', 'signed', 'submitted'].map((step, at) => ({
      pubkey: PUBKEY,
      step,
      time: timeSecOf(SLOT + at),
      epoch: 449,
      reason: '',
      version: 1 + at,
    })),
  )
}
