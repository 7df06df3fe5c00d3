import { type Hex, hexOf } from '../../../schemas/eth/hex.ts'
import { seededBytes } from '../consensus/random.ts'
import { type BlockTurn, type ExecutionEngine, ROLLBACK_BLOCKS_MAX } from '../engine.ts'
import type { SlotProducer } from '../slot-runner.ts'
import { reorgDepthAfter } from './reorgs.ts'
import type { Schedule } from './schedule.ts'

export interface SequencerOptions {
  readonly seed: string
  readonly engine: ExecutionEngine
  /** A block has its number's time on every branch. */
  readonly schedule: Schedule
  /** Where the chain goes on; at genesis unless given. */
  readonly checkpoint?: SequencerCheckpoint | undefined
}

/** What the next block depends on besides the engine. Plain data. */
export interface SequencerCheckpoint {
  readonly headNumber: number
  readonly attempt: number
}

const ADDRESS_BYTES = 20
const ZERO_HASH: Hex = `0x${'00'.repeat(32)}`

/**
 * Makes one block after the other, and sometimes takes its newest ones back for a longer branch. A block's number is its slot. One
 * call at a time.
 */
export class Sequencer implements SlotProducer {
  readonly #options: SequencerOptions
  readonly #coinbase: Hex
  #headNumber: number
  #nextHead: number
  /** Hashes from the head back to where the deepest reorg returns to, the head's last. */
  readonly #hashes: Hex[]
  /** Blocks made so far, orphans included: no two have the same, so a replacement differs from what it replaces. */
  #attempt: number

  constructor(options: SequencerOptions) {
    this.#options = options
    this.#coinbase = hexOf(seededBytes(options.seed, 'sequencer').subarray(0, ADDRESS_BYTES))
    const { engine, checkpoint } = options
    this.#headNumber = checkpoint?.headNumber ?? 0
    this.#nextHead = this.#headNumber
    this.#attempt = checkpoint?.attempt ?? 0
    this.#hashes = [engine.headHash]
  }

  /** What a restart at the head goes on from. */
  checkpoint(): SequencerCheckpoint {
    return { headNumber: this.#headNumber, attempt: this.#attempt }
  }

  get headSlot(): number {
    return this.#headNumber
  }

  /** The next block; when the head is to be orphaned, together with the blocks that replace those before it. */
  async produceSlot(aheadTo: number): Promise<void> {
    const number = this.#headNumber + 1
    this.#nextHead = number
    await this.#stepBack(this.#depthAfter(this.#headNumber))
    while (this.#headNumber < number) await this.#build(aheadTo)
  }

  /** The head once nothing is being produced any more: what is asked for now may come after it. */
  get nextHead(): number {
    return this.#nextHead
  }

  /** Of the scenario, or because somebody has asked for it. */
  #depthAfter(number: number): number {
    return Math.max(reorgDepthAfter(number), this.#options.schedule.orphansAfter(number))
  }

  async #stepBack(depth: number): Promise<void> {
    if (depth === 0) return
    this.#hashes.splice(-depth)
    await this.#options.engine.rollbackTo(this.#headHash())
    this.#headNumber -= depth
  }

  async #build(aheadTo: number): Promise<void> {
    const { seed, engine, schedule } = this.#options
    const number = this.#headNumber + 1
    const attempt = ++this.#attempt
    schedule.reserve(number)
    const { payload } = await engine.build({
      ...this.#turn(number, attempt),
      parentHash: this.#headHash(),
      parentBeaconBlockRoot: ZERO_HASH, // there is no beacon chain
      prevRandao: hexOf(seededBytes(seed, `block ${attempt}`)),
      proposerIndex: 0,
      withdrawals: [],
      next: number < aheadTo && this.#depthAfter(number) === 0 ? this.#turn(number + 1, attempt + 1) : undefined,
    })
    this.#headNumber = number
    this.#hashes.push(hexOf(payload.blockHash))
    if (this.#hashes.length > ROLLBACK_BLOCKS_MAX + 1) this.#hashes.shift()
  }

  #turn(number: number, attempt: number): BlockTurn {
    return { slot: attempt, timestampSec: this.#options.schedule.timeSec(number), feeRecipient: this.#coinbase }
  }

  #headHash(): Hex {
    const hash = this.#hashes.at(-1)
    if (hash === undefined) throw new Error('a reorg never reaches below genesis')
    return hash
  }
}
