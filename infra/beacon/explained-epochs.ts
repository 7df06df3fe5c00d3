import { AppError } from '../../schemas/errors.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { type ChainClock, firstSlotOfEpoch, lastSlotOfEpoch } from '../../schemas/eth/time.ts'
import type { BlockOperations } from '../../schemas/eth/transition/block-operations.ts'
import { Committees } from '../../schemas/eth/transition/committees.ts'
import { explainEpoch, FORMULAS_VERSION, wantedPubkeys } from '../../schemas/eth/transition/explain-epoch.ts'
import { chainRules } from '../../schemas/eth/transition/fork-rules.ts'
import type { StateDeposit, StateQueues } from '../../schemas/eth/transition/state-columns.ts'
import type { EpochProof } from '../../schemas/events/beacon-epoch.ts'
import { giveBackWhole } from '../../schemas/memory.ts'
import type {
  BeaconChain,
  ClaimedValidators,
  EpochOfBranch,
  EpochQuestion,
  ExplainedRows,
  KeepingOutcome,
  RegistryWord,
  ValidatorSet,
} from '../ports/beacon-source.ts'
import type { Log } from '../ports/log.ts'
import { presetMatches, toBeaconBlock } from './block.ts'
import { toBlockOperations } from './block-operations.ts'
import { isDepositSigned } from './deposit-signature.ts'
import { toExplainedRows } from './explained-rows.ts'
import type { KeptStates } from './kept-states.ts'
import { releaseButBalances, releaseCuts, releaseState } from './released-columns.ts'
import { required } from './route.ts'
import { BEACON } from './routes.ts'
import { type EarlierRoots, isNamedBefore } from './state-anchor.ts'
import { isNamedBy, isOfBranch, refuseOtherBranch } from './state-branch.ts'
import { AbsentState, type ReadState, type StatePlace, StateReader } from './state-reader.ts'
import { StatesAway } from './states-away.ts'
import type { Ask } from './wide-tables.ts'

export interface ExplainedEpochsOptions {
  readonly log: Log
  readonly chain: () => Promise<BeaconChain>
  /** How many nodes may be asked. */
  readonly nodes: number
  /** Where states are kept until they are final; nowhere where it is undefined. */
  readonly kept: KeptStates | undefined
}

/** What of a state is needed to keep the one an epoch later. */
interface Earlier extends StatePlace, EarlierRoots {
  readonly queues: StateQueues | undefined
}

/** The states that an epoch lies between. */
interface Between<State> {
  readonly before: State
  readonly after: State
}

interface FailedEpoch {
  readonly after: StatePlace
  /** How many epochs had been asked for by then. */
  readonly asked: number
  readonly error: unknown
}

/** What an epoch is computed of. */
interface Computing {
  readonly states: Between<ReadState>
  readonly blocks: readonly ReadBlock[]
  readonly spec: BeaconChain['spec']
  /** Committees of the epoch, if it comes behind the one that was computed last. */
  readonly coming: Committees | undefined
}

/**
 * Computes epochs from states, one after the other: the state behind an epoch is the one before the next, so each is read once, and at the
 * head where that is asked for, because nodes keep no states of before what is final.
 */
export class ExplainedEpochs {
  readonly #options: ExplainedEpochsOptions
  readonly #reader: StateReader
  readonly #away: StatesAway
  /** The state behind the last epoch that was computed. Whoever takes it to compute the next one leaves nothing here, and gives it back. */
  #last: ReadState | undefined
  /** What the last epoch that was asked for lies between: its blocks are of the final chain, and so are anchored states in these places. */
  #final: Between<StatePlace> | undefined
  #committees: readonly Committees[] = []
  /** Of the epoch behind the last one: they are drawn while its state comes. */
  #coming: Promise<Committees | undefined> | undefined
  /** Of the state that was kept last. */
  #earlier: Earlier | undefined
  #turn: Promise<unknown> = Promise.resolve()
  /** How many epochs were asked for so far. */
  #asked = 0
  /** The epoch that failed last. */
  #failed: FailedEpoch | undefined
  #askedAgain: string | undefined

  constructor(options: ExplainedEpochsOptions) {
    this.#options = options
    this.#reader = new StateReader(options.chain)
    this.#away = new StatesAway(options)
  }

  /** As `FinalChain.explainedEpoch` says; `ask` asks nodes that hold the checkpoint. */
  of(question: EpochQuestion, set: ValidatorSet, ask: Ask): Promise<ExplainedRows | undefined> {
    const asked = ++this.#asked
    const turn = this.#turn.then(() => this.#explain(question, set, { ask, asked }))
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  /**
   * As `FinalChain.registered` says, for the checkpoint's place: the state that was read last is of its chain if it names the checkpoint's block, or
   * stands where an epoch of it ends.
   */
  registered(claims: ClaimedValidators, checkpoint: StatePlace): Promise<RegistryWord | undefined> {
    return this.#reader.registered(claims, (state) => {
      const { before, after } = this.#final ?? {}
      const isFinal = (place: StatePlace | undefined) => place !== undefined && isAt(place, state)
      return isOfBranch(state, checkpoint) || isFinal(before) || isFinal(after)
    })
  }

  async #explain(
    question: EpochQuestion,
    set: ValidatorSet,
    { ask, asked }: { readonly ask: Ask; readonly asked: number },
  ): Promise<ExplainedRows | undefined> {
    const { spec, clock } = await this.#options.chain()
    if (!presetMatches(spec)) return undefined
    const places = placesOf(clock, question)
    try {
      this.#failBehindFailed(places, asked)
      this.#final = places
      return await this.#explainBetween(places, question, set, { ask, spec })
    } catch (error) {
      this.#failed = { after: places.after, asked: this.#asked, error }
      throw error
    }
  }

  /** Whoever had asked for the epoch behind one that failed did so in hope of it: both of its states would be read, for nobody. */
  #failBehindFailed({ before }: Between<StatePlace>, asked: number): void {
    const failed = this.#failed
    if (failed !== undefined && asked <= failed.asked && isAt(failed.after, before)) throw failed.error
  }

  async #explainBetween(
    places: Between<StatePlace>,
    question: EpochQuestion,
    set: ValidatorSet,
    { ask, spec }: { readonly ask: Ask; readonly spec: BeaconChain['spec'] },
  ): Promise<ExplainedRows | undefined> {
    if (this.#away.isAbsent && (await this.#options.kept?.has(places.after)) !== true) return undefined
    const blocks = await Promise.all(question.blockRoots.map((root) => readBlock(ask, root)))
    const states = await this.#states(places, blocks, ask)
    if (states === undefined) return undefined
    try {
      const coming = await this.#coming
      return this.#compute(question, set, { states, blocks, spec, coming })
    } catch (error) {
      await this.#forgetUnproven(states)
      throw error
    }
  }

  /** A state that no block names may be what is wrong: nodes are asked for it again. */
  async #forgetUnproven({ before, after }: Between<ReadState>): Promise<void> {
    for (const state of [before, after]) if (!state.isAnchored) await this.#options.kept?.forget(state)
  }

  #compute(
    { epoch, cutSlots }: EpochQuestion,
    set: ValidatorSet,
    { states, blocks, spec, coming }: Computing,
  ): ExplainedRows {
    const { before, after } = states
    refuseOtherBranch(before, after)
    const genesisForkVersion = bytesOf(spec.GENESIS_FORK_VERSION ?? '')
    const isSigned = (deposit: StateDeposit) => isDepositSigned(deposit, genesisForkVersion)
    const columns = { before: before.columns, after: after.columns }
    const operations = blocks.map((block) => block.operations)
    const committees = coming === undefined ? this.#committees : [...this.#committees, coming]
    const given = { ...columns, blocks: operations, committees, cutSlots }
    const explained = explainEpoch({ ...given, spec, isSigned })
    if (!explained.isParticipationReplayed) {
      const why = `the blocks of epoch ${epoch} do not set the participation that the state behind it has`
      throw new AppError('node_inconsistent', why, { retryable: true })
    }
    const level = after.isAnchored && (before.isAnchored || isNamedBy(after, before)) ? 'anchored' : 'consistent'
    const proof: EpochProof = { formulas: FORMULAS_VERSION, stateRoot: after.stateRoot, level }
    this.#last = after
    this.#committees = explained.committees
    // Those that cannot be drawn now are drawn where they are needed, which tells why.
    this.#coming = Committees.behind(after.columns, chainRules(spec)).catch(() => undefined)
    const slots = blocks.map((block) => block.slot)
    releaseButBalances(before.columns)
    const rows = toExplainedRows(explained, { after: after.columns, set, slots })
    releaseCuts(explained)
    releaseState(before.columns)
    return { ...rows, proof, differences: [] }
  }

  /** Those that are kept, or else what nodes give, which nobody else has; undefined where none of them gives any. */
  async #states(
    places: Between<StatePlace>,
    blocks: readonly ReadBlock[],
    ask: Ask,
  ): Promise<Between<ReadState> | undefined> {
    const { kept } = this.#options
    const wanted = (before: ReadState) =>
      wantedPubkeys(
        before.columns,
        blocks.map(({ operations }) => operations),
      )
    const last = this.#last !== undefined && isAt(this.#last, places.before) ? this.#last : undefined
    this.#last = undefined
    const before = last ?? (await kept?.get(places.before))
    const keptAfter = await kept?.get(places.after)
    const isUsable = (first: ReadState) => keptAfter?.columns.keys.include(wanted(first)) === true
    if (before !== undefined && keptAfter !== undefined && isUsable(before)) {
      this.#askedAgain = undefined
      return { before, after: await this.#anchored(keptAfter, before) }
    }
    this.#tellAskedAgain(places, before === undefined ? 'before' : keptAfter === undefined ? 'after' : 'keys')
    return this.#away.unlessAbsent(ask, async (noting) => {
      const first = before ?? (await this.#reader.read(noting, { ...places.before, pubkeys: [] }))
      if (keptAfter !== undefined && isUsable(first))
        return { before: first, after: await this.#anchored(keptAfter, first) }
      const question = { ...places.after, pubkeys: wanted(first), before: earlierOf(first) }
      return { before: first, after: await this.#reader.read(noting, question) }
    })
  }

  /** A kept state, anchored by the one before it where that was not known when it was read. */
  async #anchored(state: ReadState, before: ReadState): Promise<ReadState> {
    const { slot, stateRoots, anchor } = state
    if (anchor === undefined) return state
    const { fork, blockRoots } = state.columns
    const isNamed = isNamedBefore({ slot, fork, blockRoots, stateRoots, anchor }, earlierOf(before))
    if (isNamed === undefined) return state
    if (isNamed) return { ...state, isAnchored: true, anchor: undefined }
    await this.#options.kept?.forget(state)
    const why = `the state of slot ${slot} that was kept is another than the one that its last block names`
    throw new AppError('node_inconsistent', why, { retryable: true })
  }

  /** Once for each reason, until a kept state is used again. */
  #tellAskedAgain({ before, after }: Between<StatePlace>, missing: 'before' | 'after' | 'keys'): void {
    if (this.#options.kept === undefined || this.#askedAgain === missing) return
    this.#askedAgain = missing
    const why = {
      before: `the state of slot ${before.slot} is not kept`,
      after: `the state of slot ${after.slot} is not kept`,
      keys: `the state of slot ${after.slot} was kept when the one before it was not known`,
    }[missing]
    this.#options.log.debug({ slot: after.slot, why }, `final states are asked of nodes: ${why}`)
  }

  /** As `BeaconSource.keepState` says. */
  async keep(branch: EpochOfBranch, ask: Ask): Promise<KeepingOutcome> {
    const { kept, chain } = this.#options
    const { spec, clock } = await chain()
    if (kept === undefined || !presetMatches(spec)) return 'absent'
    const { before, after } = placesOf(clock, branch)
    if (await kept.has(after)) return 'kept'
    if (this.#last !== undefined && after.slot <= this.#last.slot) return 'kept' // it was asked for meanwhile
    if (!(await kept.hasRoom())) return 'no room'
    const earlier = await this.#earlierAt(before)
    const blocks = await Promise.all(branch.blockRoots.map((root) => readBlock(ask, root)))
    const operations = blocks.map((block) => block.operations)
    const pubkeys = wantedPubkeys({ queues: earlier?.queues }, operations)
    const state = await this.#reader.read(ask, { ...after, pubkeys, before: earlier }).catch(unlessUnreadable)
    if (state === undefined) return 'absent'
    const isKept = await kept.put(state)
    releaseState(state.columns)
    if (!isKept) return 'no room'
    this.#earlier = earlierOf(state)
    return 'kept'
  }

  async #earlierAt(place: StatePlace): Promise<Earlier | undefined> {
    if (this.#earlier !== undefined && isAt(this.#earlier, place)) return this.#earlier
    if (this.#last !== undefined && isAt(this.#last, place)) return earlierOf(this.#last)
    const state = await this.#options.kept?.get(place)
    return state && earlierOf(state)
  }

  /** As `BeaconSource.dropStatesBefore` says. */
  async drop(epoch: number, endRoot: string): Promise<void> {
    const { clock } = await this.#options.chain()
    await this.#options.kept?.dropBefore({ slot: lastSlotOfEpoch(clock, epoch), blockRoot: endRoot })
  }
}

function placesOf(clock: ChainClock, { epoch, blockRoots, parentRoot }: EpochOfBranch): Between<StatePlace> {
  return {
    before: { slot: Math.max(0, firstSlotOfEpoch(clock, epoch) - 1), blockRoot: parentRoot },
    after: { slot: lastSlotOfEpoch(clock, epoch), blockRoot: blockRoots.at(-1) ?? parentRoot },
  }
}

function isAt(one: StatePlace, { slot, blockRoot }: StatePlace): boolean {
  return one.slot === slot && one.blockRoot === blockRoot
}

function earlierOf({ slot, blockRoot, stateRoots, columns: { blockRoots, queues } }: ReadState): Earlier {
  return { slot, blockRoot, stateRoots, blockRoots, queues }
}

/** Undefined where no node gives the state, or it is of a fork that is not known here. */
function unlessUnreadable(error: unknown): undefined {
  if (error instanceof AbsentState || (error instanceof AppError && error.code === 'usage')) return undefined
  throw error
}

interface ReadBlock {
  readonly operations: BlockOperations
  readonly slot: number
}

/** A block whose bytes have the root that it was asked for by. */
function readBlock(ask: Ask, root: string): Promise<ReadBlock> {
  return ask('blocks', async (node) => {
    const what = `block ${root}`
    const { data, meta, bytes } = await required(node, BEACON.getBlockV2, { blockId: root }, { what, ssz: true })
    const found = toBeaconBlock(meta.version, data)
    if (found.root !== root) throw node.fault('node_inconsistent', `answered ${what} with ${found.root}`)
    const read = { operations: toBlockOperations(meta.version, data), slot: data.message.slot }
    if (bytes !== undefined) giveBackWhole([bytes])
    return read
  })
}
