import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { AppError } from '../../schemas/errors.ts'
import { type ChainClock, dayOfSlot, firstSlotOfEpoch, lastSlotOfEpoch } from '../../schemas/eth/time.ts'
import { GWEI_PER_ETH } from '../../schemas/eth/units.ts'
import {
  type DayBalancesData,
  dayBalances,
  type EpochBlocksData,
  type EpochBlocksHeader,
  type EpochValidatorsData,
  epochBlocks,
  epochValidators,
} from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import type { LedgerKind } from '../../schemas/tables/tables.ts'
import { constantColumn, type TableRows, versionOf } from '../loop/rows.ts'
import { initialSlashingPenalty } from './slashing.ts'

/** Rows of one event of the finalized stream (`beacon.epochs`). */
export function finalizedRows(stored: StoredEvent): readonly TableRows[] {
  const version = versionOf(stored.position)
  switch (stored.event.type) {
    case epochValidators.name:
      return [validatorEpochRows(decodeEvent(epochValidators, stored.event), version)]
    case dayBalances.name:
      return [dayBalanceRows(decodeEvent(dayBalances, stored.event), version)]
    case epochBlocks.name:
      return epochBlockRows(decodeEvent(epochBlocks, stored.event), version)
    default:
      throw new AppError('undecodable', `unknown event type ${stored.event.type} in the finalized stream`)
  }
}

function validatorEpochRows({ header, columns }: EpochValidatorsData, version: bigint): TableRows {
  const rows = columns.validatorIndex.length
  const effectiveBalanceGwei = new BigInt64Array(rows)
  for (let i = 0; i < rows; i++) {
    effectiveBalanceGwei[i] = BigInt(columns.effectiveBalanceEth[i] as number) * GWEI_PER_ETH
  }
  return {
    table: 'validator_epochs',
    columns: {
      epoch: new Uint32Array(rows).fill(header.epoch),
      day: new Uint16Array(rows).fill(dayOfSlot(header.clock, firstSlotOfEpoch(header.clock, header.epoch))),
      validator_index: columns.validatorIndex,
      source_gwei: columns.sourceGwei,
      target_gwei: columns.targetGwei,
      head_gwei: columns.headGwei,
      inactivity_gwei: columns.inactivityGwei,
      balance_gwei: columns.balanceGwei,
      effective_balance_gwei: effectiveBalanceGwei,
      status: columns.status,
      slashed: columns.slashed,
      activation_epoch: columns.activationEpoch,
      exit_epoch: columns.exitEpoch,
      withdrawable_epoch: columns.withdrawableEpoch,
      version: constantColumn(rows, version),
    },
  }
}

function dayBalanceRows({ header, columns }: DayBalancesData, version: bigint): TableRows {
  const rows = columns.validatorIndex.length
  return {
    table: 'day_balances',
    columns: {
      day: new Uint16Array(rows).fill(header.day),
      validator_index: columns.validatorIndex,
      balance_gwei: columns.balanceGwei,
      version: constantColumn(rows, version),
    },
  }
}

function epochBlockRows(data: EpochBlocksData, version: bigint): readonly TableRows[] {
  const { header } = data
  const { clock, epoch } = header
  return [
    finalizedBlockRows(header, version),
    ledgerRows(data, version),
    {
      table: 'chain',
      columns: {
        network: [header.network],
        genesis_time_sec: BigUint64Array.of(BigInt(clock.genesisTimeSec)),
        seconds_per_slot: Uint32Array.of(clock.secondsPerSlot),
        slots_per_epoch: Uint32Array.of(clock.slotsPerEpoch),
        version: BigUint64Array.of(version),
      },
    },
    {
      table: 'epochs',
      columns: {
        epoch: Uint32Array.of(epoch),
        first_slot: BigUint64Array.of(BigInt(firstSlotOfEpoch(clock, epoch))),
        last_slot: BigUint64Array.of(BigInt(lastSlotOfEpoch(clock, epoch))),
        blocks: Uint16Array.of(header.blocks.length),
        version: BigUint64Array.of(version),
      },
    },
  ]
}

function finalizedBlockRows({ clock, epoch, blocks }: EpochBlocksHeader, version: bigint): TableRows {
  return {
    table: 'finalized_blocks',
    columns: {
      slot: BigUint64Array.from(blocks, (b) => BigInt(b.slot)),
      epoch: new Uint32Array(blocks.length).fill(epoch),
      day: Uint16Array.from(blocks, (b) => dayOfSlot(clock, b.slot)),
      block_root: blocks.map((b) => b.root),
      proposer_index: Uint32Array.from(blocks, (b) => b.proposerIndex),
      execution_block_hash: blocks.map((b) => b.executionBlockHash),
      execution_block_number: BigUint64Array.from(blocks, (b) => BigInt(b.executionBlockNumber)),
      fee_recipient: blocks.map((b) => b.feeRecipient),
      attestations_gwei: BigInt64Array.from(blocks, (b) => BigInt(b.attestationsGwei)),
      sync_aggregate_gwei: BigInt64Array.from(blocks, (b) => BigInt(b.syncAggregateGwei)),
      proposer_slashings_gwei: BigInt64Array.from(blocks, (b) => BigInt(b.proposerSlashingsGwei)),
      attester_slashings_gwei: BigInt64Array.from(blocks, (b) => BigInt(b.attesterSlashingsGwei)),
      version: constantColumn(blocks.length, version),
    },
  }
}

interface LedgerEntry {
  readonly slot: number
  readonly validatorIndex: number
  readonly kind: LedgerKind
  readonly reference: number
  readonly amountGwei: bigint
}

/** Everything but attestation rewards that changed a balance, one entry each, signed by its effect. */
function ledgerRows({ header, columns }: EpochBlocksData, version: bigint): TableRows {
  const entries: LedgerEntry[] = []
  for (const block of header.blocks) {
    const amountGwei =
      BigInt(block.attestationsGwei) +
      BigInt(block.syncAggregateGwei) +
      BigInt(block.proposerSlashingsGwei) +
      BigInt(block.attesterSlashingsGwei)
    entries.push({ slot: block.slot, validatorIndex: block.proposerIndex, kind: 'proposer', reference: 0, amountGwei })
  }
  for (const w of header.withdrawals) {
    const { slot, validatorIndex, index } = w
    entries.push({ slot, validatorIndex, kind: 'withdrawal', reference: index, amountGwei: -BigInt(w.amountGwei) })
  }
  for (const s of header.slashings) {
    const penaltyGwei = initialSlashingPenalty(BigInt(s.effectiveBalanceGwei), s.penaltyQuotient)
    const { slot, validatorIndex } = s
    entries.push({ slot, validatorIndex, kind: 'slashing_penalty', reference: 0, amountGwei: -penaltyGwei })
  }
  for (const d of header.deposits) {
    const { slot, validatorIndex, kind, ordinal } = d
    entries.push({ slot, validatorIndex, kind, reference: ordinal, amountGwei: BigInt(d.amountGwei) })
  }
  return withSyncRewards(header, columns, entries, version)
}

/** Sync rewards stay columns: they are most of the ledger's rows. */
function withSyncRewards(
  { clock, epoch }: EpochBlocksHeader,
  sync: EpochBlocksData['columns'],
  entries: readonly LedgerEntry[],
  version: bigint,
): TableRows {
  const syncRows = sync.validatorIndex.length
  const rows = syncRows + entries.length
  const firstSlot = firstSlotOfEpoch(clock, epoch)
  const days = daysOfEpoch(clock, epoch)
  const slot = new BigUint64Array(rows)
  const day = new Uint16Array(rows)
  const validatorIndex = new Uint32Array(rows)
  const kind = new Array<string>(rows).fill('sync', 0, syncRows)
  const reference = new BigUint64Array(rows)
  const amountGwei = new BigInt64Array(rows)
  validatorIndex.set(sync.validatorIndex)
  amountGwei.set(sync.syncGwei)
  for (let i = 0; i < syncRows; i++) {
    const offset = sync.slotOffset[i] as number
    slot[i] = BigInt(firstSlot + offset)
    day[i] = days[offset] as number
  }
  entries.forEach((entry, at) => {
    const i = syncRows + at
    slot[i] = BigInt(entry.slot)
    day[i] = dayOfSlot(clock, entry.slot)
    validatorIndex[i] = entry.validatorIndex
    kind[i] = entry.kind
    reference[i] = BigInt(entry.reference)
    amountGwei[i] = entry.amountGwei
  })
  return {
    table: 'ledger_entries',
    columns: {
      slot,
      epoch: new Uint32Array(rows).fill(epoch),
      day,
      validator_index: validatorIndex,
      kind,
      reference,
      amount_gwei: amountGwei,
      version: constantColumn(rows, version),
    },
  }
}

function daysOfEpoch(clock: ChainClock, epoch: number): readonly number[] {
  const first = firstSlotOfEpoch(clock, epoch)
  return Array.from({ length: clock.slotsPerEpoch }, (_, offset) => dayOfSlot(clock, first + offset))
}
