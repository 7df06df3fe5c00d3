import assert from 'node:assert/strict'
import { EPOCHS_PER_ETH1_VOTING_PERIOD, ForkSeq, SLOTS_PER_EPOCH } from '@lodestar/params'
import { type CachedBeaconStateAllForks, processSlots, stateTransition } from '@lodestar/state-transition'
import type { SignedBeaconBlock } from '@lodestar/types'
import { useNativeHasher } from '../../infra/devnet/consensus/hasher.ts'
import { type BalanceChange, BalanceChanges } from './balance-changes.ts'
import { buildBlock } from './block-building.ts'
import { applyBlock, EXTERNAL_DATA } from './block-steps.ts'
import { DepositTree, genesisPubkey } from './deposits.ts'
import { Dice } from './dice.ts'
import { nextSlot } from './epoch-steps.ts'
import { EventCounter } from './event-counter.ts'
import { GENESIS_DEPOSITS, randomGenesis } from './genesis.ts'
import { EPOCHS, type HistoryOptions, historyConfig, isMinimal, VALIDATORS } from './history-config.ts'
import type { EventCounts } from './history-events.ts'
import { type EpochPlan, Operations, planEpochs } from './operations.ts'
import { Votes } from './votes.ts'

export type { BalanceChange, Step } from './balance-changes.ts'
export { configOf, type HistoryOptions } from './history-config.ts'

/** Of the eth1 bridge, a few for each voting period; one of mainnet's preset is longer than a history. */
const ETH1_DEPOSITS = isMinimal ? 24 : GENESIS_DEPOSITS
const ETH1_DEPOSITS_PER_PERIOD = 5
const MISSED_SHARE = 0.07
const EMPTY_SIGNATURE = new Uint8Array(96)

export interface HistoryBlock {
  readonly fork: string
  readonly slot: number
  /** SSZ of the SignedBeaconBlock; its state root is right, its signatures are empty. */
  readonly bytes: Uint8Array
}

export interface HistoryEpoch {
  readonly epoch: number
  /** Fork of the state: `altair` to `fulu`. */
  readonly fork: string
  /** SSZ of the state after the epoch's last slot, before the transition out of it. */
  readonly state: Uint8Array
  /** In order. */
  readonly blocks: readonly HistoryBlock[]
  /** By slot of the epoch, as the reference says while it is there. Of slot 0, which is the genesis state's own, nobody is asked. */
  readonly proposers: readonly (number | undefined)[]
  /**
   * What the reference did to balances from the previous epoch's state (from the genesis state for epoch 0) to this one, in order:
   * the differences around each step of the transition into the epoch, upgrades included, and of each block.
   */
  readonly changes: readonly BalanceChange[]
  /** How often each listed event occurred in what led to this state. */
  readonly events: EventCounts
}

/** The reference's own way through the same blocks. */
class Check {
  #state: CachedBeaconStateAllForks

  constructor(state: CachedBeaconStateAllForks) {
    this.#state = state.clone()
  }

  /** Throws where the block's state root is not the reference's. */
  block(signedBlock: SignedBeaconBlock): void {
    const options = { ...EXTERNAL_DATA, verifyProposer: false, verifySignatures: false }
    this.#state = stateTransition(this.#state, signedBlock, options)
  }

  state(state: CachedBeaconStateAllForks): void {
    this.#state = processSlots(this.#state, state.slot)
    assert.deepEqual(this.#state.hashTreeRoot(), state.hashTreeRoot(), `the state of slot ${state.slot}`)
  }
}

/** What a seed begins with. */
function openHistory(options: HistoryOptions) {
  useNativeHasher()
  const { seed, epochs = EPOCHS, validators = VALIDATORS } = options
  const dice = new Dice(seed, 'history')
  const operations = new Operations(dice, validators)
  const pubkeys = Array.from({ length: validators }, (_, index) => genesisPubkey(index))
  const eth1 = new DepositTree(operations.eth1Deposits(ETH1_DEPOSITS, pubkeys))
  const config = historyConfig(options)
  const genesis = randomGenesis(dice, { config, validators, epochs, deposits: eth1 })
  return { config, dice, operations, eth1, genesis, plan: planEpochs(dice, epochs) }
}

/** SSZ of the Altair state from which the history of the same options begins. */
export function genesisOf(options: HistoryOptions): Uint8Array {
  return openHistory(options).genesis.serialize()
}

/** Of an epoch's blocks: the bridge's deposits of its voting period and of those before. */
function eth1Vote(eth1: DepositTree, epoch: number) {
  const periods = Math.floor(epoch / EPOCHS_PER_ETH1_VOTING_PERIOD) + 1
  return eth1.eth1Data(Math.min(eth1.size, GENESIS_DEPOSITS + periods * ETH1_DEPOSITS_PER_PERIOD))
}

/**
 * A chain from a genesis in Altair through every fork up to Fulu, by the reference implementation itself: `@lodestar/state-transition`.
 * The seed decides on all of it, for one preset (LODESTAR_PRESET) and one set of options.
 */
export function* randomHistory(options: HistoryOptions): Generator<HistoryEpoch> {
  const { config, dice, operations, eth1, genesis, plan } = openHistory(options)
  const votes = new Votes(dice)
  const counter = new EventCounter()
  const changes = new BalanceChanges(genesis)
  const check = options.isChecked === true ? new Check(genesis) : undefined
  let state: CachedBeaconStateAllForks = genesis

  let proposers: (number | undefined)[] = []
  function* slotsOf(epoch: number): Generator<HistoryBlock | undefined> {
    proposers = epoch === 0 ? [undefined] : []
    const { isEmpty, participation } = plan[epoch] as EpochPlan
    const eth1Data = eth1Vote(eth1, epoch)
    // Slot 0 is the genesis state's own.
    for (let slot = Math.max(1, epoch * SLOTS_PER_EPOCH); slot < (epoch + 1) * SLOTS_PER_EPOCH; slot++) {
      state = nextSlot(state, changes, counter)
      votes.cast(state, participation)
      const proposerIndex = state.epochCtx.getBeaconProposer(slot)
      proposers.push(proposerIndex)
      const proposer = state.validators.getReadonly(proposerIndex)
      if (isEmpty || proposer.slashed || dice.chance(MISSED_SHARE)) {
        counter.count('missed_slot')
        yield undefined
        continue
      }
      const { block, attestations } = buildBlock(state, { dice, votes, operations, eth1, eth1Data, participation })
      counter.block(state, block, attestations)
      applyBlock(state, block, changes)
      block.stateRoot = state.hashTreeRoot()
      const signedBlock = { message: block, signature: EMPTY_SIGNATURE } as SignedBeaconBlock
      check?.block(signedBlock)
      const bytes = config.getForkTypes(slot).SignedBeaconBlock.serialize(signedBlock)
      yield { fork: config.getForkName(slot), slot, bytes }
    }
  }

  for (const epoch of plan.keys()) {
    const blocks: HistoryBlock[] = []
    const epochChanges: BalanceChange[] = []
    for (const block of slotsOf(epoch)) {
      if (block !== undefined) blocks.push(block)
      const ofSlot = changes.take()
      counter.changes(state, ofSlot)
      epochChanges.push(...ofSlot)
    }
    state.commit()
    check?.state(state)
    const fork = config.getForkName(state.slot)
    yield { epoch, fork, state: state.serialize(), blocks, proposers, changes: epochChanges, events: counter.take() }
  }
  assert.ok(config.getForkSeq(state.slot) >= ForkSeq.fulu, 'the history ends before Fulu')
}
