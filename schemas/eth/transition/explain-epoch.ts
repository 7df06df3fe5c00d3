import { AppError } from '../../errors.ts'
import { giveBack } from '../../memory.ts'
import type { Spec } from '../chain-spec.ts'
import { type AttestationDeltas, applyAttestationDeltas, noDeltas, transitionFacts } from './attestation-deltas.ts'
import { type BlockOperations, pubkeysIn } from './block-operations.ts'
import { BlockReplay } from './block-replay.ts'
import type { Committees } from './committees.ts'
import { type Effect, ReplayedBalances, type SeatEffects } from './effects.ts'
import { chainRules, forkRules, isFrom, queueRules } from './fork-rules.ts'
import { Newcomers } from './newcomers.ts'
import { proposersOf } from './proposers.ts'
import {
  type ActiveSums,
  activeSums,
  refuseGivenBack,
  type StateColumns,
  type StateDeposit,
  totalActive,
} from './state-columns.ts'
import {
  applyCorrelationPenalties,
  applyElectraUpgrade,
  applyPendingConsolidations,
  applyPendingDeposits,
} from './transition-queues.ts'

/** Version of the formulas: figures say which one has made them. */
export const FORMULAS_VERSION = 1

const ROOT_BYTES = 32

export interface EpochInput {
  /** State after the last slot before the epoch, before the transition into it. In the genesis epoch: the genesis state. */
  readonly before: StateColumns
  /** State after the epoch's last slot. */
  readonly after: StateColumns
  /** The epoch's blocks by ascending slot. */
  readonly blocks: readonly BlockOperations[]
  /** `GET /eth/v1/config/spec` */
  readonly spec: Spec
  /** Whether its own key has signed a deposit; asked only of one that competes with another for a new validator. */
  readonly isSigned: (deposit: StateDeposit) => boolean
  /** Of the epoch before, as it has told them. */
  readonly committees?: readonly Committees[]
  /** Slots after which balances are asked for: of the epoch, or the last one before it. */
  readonly cutSlots?: readonly number[]
}

/** Balances after a slot, as they were replayed: those of the chain where nothing of the epoch is left unexplained. */
export interface ReplayedCut {
  readonly slot: number
  /** Of as many validators as the registry had by then. */
  readonly gwei: Float64Array
}

/** Why balances changed in an epoch: from the transition into it to its last slot. */
export interface ExplainedEpoch extends AttestationDeltas {
  readonly epoch: number
  readonly active: ActiveSums
  /** Everything else, in the order in which it was applied. */
  readonly effects: readonly Effect[]
  readonly seats: SeatEffects
  /** Balance of the state minus the replayed one, gwei; of those alone where it is not 0. */
  readonly residuals: ReadonlyMap<number, number>
  /** Whether the flags that the blocks set are those of the state: if not, no figure of the epoch is to be believed. */
  readonly isParticipationReplayed: boolean
  readonly committees: readonly Committees[]
  /** Who was to propose in each of the epoch's slots; undefined where the state does not say it any more. */
  readonly proposers: Uint32Array | undefined
  /** One for each slot that was asked for. */
  readonly cuts: readonly ReplayedCut[]
}

/** Public keys whose validators `after` has to know: of deposits that the transition may credit, and of what blocks name. */
export function wantedPubkeys(
  before: Pick<StateColumns, 'queues'>,
  blocks: readonly BlockOperations[],
): readonly Uint8Array[] {
  return [...(before.queues?.deposits ?? []).map(({ pubkey }) => pubkey), ...blocks.flatMap(pubkeysIn)]
}

/**
 * Computes all that changed balances in one epoch from two states and the blocks between them (consensus-specs, altair to fulu:
 * process_epoch, upgrade_to_electra, process_block). No part is made of a difference of balances, so `residuals` proves them all.
 * Throws AppError `node_inconsistent` where states and blocks do not belong together.
 */
export function explainEpoch(input: EpochInput): ExplainedEpoch {
  const { before, after, blocks, spec, isSigned, committees = [] } = input
  refuseGivenBack(before)
  refuseGivenBack(after)
  const rules = chainRules(spec)
  const epoch = Math.floor(after.slot / rules.slotsPerEpoch)
  const firstSlot = epoch * rules.slotsPerEpoch
  refuseOthers(input, { firstSlot, slotsPerEpoch: rules.slotsPerEpoch, roots: rules.slotsPerHistoricalRoot })
  const proposers = proposersOf(after, rules)
  refuseOtherProposers(blocks, proposers, firstSlot)
  const queues = isFrom(after.fork, 'electra') ? queueRules(spec) : undefined
  const balances = new ReplayedBalances(before.balancesGwei, after.validators)
  const deposits = [...(before.queues?.deposits ?? []), ...blocks.flatMap((block) => block.deposits)]
  const newcomers = new Newcomers({ before, after, deposits, isSigned })
  const isGenesis = epoch === 0
  const deltas = isGenesis ? noDeltas(after.validators) : transition()
  function transition(): AttestationDeltas {
    const fork = forkRules(spec, before.fork)
    const facts = transitionFacts(before, rules)
    const parts = { before, after, rules, balances, facts, slot: firstSlot, newcomers }
    const applied = applyAttestationDeltas(before, balances, { rules, fork, facts })
    applyCorrelationPenalties(parts, fork)
    if (before.queues !== undefined && queues !== undefined) {
      applyPendingDeposits(parts, before.queues, queues)
      applyPendingConsolidations(parts, before.queues)
    } else if (queues !== undefined) applyElectraUpgrade(parts, queues)
    return applied
  }
  const previousParticipation = isGenesis ? before.previousParticipation : before.currentParticipation
  const fork = forkRules(spec, after.fork)
  const active = activeSums(after, epoch)
  const replay = new BlockReplay({
    before,
    after,
    epoch,
    activeIncrements: totalActive(active),
    rules,
    fork,
    queues,
    balances,
    newcomers,
    previousParticipation,
    committees,
  })
  const cuts = replayWithCuts(input, { replay, balances, newcomers, firstSlot })
  const explained = {
    epoch,
    active,
    ...deltas,
    effects: balances.effects,
    seats: balances.seats(),
    residuals: residualsOf(after.balancesGwei, balances.gwei),
    committees: replay.committees,
    proposers,
    cuts,
    isParticipationReplayed: replay.isParticipationOf(after),
  }
  giveBack([balances.gwei])
  replay.giveBack()
  return explained
}

/** Applies the blocks in order, and notes the balances as they stand after each slot that was asked for. */
function replayWithCuts(
  { before, after, blocks, cutSlots = [] }: EpochInput,
  parts: {
    readonly replay: BlockReplay
    readonly balances: ReplayedBalances
    readonly newcomers: Newcomers
    readonly firstSlot: number
  },
): readonly ReplayedCut[] {
  const { replay, balances, newcomers, firstSlot } = parts
  const cuts: ReplayedCut[] = []
  const noteBefore = (from: number, end: number) => {
    for (const slot of cutSlots) {
      if (slot < from || slot >= end) continue
      // The transition comes with the epoch's first slot, so the one before it has the balances that it was made of.
      cuts.push({
        slot,
        gwei: slot < firstSlot ? before.balancesGwei : balances.gwei.slice(0, newcomers.registrySize),
      })
    }
  }
  let from = before.slot
  for (const block of blocks) {
    noteBefore(from, block.slot)
    from = block.slot
    replay.apply(block)
  }
  noteBefore(from, after.slot + 1)
  return cuts
}

function refuseOthers(
  { before, after, blocks }: EpochInput,
  { firstSlot, slotsPerEpoch, roots }: { firstSlot: number; slotsPerEpoch: number; roots: number },
): void {
  const refuse = (why: string) => {
    throw new AppError('node_inconsistent', `states of slots ${before.slot} and ${after.slot}: ${why}`, {
      retryable: true,
    })
  }
  const isGenesis = firstSlot === 0
  if (after.slot !== firstSlot + slotsPerEpoch - 1 || before.slot !== (isGenesis ? 0 : firstSlot - 1))
    refuse('they are not those that an epoch lies between')
  if (after.validators < before.validators) refuse('the later one has fewer validators')
  const outside = blocks.find(
    ({ slot }, place) => slot <= (blocks[place - 1]?.slot ?? firstSlot - 1) || slot > after.slot,
  )
  if (outside !== undefined) refuse(`the block of slot ${outside.slot} is not in its place between them`)
  for (let slot = Math.max(0, before.slot - slotsPerEpoch); slot < before.slot; slot++) {
    const at = (slot % roots) * ROOT_BYTES
    const [mine, theirs] = [before, after].map(({ blockRoots }) => blockRoots.subarray(at, at + ROOT_BYTES))
    if (mine !== undefined && theirs !== undefined && Buffer.compare(mine, theirs) !== 0)
      refuse(`they have different blocks at slot ${slot}: they are of different branches`)
  }
}

/** A block is valid only of whom the state names. */
function refuseOtherProposers(
  blocks: readonly BlockOperations[],
  proposers: Uint32Array | undefined,
  firstSlot: number,
): void {
  const other = blocks.find(
    ({ slot, proposerIndex }) => proposers !== undefined && proposers[slot - firstSlot] !== proposerIndex,
  )
  if (other === undefined) return
  const why = `the block of slot ${other.slot} is not of the validator that its state lets propose`
  throw new AppError('node_inconsistent', why, { retryable: true })
}

function residualsOf(state: Float64Array, replayed: Float64Array): ReadonlyMap<number, number> {
  const residuals = new Map<number, number>()
  for (let index = 0; index < state.length; index++) {
    const residual = (state[index] as number) - (replayed[index] as number)
    if (residual !== 0) residuals.set(index, residual)
  }
  return residuals
}
