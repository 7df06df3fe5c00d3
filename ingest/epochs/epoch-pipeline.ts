import type { BeaconChain, BeaconSource, FinalizedCheckpoint } from '../../infra/ports/beacon-source.ts'
import { AppError } from '../../schemas/errors.ts'
import { firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import { inOrder } from '../in-order.ts'
import { DutySets } from './duty-sets.ts'
import { type BuiltEpoch, buildEpoch } from './epoch-events.ts'
import { Joiners } from './joiners.ts'
import { forkEpoch, specNumber } from './spec.ts'
import { type TrackedMembers, trackedMembers } from './sync-rewards.ts'
import type { TrackedSet, TrackedValidators } from './tracked-validators.ts'

/** Validator rows being read at once, over all epochs: 100,000 of them are about 50 MB of JSON. */
const ROWS_AHEAD_MAX = 250_000
/** Sync committees remembered: the running period and its neighbours, when epochs are read side by side. */
const COMMITTEES_MAX = 4

export interface EpochPipelineOptions {
  readonly beacon: BeaconSource
  readonly chain: BeaconChain
  readonly tracked: TrackedValidators
  readonly chainName: string
  /** Epochs read side by side; fewer with very many validators. */
  readonly concurrency: number
}

/** Reads finalized epochs side by side and hands them out in order, tied to each other by parent roots. */
export class EpochPipeline {
  readonly #options: EpochPipelineOptions
  readonly #committees = new Map<number, Promise<Uint32Array>>()
  readonly #duties = new DutySets()
  readonly #members = new Map<number, { readonly of: Uint32Array; readonly members: TrackedMembers }>()

  constructor(options: EpochPipelineOptions) {
    this.#options = options
  }

  /**
   * Epochs from … to, all before the checkpoint's, each handed to `append` in order. The first must continue the block `after`,
   * where one is given. Tracked validators are those of the moment at which the run begins. Stops early when the signal
   * aborts.
   */
  async run(
    range: {
      readonly from: number
      readonly to: number
      readonly checkpoint: FinalizedCheckpoint
      readonly after?: string | undefined
    },
    append: (built: BuiltEpoch) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const { beacon, chain, chainName } = this.#options
    const { from, to, checkpoint } = range
    const finalSlot = firstSlotOfEpoch(chain.clock, checkpoint.epoch)
    const tracked = await this.#options.tracked.refresh(finalSlot, signal)
    const members = (epoch: number, indices: Uint32Array) => this.#membersOf(epoch, indices)
    // Tracked validators are identified by the checkpoint's state, so all of them are in it.
    const joiners = new Joiners(tracked.indices, (indices) => beacon.validators(finalSlot, indices))
    const shared = { beacon, chain, chainName, tracked, checkpoint, members, duties: this.#duties, joiners }
    const build = (epoch: number) => buildEpoch({ ...shared, epoch })
    let endRoot = range.after
    for await (const built of inOrder({ from, to, concurrency: this.#concurrency(tracked) }, build)) {
      if (signal.aborted) return
      const parent = built.blocks[0]?.parentRoot ?? built.endRoot
      if (endRoot !== undefined && parent !== endRoot) {
        throw new AppError('node_inconsistent', `epoch ${built.epoch} does not continue the epoch before it`, {
          retryable: true,
        })
      }
      endRoot = built.endRoot
      await append(built)
    }
  }

  #concurrency({ indices }: TrackedSet): number {
    const fitting = Math.floor(ROWS_AHEAD_MAX / Math.max(1, indices.length))
    return Math.max(1, Math.min(this.#options.concurrency, fitting))
  }

  async #membersOf(epoch: number, indices: Uint32Array): Promise<TrackedMembers> {
    const { spec } = this.#options.chain
    if (indices.length === 0 || epoch < forkEpoch(spec, 'ALTAIR'))
      return { indices: new Uint32Array(0), seats: new Map() }
    const period = Math.floor(epoch / specNumber(spec, 'EPOCHS_PER_SYNC_COMMITTEE_PERIOD'))
    const committee = await this.#committee(period, epoch)
    const known = this.#members.get(period)
    if (known?.of === indices) return known.members
    const members = trackedMembers(committee, new Set(indices))
    keep(this.#members, period, { of: indices, members })
    return members
  }

  async #committee(period: number, epoch: number): Promise<Uint32Array> {
    const known = this.#committees.get(period)
    if (known !== undefined) return known
    const asked = this.#options.beacon.syncCommittee(epoch)
    keep(this.#committees, period, asked)
    // A question that failed is asked again by the next epoch; who awaits it now learns of the failure.
    asked.catch(() => this.#committees.delete(period))
    return asked
  }
}

function keep<Value>(map: Map<number, Value>, period: number, value: Value): void {
  map.set(period, value)
  const [oldest] = map.keys()
  if (map.size > COMMITTEES_MAX && oldest !== undefined) map.delete(oldest)
}
