import assert from 'node:assert/strict'
import { readBlockOperations } from '../../infra/beacon/block-operations.ts'
import { isDepositSigned } from '../../infra/beacon/deposit-signature.ts'
import { scanState } from '../../infra/beacon/state-columns.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import type { EffectKind } from '../../schemas/eth/transition/effects.ts'
import { type ExplainedEpoch, explainEpoch, wantedPubkeys } from '../../schemas/eth/transition/explain-epoch.ts'
import type { StateColumns } from '../../schemas/eth/transition/state-columns.ts'
import type { BalanceChange, Step } from './balance-changes.ts'
import { type EventCounts, sumEvents } from './history-events.ts'
import { configOf, genesisOf, type HistoryEpoch, randomHistory } from './random-history.ts'

// Random histories by the reference, explained from their states and blocks: each component against what the reference's own steps did to
// balances. For the preset of LODESTAR_PRESET, seeds by the command line; prints how often each event occurred as JSON.

/** What the reference's steps and ours have in common: a deposit is credited by a block or by a transition, never by both in one fork. */
const PART_OF_STEP: Readonly<Record<Step, string>> = {
  source: 'source',
  target: 'target',
  head: 'head',
  inactivity: 'inactivity',
  slashings: 'correlation',
  pending_deposits: 'deposits',
  pending_consolidations: 'consolidations',
  upgrade_bellatrix: 'queued',
  upgrade_capella: 'queued',
  upgrade_deneb: 'queued',
  upgrade_electra: 'queued',
  upgrade_fulu: 'queued',
  withdrawals: 'withdrawals',
  proposer_slashing: 'slashing',
  attester_slashing: 'slashing',
  slashing_report: 'reports',
  attestation: 'inclusion',
  deposit: 'deposits',
  consolidation_request: 'queued',
  sync_aggregate: 'sync',
  sync_proposer: 'sync inclusion',
}

const PART_OF_KIND: Readonly<Record<EffectKind, string>> = {
  proposer_attestations: 'inclusion',
  proposer_sync: 'sync inclusion',
  proposer_proposer_slashings: 'reports',
  proposer_attester_slashings: 'reports',
  slashing_penalty: 'slashing',
  slashing_correlation: 'correlation',
  withdrawal_requested: 'withdrawals',
  withdrawal_partial: 'withdrawals',
  withdrawal_full: 'withdrawals',
  deposit: 'deposits',
  returned_from_queue: 'deposits',
  moved_to_queue: 'queued',
  consolidation_in: 'consolidations',
  consolidation_out: 'consolidations',
}

type Sums = Map<string, number>

function add(sums: Sums, slot: number, part: string, validator: number, gwei: number): void {
  const key = `slot ${slot}, ${part} of validator ${validator}`
  const sum = (sums.get(key) ?? 0) + gwei
  if (sum === 0) sums.delete(key)
  else sums.set(key, sum)
}

function sumsOfReference(changes: readonly BalanceChange[]): Sums {
  const sums: Sums = new Map()
  for (const { slot, step, validatorIndex, gwei } of changes)
    add(sums, slot, PART_OF_STEP[step], validatorIndex, Number(gwei))
  return sums
}

function sumsOfExplained(explained: ExplainedEpoch, firstSlot: number): Sums {
  const sums: Sums = new Map()
  const dense = { source: explained.sourceGwei, target: explained.targetGwei, head: explained.headGwei }
  for (const [part, column] of Object.entries({ ...dense, inactivity: explained.inactivityGwei }))
    column.forEach((gwei, validator) => {
      if (gwei !== 0) add(sums, firstSlot, part, validator, gwei)
    })
  for (const { slot, validatorIndex, kind, gwei } of explained.effects)
    add(sums, slot, PART_OF_KIND[kind], validatorIndex, gwei)
  const { slots, validators, gwei } = explained.seats
  slots.forEach((slot, seat) => {
    add(sums, slot, 'sync', validators[seat] as number, gwei[seat] as number)
  })
  return sums
}

const FLAG_WEIGHTS = [14n, 26n, 14n] as const

/**
 * What a transition had credited if each validator with a duty had voted right and in time, written from the specification (altair:
 * get_base_reward_per_increment, get_flag_index_deltas) with integers of any size; in a leak nothing.
 */
function idealOf(state: StateColumns, slotsPerEpoch: number, { inactivity_leak: leaks = 0 }: EventCounts): bigint {
  const epoch = Math.floor(state.slot / slotsPerEpoch)
  if (epoch === 0 || leaks > 0) return 0n
  const all = Array.from({ length: state.validators }, (_, index) => index)
  const isActive = (index: number, at: number) =>
    Number(state.activationEpochs[index]) <= at && at < Number(state.exitEpochs[index])
  const increments = (of: readonly number[]) =>
    of.reduce((sum, index) => sum + BigInt(state.effectiveIncrements[index] ?? 0), 0n)
  const total = increments(all.filter((index) => isActive(index, epoch)))
  let root = BigInt(Math.floor(Math.sqrt(Number(total * 1_000_000_000n))))
  while (root * root > total * 1_000_000_000n) root--
  while ((root + 1n) * (root + 1n) <= total * 1_000_000_000n) root++
  const perIncrement = (1_000_000_000n * 64n) / root
  const onDuty = all.filter((index) => isActive(index, epoch - 1))
  const took = FLAG_WEIGHTS.map((_, flag) =>
    increments(
      onDuty.filter(
        (index) => state.slashed[index] === 0 && ((Number(state.previousParticipation[index]) >> flag) & 1) === 1,
      ),
    ),
  )
  return onDuty.reduce(
    (sum, index) =>
      sum +
      FLAG_WEIGHTS.reduce((credit, weight, flag) => {
        const base = increments([index]) * perIncrement
        return credit + (base * weight * (took[flag] || 1n)) / (total * 64n)
      }, 0n),
    0n,
  )
}

/** Explains every epoch of a history; throws at the first component that is not the reference's. */
function explainHistory(seed: string): EventCounts {
  const spec = configOf({ seed })
  const slotsPerEpoch = Number(spec.SLOTS_PER_EPOCH)
  const version = bytesOf(spec.GENESIS_FORK_VERSION ?? '')
  const counts: EventCounts[] = []
  let before = scanState({ fork: 'altair', bytes: genesisOf({ seed }), pubkeys: [] })
  for (const { epoch, fork, state, blocks, proposers, changes, events } of randomHistory({
    seed,
  }) as Iterable<HistoryEpoch>) {
    const operations = blocks.map((block) => readBlockOperations(block.fork, block.bytes))
    const after = scanState({ fork, bytes: state, pubkeys: wantedPubkeys(before, operations) })
    const isSigned = (deposit: Parameters<typeof isDepositSigned>[0]) => isDepositSigned(deposit, version)
    const explained = explainEpoch({ before, after, blocks: operations, spec, isSigned })
    const where = `seed ${seed}, epoch ${epoch} (${fork})`
    const [ours, theirs] = [sumsOfExplained(explained, epoch * slotsPerEpoch), sumsOfReference(changes)]
    for (const key of new Set([...ours.keys(), ...theirs.keys()]))
      assert.equal(ours.get(key) ?? 0, theirs.get(key) ?? 0, `${where}: ${key}`)
    assert.deepEqual([...explained.residuals], [], `${where}: residuals`)
    assert.ok(explained.isParticipationReplayed, `${where}: participation`)
    assert.equal(BigInt(explained.idealGwei), idealOf(before, slotsPerEpoch, events), `${where}: ideal attestations`)
    const drawn = [...(explained.proposers ?? [])].map((index, at) => (epoch === 0 && at === 0 ? undefined : index))
    assert.deepEqual(drawn, proposers, `${where}: proposers`)
    counts.push(events)
    before = after
  }
  return sumEvents(counts)
}

const [from = '0', seeds = '1'] = process.argv.slice(2)
const events = sumEvents(
  Array.from({ length: Number(seeds) }, (_, place) => explainHistory(String(Number(from) + place))),
)
console.log(JSON.stringify(events))
