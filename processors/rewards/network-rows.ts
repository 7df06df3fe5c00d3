import { dayOfSlot, firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import type { EpochBlocksHeader } from '../../schemas/events/beacon-epoch.ts'
import { constantColumn, type TableRows, textColumn } from '../loop/rows.ts'

/** What an epoch's blocks event tells of the whole network: slots that nobody filled, sums over all validators, nodes that differed. */
export function networkRows(header: EpochBlocksHeader, version: bigint): readonly TableRows[] {
  return [missedRows(header, version), sumsRow(header, version), differenceRows(header, version)]
}

function missedRows({ chain, clock, epoch, proposers, blocks }: EpochBlocksHeader, version: bigint): TableRows {
  const firstSlot = firstSlotOfEpoch(clock, epoch)
  const filled = new Set(blocks.map(({ slot }) => slot))
  const missed = (proposers ?? [])
    .map((proposer, offset) => ({ proposer, slot: firstSlot + offset }))
    // Slot 0 is the genesis state's own.
    .filter(({ slot }) => slot > 0 && !filled.has(slot))
  return {
    table: 'missed_slots',
    columns: {
      chain: textColumn(missed.length, chain),
      slot: BigUint64Array.from(missed, ({ slot }) => BigInt(slot)),
      epoch: new Uint32Array(missed.length).fill(epoch),
      day: Uint16Array.from(missed, ({ slot }) => dayOfSlot(clock, slot)),
      proposer_index: Uint32Array.from(missed, ({ proposer }) => proposer),
      version: constantColumn(missed.length, version),
    },
  }
}

function sumsRow({ chain, clock, epoch, network }: EpochBlocksHeader, version: bigint): TableRows {
  const sums = network === null ? [] : [network]
  const gwei = (of: (one: NonNullable<typeof network>) => string) => BigInt64Array.from(sums, (one) => BigInt(of(one)))
  return {
    table: 'network_epochs',
    columns: {
      chain: sums.map(() => chain),
      epoch: Uint32Array.from(sums, () => epoch),
      day: Uint16Array.from(sums, () => dayOfSlot(clock, firstSlotOfEpoch(clock, epoch))),
      active_validators: Uint32Array.from(sums, ({ activeValidators }) => activeValidators),
      effective_balance_gwei: gwei((one) => one.effectiveBalanceGwei),
      source_gwei: gwei((one) => one.sourceGwei),
      target_gwei: gwei((one) => one.targetGwei),
      head_gwei: gwei((one) => one.headGwei),
      inactivity_gwei: gwei((one) => one.inactivityGwei),
      sync_gwei: gwei((one) => one.syncGwei),
      proposer_gwei: gwei((one) => one.proposerGwei),
      slashing_penalty_gwei: gwei((one) => one.slashingPenaltyGwei),
      ideal_attestations_gwei: gwei((one) => one.idealAttestationsGwei),
      version: BigUint64Array.from(sums, () => version),
    },
  }
}

function differenceRows({ chain, epoch, differences }: EpochBlocksHeader, version: bigint): TableRows {
  const told = differences ?? []
  return {
    table: 'epoch_differences',
    columns: {
      chain: told.map(() => chain),
      epoch: Uint32Array.from(told, () => epoch),
      node: told.map(({ node }) => node),
      what: told.map(({ what }) => what),
      client: told.map(({ client }) => client),
      version: BigUint64Array.from(told, () => version),
    },
  }
}
