import type {
  BeaconChain,
  BeaconHead,
  BeaconSource,
  BlockHeader,
  EpochOfBranch,
} from '../../infra/ports/beacon-source.ts'
import { AppError } from '../../schemas/errors.ts'
import { epochOf, firstSlotOfEpoch } from '../../schemas/eth/time.ts'
import { type LookAtHead, watchHead } from '../beacon-head/watch-head.ts'
import { lastKnownEpoch } from './epoch-pipeline.ts'
import { TrackedKeys, type TrackedKeysOptions } from './tracked-keys.ts'

/** A state that no node has is asked for so often, an epoch apart: behind one address may stand several nodes. */
const ABSENT_ASKED_MAX = 3

export interface FollowStatesOptions extends TrackedKeysOptions {
  readonly beacon: BeaconSource
  /** Unix milliseconds. */
  readonly now?: () => number
  /** Wait before the first repetition after an outage. */
  readonly outageWaitMs?: number
}

/**
 * Has the state behind each epoch kept as soon as the head has passed it, and those of another branch when the head changes over to it: when
 * the epoch is final, nodes with default settings do not have it any more. Of chains alone whose validators somebody tracks. Resolves when
 * the signal aborts; throws AppError `config` for a node of another chain than configured.
 */
export function followStates(options: FollowStatesOptions, signal: AbortSignal): Promise<void> {
  const what = `reading states of ${options.chain} at the head`
  return watchHead({ ...options, what }, (chain) => new StateKeeping(options, chain).look, signal)
}

/** An epoch that the branch of a head has passed. */
interface PassedEpoch {
  readonly branch: EpochOfBranch
  /** Whether its state is kept, or is given by no node. */
  isDone: boolean
  /** How often no node had it. */
  absences: number
}

class StateKeeping {
  readonly #options: FollowStatesOptions
  readonly #chain: BeaconChain
  readonly #keys: TrackedKeys
  /** Later ones are of a fork that is not known here. */
  #lastEpoch: number
  /** Epochs of any branch that are not final, by their ends: what was walked over once is not walked over again. */
  readonly #passed = new Map<string, PassedEpoch>()
  /** The head that was looked at last, with nothing left to do. */
  #settled: BeaconHead | undefined

  constructor(options: FollowStatesOptions, chain: BeaconChain) {
    this.#options = options
    this.#chain = chain
    this.#keys = new TrackedKeys(options)
    this.#lastEpoch = lastKnownEpoch(chain)
  }

  readonly look: LookAtHead = async (head, signal) => {
    await this.#keys.refresh(signal)
    if (this.#keys.pubkeys.size === 0) return false
    this.#lastEpoch = lastKnownEpoch(await this.#options.beacon.chain())
    const newest = await this.#linkOf(head.root, epochOf(this.#chain.clock, head.slot))
    if (!this.#continuesSettled(newest)) await this.#keepAll(newest, signal)
    if (!signal.aborted) this.#settled = newest
    return false
  }

  /** In the same epoch nothing has changed before it. */
  #continuesSettled({ slot, root, parentRoot }: BlockHeader): boolean {
    const { clock } = this.#chain
    if (this.#settled === undefined || epochOf(clock, this.#settled.slot) !== epochOf(clock, slot)) return false
    return this.#settled.root === root || this.#settled.root === parentRoot
  }

  /** The oldest ones first: each is kept by what the one before it has. */
  async #keepAll(newest: BlockHeader, signal: AbortSignal): Promise<void> {
    const { beacon } = this.#options
    const { epoch: finalEpoch } = await beacon.finalized()
    const firstEpoch = Math.max(0, finalEpoch - 1) // it ends where the first epoch begins that is not final
    if (firstEpoch > this.#lastEpoch) return
    for (const [end, { branch }] of this.#passed) if (branch.epoch < firstEpoch) this.#passed.delete(end)
    for (const passed of await this.#passedEpochs(newest, firstEpoch)) {
      if (signal.aborted) return
      if (passed.isDone || passed.branch.epoch > this.#lastEpoch) continue
      const outcome = await beacon.keepState(passed.branch)
      if (outcome === 'no room') return
      if (outcome === 'absent') passed.absences += 1
      passed.isDone = outcome === 'kept' || passed.absences >= ABSENT_ASKED_MAX
    }
  }

  /** Those that the branch of a block has passed, by parent roots; the oldest first. */
  async #passedEpochs(newest: BlockHeader, firstEpoch: number): Promise<readonly PassedEpoch[]> {
    const { clock } = this.#chain
    const found: PassedEpoch[] = []
    const running = epochOf(clock, newest.slot)
    let { parentRoot: end } = await this.#walk(running, newest.root)
    for (let epoch = running - 1; epoch >= firstEpoch; epoch--) {
      const name = `${epoch} ${end}`
      const passed = this.#passed.get(name) ?? { branch: await this.#walk(epoch, end), isDone: false, absences: 0 }
      this.#passed.set(name, passed)
      found.unshift(passed)
      end = passed.branch.parentRoot
    }
    return found
  }

  /** The blocks of an epoch, from its last one or one before it back. */
  async #walk(epoch: number, end: string): Promise<EpochOfBranch> {
    const firstSlot = firstSlotOfEpoch(this.#chain.clock, epoch)
    const blockRoots: string[] = []
    let root = end
    for (;;) {
      const block = await this.#unlessGenesis(root, epoch)
      if (block === undefined || block.slot < Math.max(1, firstSlot)) return { epoch, blockRoots, parentRoot: root }
      blockRoots.unshift(root)
      root = block.parentRoot
    }
  }

  /** What a block continues, which is of this epoch or an earlier one. */
  async #linkOf(root: string, epoch: number): Promise<BlockHeader> {
    const { beacon } = this.#options
    return epoch > this.#lastEpoch ? beacon.headerByRoot(root) : beacon.blockByRoot(root)
  }

  /** Many nodes do not have the block of slot 0, which was never proposed. */
  async #unlessGenesis(root: string, epoch: number): Promise<BlockHeader | undefined> {
    const { genesisBlockRoot } = this.#chain
    if (root === genesisBlockRoot) return undefined
    try {
      return await this.#linkOf(root, epoch)
    } catch (error) {
      const isUnknown = genesisBlockRoot === undefined && epoch === 0
      if (isUnknown && error instanceof AppError && error.code === 'node_lagging') return undefined
      throw error
    }
  }
}
