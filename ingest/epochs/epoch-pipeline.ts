import type {
  BeaconChain,
  BeaconSource,
  EpochQuestion,
  ExplainedRows,
  FinalChain,
  FinalizedCheckpoint,
} from '../../infra/ports/beacon-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { AppError } from '../../schemas/errors.ts'
import { firstSlotOfEpoch, lastSlotOfEpoch } from '../../schemas/eth/time.ts'
import { unknownFork } from '../../schemas/eth/unknown-fork.ts'
import { giveBackWhole } from '../../schemas/memory.ts'
import { inOrder } from '../in-order.ts'
import { DutySets } from './duty-sets.ts'
import { EndBalances } from './end-balances.ts'
import { type BuiltEpoch, buildEpoch, type EpochShare } from './epoch-events.ts'
import { FinalWalk } from './final-walk.ts'
import { Joiners } from './joiners.ts'
import { Milestone } from './milestone.ts'
import { PubkeyBook } from './pubkey-book.ts'
import { isSame } from './registry-rows.ts'
import { forkEpoch, specNumber } from './spec.ts'
import { type TrackedMembers, trackedMembers } from './sync-rewards.ts'
import { ToldCheckpoints } from './told-checkpoints.ts'
import { lackingIn, type ToldEpoch } from './told-epoch.ts'
import type { TrackedSet, TrackedValidators } from './tracked-validators.ts'

/** Validator rows being read at once, over all epochs: 100,000 of them are about 50 MB of JSON. */
const ROWS_AHEAD_MAX = 250_000
/** Epochs whose states are asked for, however many validators: one that is written, one that is computed, and the one behind them. */
const COMPUTED_AHEAD = 3
/** Epochs of one walk back: the blocks of so many are in memory at once, about 10 MB of mainnet's. */
const EPOCHS_PER_WALK = 64
/** Sync committees remembered: the running period and its neighbours, when epochs are read side by side. */
const COMMITTEES_MAX = 4

export interface EpochPipelineOptions {
  readonly beacon: BeaconSource
  readonly chain: BeaconChain
  readonly tracked: TrackedValidators
  readonly chainName: string
  readonly log: Log
  readonly told?: ToldCheckpoints | undefined
  /** What the log has of an epoch that is to be told again because it lacks validators; undefined where all of it has to be asked. */
  readonly toldIn?: (epoch: number) => Promise<ToldEpoch | undefined>
  /** Whether the log has an epoch as it was computed of states: endpoints do not tell it anew. */
  readonly isComputed?: (epoch: number) => boolean
  /** Whether all epochs to come are told by this pipeline, so that whom it has looked for is known of them. */
  readonly tellsLooks?: boolean
  /** Epochs read side by side; fewer with very many validators. */
  readonly concurrency: number
}

/** Epochs from … to, both before the checkpoint's. */
interface EpochStretch {
  readonly from: number
  readonly to: number
  readonly checkpoint: FinalizedCheckpoint
  /** The block that the first must continue. */
  readonly after?: string | undefined
  /** Tells blocks alone: no node has what it takes to tell of validators. */
  readonly blocksOnly?: boolean
}

interface Run extends EpochStretch {
  readonly chain: BeaconChain
  readonly final: FinalChain
  readonly tracked: TrackedSet
  readonly finalSlot: number
  /** Epochs of the run that were handed out, and are done with. */
  readonly appended: Milestone
}

const NOBODY = new Uint32Array(0)

/** Reads finalized epochs side by side and hands them out in order, tied to each other by parent roots. */
export class EpochPipeline {
  readonly #options: EpochPipelineOptions
  readonly #told: ToldCheckpoints
  readonly #committees = new Map<number, Promise<Uint32Array>>()
  readonly #duties = new DutySets()
  readonly #members = new Map<number, { readonly of: Uint32Array; readonly members: TrackedMembers }>()

  constructor(options: EpochPipelineOptions) {
    this.#options = options
    this.#told = options.told ?? new ToldCheckpoints()
  }

  /**
   * Hands each epoch of the stretch to `append`, in order, with memory that is gone behind it: all of them before a fork that is not known here. Tracked validators are those of the moment at which the run begins. Stops early when the signal
   * aborts.
   */
  async run(range: EpochStretch, append: (built: BuiltEpoch) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { from, to, checkpoint } = range
    this.#told.note(checkpoint)
    // Forks may be planned otherwise than when the program began.
    const chain = await this.#options.beacon.chain()
    const final = this.#options.beacon.finalChain(checkpoint)
    const finalSlot = firstSlotOfEpoch(chain.clock, checkpoint.epoch)
    const known = await this.#options.tracked.refresh(final, finalSlot, signal)
    const tracked = range.blocksOnly === true ? { pubkeys: new PubkeyBook(), indices: NOBODY } : known
    const ended = new AbortController()
    const appended = new Milestone(from - 1)
    const whole = { ...range, chain, final, tracked, finalSlot, appended }
    const build = this.#builder(whole, AbortSignal.any([signal, ended.signal]))
    const concurrency = Math.min(this.#options.concurrency, Math.max(COMPUTED_AHEAD, rowsFit(tracked)))
    let endRoot = range.after
    try {
      for await (const built of inOrder({ from, to, concurrency }, build)) {
        if (signal.aborted) return
        const parent = built.blocks[0]?.parentRoot ?? built.endRoot
        if (endRoot !== undefined && parent !== endRoot) throw this.#brokenChain(built.epoch)
        endRoot = built.endRoot
        const isHeld = await this.#options.tracked.hold(final, {
          ...built,
          lastSlot: lastSlotOfEpoch(chain.clock, built.epoch),
        })
        if (isHeld && this.#options.tellsLooks === true && range.blocksOnly !== true)
          await this.#options.tracked.tellLook(built.epoch)
        await append(built)
        giveBackWhole(built.events.map(({ data }) => data))
        appended.reach(built.epoch)
      }
    } finally {
      ended.abort()
    }
  }

  /** Makes epochs of a run; the walks over their blocks end with the signal. */
  #builder({ from, to, after, checkpoint, appended, ...run }: Run, signal: AbortSignal) {
    const { chain, final, tracked, finalSlot } = run
    const { beacon, chainName, log, toldIn, isComputed = () => false } = this.#options
    const members = (epoch: number, indices: Uint32Array) => this.#membersOf(final, epoch, indices)
    // Tracked validators are identified by the checkpoint's state, so all of them are in it.
    const joinersOf = (set: TrackedSet) => new Joiners(set.indices, (indices) => final.validators(finalSlot, indices))
    const endBalances = new EndBalances()
    const all: EpochShare = { tracked, duties: this.#duties, joiners: joinersOf(tracked), endBalances }
    let last: EpochShare | undefined
    /** The same as of the epoch before as long as the same are lacking: sources keep what they make of a set. */
    const shareOf = (lacking: TrackedSet): EpochShare => {
      if (last === undefined || !isSame(last.tracked.indices, lacking.indices))
        last = {
          tracked: lacking,
          duties: new DutySets(),
          joiners: joinersOf(lacking),
          endBalances: new EndBalances(),
        }
      return last
    }
    let doubt: unknown
    // A node that was on another fork for a moment may have answered any of the epochs that are being read.
    const confirm = async (): Promise<void> => {
      await final.confirm().catch((error: unknown) => {
        doubt ??= error
        this.#committees.clear()
      })
      if (doubt !== undefined) throw doubt
    }
    const shared = { ...all, final, chain, chainName, members, confirm, log }
    const explaining = new Milestone(from - 1)
    let walk: FinalWalk | undefined
    return (epoch: number): Promise<BuiltEpoch> => {
      if (walk === undefined || (epoch - from) % EPOCHS_PER_WALK === 0) {
        const stretch = { from: epoch, to: Math.min(to, epoch + EPOCHS_PER_WALK - 1) }
        const known = {
          beacon,
          final,
          told: this.#told,
          clock: chain.clock,
          checkpoint,
          unknownFromSlot: firstSlotOfEpoch(chain.clock, lastKnownEpoch(chain) + 1),
          after: epoch === from ? after : undefined,
        }
        walk = new FinalWalk({ ...known, ...stretch }, signal)
      }
      const walked = walk.blocksOf(epoch)
      /** In the order of the epochs, though walks find later blocks first: each is computed from the state that the one before it ends with. */
      const explain = async (question: EpochQuestion): Promise<ExplainedRows | undefined> => {
        await explaining.reached(epoch - 1)
        const asked = tracked.indices.length > 0 ? final.explainedEpoch(question, tracked.indices) : undefined
        explaining.reach(epoch)
        const explained = await asked
        if (explained !== undefined) return explained
        if (isComputed(epoch)) throw computedBefore(epoch)
        await appended.reached(epoch - rowsFit(tracked))
        return undefined
      }
      if (toldIn === undefined) return buildEpoch({ ...shared, epoch, explain, walked })
      walked.catch(() => {}) // awaited behind the log
      return toldIn(epoch).then((told) =>
        buildEpoch({
          ...shared,
          epoch,
          explain,
          walked,
          told: told && { epoch: told, lacking: shareOf(lackingIn(told, tracked)) },
        }),
      )
    }
  }

  #brokenChain(epoch: number): AppError {
    const { chainName } = this.#options
    const message =
      `epoch ${epoch} of the final chain does not continue the epoch before it in the log: the beacon node is on another fork, ` +
      `or the log holds epochs of one, which \`epochline repair --chain ${chainName}\` takes back`
    return new AppError('node_inconsistent', message, { retryable: true })
  }

  async #membersOf(final: FinalChain, epoch: number, indices: Uint32Array): Promise<TrackedMembers> {
    const { spec } = this.#options.chain
    if (indices.length === 0 || epoch < forkEpoch(spec, 'ALTAIR')) return { indices: NOBODY, seats: new Map() }
    const period = Math.floor(epoch / specNumber(spec, 'EPOCHS_PER_SYNC_COMMITTEE_PERIOD'))
    const committee = await this.#committee(final, period, epoch)
    const known = this.#members.get(period)
    if (known?.of === indices) return known.members
    const members = trackedMembers(committee, new Set(indices))
    keep(this.#members, period, { of: indices, members })
    return members
  }

  async #committee(final: FinalChain, period: number, epoch: number): Promise<Uint32Array> {
    const known = this.#committees.get(period)
    if (known !== undefined) return known
    const asked = final.syncCommittee(epoch)
    keep(this.#committees, period, asked)
    // A question that failed is asked again by the next epoch; who awaits it now learns of the failure.
    asked.catch(() => this.#committees.delete(period))
    return asked
  }
}

/** Epochs that endpoints may tell at once, one at least. */
function rowsFit({ indices }: TrackedSet): number {
  return Math.max(1, Math.floor(ROWS_AHEAD_MAX / Math.max(1, indices.length)))
}

function computedBefore(epoch: number): AppError {
  const message = `epoch ${epoch} is in the log as it was computed of states, and no node gives any: endpoints would tell less of it`
  return new AppError('node_lagging', message, { retryable: true })
}

/** The last epoch before a fork that is not known here; Infinity where none is planned. */
export function lastKnownEpoch({ spec }: Pick<BeaconChain, 'spec'>): number {
  return (unknownFork(spec)?.epoch ?? Number.POSITIVE_INFINITY) - 1
}

function keep<Value>(map: Map<number, Value>, period: number, value: Value): void {
  map.set(period, value)
  const [oldest] = map.keys()
  if (map.size > COMMITTEES_MAX && oldest !== undefined) map.delete(oldest)
}
