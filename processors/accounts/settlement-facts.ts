import { parseDay } from '../../schemas/eth/time.ts'
import type { SettlementCorrected, SettlementsLocked } from '../../schemas/events/accounts.ts'
import type { SettlementsKept } from '../../schemas/events/kept-settlements.ts'
import { storedSec } from '../../schemas/tables/stored-sec.ts'
import { constantColumn, type TableRows, textColumn } from '../loop/rows.ts'

/** A record beside those of blocks. */
export function correctionRow(correction: SettlementCorrected, version: bigint): TableRows {
  const { block } = correction
  const columns = {
    chain: [correction.chain],
    account: [correction.account],
    number: Uint32Array.of(correction.number),
    time: Uint32Array.of(storedSec(Date.parse(correction.at) / 1000)),
    pubkey: [correction.pubkey],
    validator_index: Uint32Array.of(correction.validatorIndex),
    user_reward_wei: [BigInt(correction.userRewardWei)],
    service_fee_wei: [BigInt(correction.serviceFeeWei)],
    reason: [correction.reason],
    is_of_block: Uint8Array.of(block === undefined ? 0 : 1),
    slot: BigUint64Array.of(BigInt(block?.slot ?? 0)),
    block_number: BigUint64Array.of(BigInt(block?.number ?? 0)),
    version: BigUint64Array.of(version),
  }
  return { table: 'settlement_corrections', columns }
}

/** What was settled, as it was when it was locked. */
export function keptRows({ lockId, account, chain, records }: SettlementsKept, version: bigint): TableRows {
  const columns = {
    chain: textColumn(records.length, chain),
    account: textColumn(records.length, account),
    slot: BigUint64Array.from(records, ({ slot }) => BigInt(slot)),
    lock_id: textColumn(records.length, lockId),
    block_number: BigUint64Array.from(records, ({ blockNumber }) => BigInt(blockNumber)),
    validator_index: Uint32Array.from(records, ({ validatorIndex }) => validatorIndex),
    pubkey: records.map(({ pubkey }) => pubkey),
    time: Uint32Array.from(records, ({ timeSec }) => timeSec),
    fee_address: records.map(({ feeAddress }) => feeAddress),
    revenue_class: records.map(({ revenueClass }) => revenueClass),
    revenue_wei: records.map(({ revenueWei }) => BigInt(revenueWei)),
    fee_rate: records.map(({ feeRate }) => feeRate),
    service_fee_wei: records.map(({ serviceFeeWei }) => BigInt(serviceFeeWei)),
    user_reward_wei: records.map(({ revenueWei, serviceFeeWei }) => BigInt(revenueWei) - BigInt(serviceFeeWei)),
    settled_version: BigUint64Array.from(records, (record) => BigInt(record.version)),
    version: constantColumn(records.length, version),
  }
  return { table: 'locked_settlements', columns }
}

/** None for a lock of an earlier release: it binds whoever adds facts, and no row. */
export function lockRows({ account, through, lockId }: SettlementsLocked, version: bigint): readonly TableRows[] {
  if (lockId === '') return []
  const columns = {
    account: [account],
    lock_id: [lockId],
    through: Uint16Array.of(parseDay(through) ?? 0),
    version: BigUint64Array.of(version),
  }
  return [{ table: 'settlement_locks', columns }]
}
