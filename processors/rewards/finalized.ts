import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { AppError } from '../../schemas/errors.ts'
import { type ChainClock, dayOfSlot, firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import { GWEI_PER_ETH } from '../../schemas/eth/units.ts'
import {
  type DayBalancesData,
  dayBalances,
  type EpochBlocksData,
  type EpochBlocksHeader,
  type EpochPart,
  type EpochValidatorsData,
  epochBlocks,
  epochValidators,
} from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { lend } from '../../schemas/memory.ts'
import type { EpochLevel } from '../../schemas/tables/day-levels.ts'
import type { LedgerKind } from '../../schemas/tables/rewards.ts'
import { uint16Column, uint32Column } from '../loop/column-memory.ts'
import { constantColumn, type Projected, type TableRows, textColumn, versionOf } from '../loop/rows.ts'
import { networkRows } from './network-rows.ts'

/** What one event of the finalized chain (`beacon.epochs`) becomes: its rows, and last that this part of its epoch is there. */
export function projectFinalized(stored: StoredEvent, unnamedChain: string): Projected {
  const version = versionOf(stored.position)
  const { event } = stored
  switch (event.type) {
    case epochValidators.name: {
      const data = decodeEvent(epochValidators, event, unnamedChain)
      const { chain, epoch, range } = data.header
      const part = {
        chain,
        epoch,
        kind: 'validators',
        range,
        rows: data.columns.validatorIndex.length,
        version,
      } as const
      return { rows: [validatorEpochRows(data, version), partRows([part])], touched: { kind: 'epoch', chain, epoch } }
    }
    case dayBalances.name: {
      const data = decodeEvent(dayBalances, event, unnamedChain)
      const rows = [dayBalanceRows(data, version)]
      if (event.version === UNCOUNTED_VERSION) return { rows }
      const { chain, epoch, range } = data.header
      const part = {
        chain,
        epoch,
        kind: 'day_balances',
        range,
        rows: data.columns.validatorIndex.length,
        version,
      } as const
      return { rows: [...rows, partRows([part])], touched: { kind: 'epoch', chain, epoch } }
    }
    case epochBlocks.name: {
      const data = decodeEvent(epochBlocks, event, unnamedChain)
      const { chain, epoch } = data.header
      return { rows: epochBlockRows(data, version), touched: { kind: 'epoch', chain, epoch } }
    }
    default:
      throw new AppError('undecodable', `unknown event type ${event.type} in the finalized stream`)
  }
}

/** Version of day balances that did not tell their epoch: those of an epoch lay before its blocks event. */
const UNCOUNTED_VERSION = 1

interface Part {
  readonly chain: string
  readonly epoch: number
  readonly kind: EpochPart['kind'] | 'blocks'
  readonly range: number
  readonly rows: number
  readonly version: bigint
  readonly isExpected?: true
}

/** Rows of `epoch_parts`. */
function partRows(parts: readonly Part[]): TableRows {
  return {
    table: 'epoch_parts',
    columns: {
      chain: parts.map((part) => part.chain),
      epoch: Uint32Array.from(parts, (part) => part.epoch),
      kind: parts.map((part) => part.kind),
      range: Uint32Array.from(parts, (part) => part.range),
      is_expected: Uint8Array.from(parts, (part) => (part.isExpected === true ? 1 : 0)),
      rows: Uint32Array.from(parts, (part) => part.rows),
      version: BigUint64Array.from(parts, (part) => part.version),
    },
  }
}

function validatorEpochRows({ header, columns }: EpochValidatorsData, version: bigint): TableRows {
  const rows = columns.validatorIndex.length
  return {
    table: 'validator_epochs',
    columns: {
      chain: textColumn(rows, header.chain),
      epoch: uint32Column(rows).fill(header.epoch),
      day: uint16Column(rows).fill(dayOfSlot(header.clock, firstSlotOfEpoch(header.clock, header.epoch))),
      validator_index: columns.validatorIndex,
      source_gwei: columns.sourceGwei,
      target_gwei: columns.targetGwei,
      head_gwei: columns.headGwei,
      inactivity_gwei: columns.inactivityGwei,
      balance_gwei: columns.balanceGwei,
      effective_balance_gwei: gweiOf(columns.effectiveBalanceEth),
      status: columns.status,
      slashed: columns.slashed,
      activation_epoch: columns.activationEpoch,
      exit_epoch: columns.exitEpoch,
      withdrawable_epoch: columns.withdrawableEpoch,
      version: constantColumn(rows, version),
    },
  }
}

const WORD = 2 ** 32

/** Whole ETH in gwei, calculated with in halves: a bigint for each of a million validators would cost more than the rest of their rows. */
function gweiOf(eth: Uint32Array): BigInt64Array {
  const gwei = lend(BigInt64Array, eth.length)
  const words = new Uint32Array(gwei.buffer, gwei.byteOffset, 2 * eth.length)
  for (let row = 0; row < eth.length; row++) {
    const amount = (eth[row] as number) * GWEI_PER_ETH
    words[2 * row] = amount
    words[2 * row + 1] = amount / WORD
  }
  return gwei
}

function dayBalanceRows({ header, columns }: DayBalancesData, version: bigint): TableRows {
  const rows = columns.validatorIndex.length
  return {
    table: 'day_balances',
    columns: {
      chain: textColumn(rows, header.chain),
      day: uint16Column(rows).fill(header.day),
      validator_index: columns.validatorIndex,
      balance_gwei: columns.balanceGwei,
      version: constantColumn(rows, version),
    },
  }
}

function epochBlockRows(data: EpochBlocksData, version: bigint): readonly TableRows[] {
  const { header } = data
  const { chain, clock, epoch, blocks } = header
  const clockRow: TableRows = {
    table: 'chains',
    columns: {
      chain: [chain],
      genesis_time_sec: BigUint64Array.of(BigInt(clock.genesisTimeSec)),
      seconds_per_slot: Uint32Array.of(clock.secondsPerSlot),
      slots_per_epoch: Uint32Array.of(clock.slotsPerEpoch),
      version: BigUint64Array.of(version),
    },
  }
  const expected = header.parts.map((part): Part => ({ chain, epoch, ...part, version, isExpected: true }))
  const own: Part = { chain, epoch, kind: 'blocks', range: 0, rows: blocks.length, version }
  // The clock first: what is derived of a chain without one belongs to a removed chain.
  return [
    clockRow,
    finalizedBlockRows(header, version),
    ledgerRows(data, version),
    residualRows(header, version),
    ...networkRows(header, version),
    proofRow(header, version),
    partRows([...expected, own]),
  ]
}

/** Each blocks event has one, whose version says which rows of the ledger and residuals count. */
function proofRow(header: EpochBlocksHeader, version: bigint): TableRows {
  const { chain, epoch, proof, proposers, differences } = header
  return {
    table: 'epoch_proofs',
    columns: {
      chain: [chain],
      epoch: Uint32Array.of(epoch),
      level: [proof?.level ?? ('reported' satisfies EpochLevel)],
      formulas: Uint16Array.of(proof?.formulas ?? 0),
      state_root: [proof?.stateRoot ?? ''],
      has_proposers: Uint8Array.of(proposers === null ? 0 : 1),
      is_compared: Uint8Array.of(differences === null ? 0 : 1),
      version: BigUint64Array.of(version),
    },
  }
}

function residualRows({ chain, epoch, residuals }: EpochBlocksHeader, version: bigint): TableRows {
  const rows = residuals.length
  return {
    table: 'epoch_residuals',
    columns: {
      chain: textColumn(rows, chain),
      epoch: uint32Column(rows).fill(epoch),
      validator_index: Uint32Array.from(residuals, (residual) => residual.validatorIndex),
      residual_gwei: BigInt64Array.from(residuals, (residual) => BigInt(residual.gwei)),
      version: constantColumn(rows, version),
    },
  }
}

function finalizedBlockRows({ chain, clock, epoch, blocks }: EpochBlocksHeader, version: bigint): TableRows {
  return {
    table: 'finalized_blocks',
    columns: {
      chain: textColumn(blocks.length, chain),
      slot: BigUint64Array.from(blocks, (b) => BigInt(b.slot)),
      epoch: new Uint32Array(blocks.length).fill(epoch),
      day: Uint16Array.from(blocks, (b) => dayOfSlot(clock, b.slot)),
      block_root: blocks.map((b) => b.root),
      proposer_index: Uint32Array.from(blocks, (b) => b.proposerIndex),
      execution_block_hash: blocks.map((b) => b.executionBlockHash),
      execution_block_number: BigUint64Array.from(blocks, (b) => BigInt(b.executionBlockNumber)),
      fee_recipient: blocks.map((b) => b.feeRecipient),
      has_rewards: Uint8Array.from(blocks, (b) => (b.attestationsGwei === null ? 0 : 1)),
      attestations_gwei: BigInt64Array.from(blocks, (b) => BigInt(b.attestationsGwei ?? 0)),
      sync_aggregate_gwei: BigInt64Array.from(blocks, (b) => BigInt(b.syncAggregateGwei ?? 0)),
      proposer_slashings_gwei: BigInt64Array.from(blocks, (b) => BigInt(b.proposerSlashingsGwei ?? 0)),
      attester_slashings_gwei: BigInt64Array.from(blocks, (b) => BigInt(b.attesterSlashingsGwei ?? 0)),
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
    const { attestationsGwei, syncAggregateGwei, proposerSlashingsGwei, attesterSlashingsGwei } = block
    if (attestationsGwei === null) continue // not tracked: its balance is not explained here
    const amountGwei = [attestationsGwei, syncAggregateGwei, proposerSlashingsGwei, attesterSlashingsGwei].reduce(
      (sum, part) => sum + BigInt(part ?? 0),
      0n,
    )
    entries.push({ slot: block.slot, validatorIndex: block.proposerIndex, kind: 'proposer', reference: 0, amountGwei })
  }
  for (const { amountGwei, ...effect } of header.effects) entries.push({ ...effect, amountGwei: BigInt(amountGwei) })
  return withSyncRewards(header, columns, entries, version)
}

/** Sync rewards stay columns: they are most of the ledger's rows. */
function withSyncRewards(
  { chain, clock, epoch }: EpochBlocksHeader,
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
      chain: textColumn(rows, chain),
      slot,
      epoch: uint32Column(rows).fill(epoch),
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
