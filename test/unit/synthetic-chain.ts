import type {
  BeaconBlock,
  BeaconChain,
  BeaconHead,
  BeaconSource,
  ChainNews,
  EpochOfBranch,
  FinalChain,
  KeepingOutcome,
  StakingQueues,
} from '../../infra/ports/beacon-source.ts'
import type { ExecutionSource } from '../../infra/ports/execution-source.ts'
import { AppError } from '../../schemas/errors.ts'
import { emptyBlock } from './synthetic-execution-chain.ts'

export const SLOTS_PER_EPOCH = 4
const FAR = 2n ** 64n - 1n
const GWEI_32_ETH = 32_000_000_000n
/** Validator 1 has two seats. */
const COMMITTEE = [1, 1, 6, 7]
const SEAT_GWEI = 2n
/** A validator that joins with an epoch is noted as eligible at the end of it (process_registry_updates). */
const ELIGIBLE_AFTER_EPOCHS = 1
const ACTIVE_AFTER_EPOCHS = 4

const hash = (text: string) => `0x${Buffer.from(text).toString('hex').padStart(64, '0').slice(-64)}`

export const syntheticChain: BeaconChain = {
  clock: { genesisTimeSec: 1_600_000_000, secondsPerSlot: 12, slotsPerEpoch: SLOTS_PER_EPOCH },
  genesisValidatorsRoot: hash('genesis'),
  genesisBlockRoot: hash('genesis'),
  forks: [{ version: '0x00000000', epoch: 0 }],
  depositChainId: 7,
  depositContractAddress: `0x${'00'.repeat(20)}`,
  spec: {
    ALTAIR_FORK_EPOCH: '0',
    BELLATRIX_FORK_EPOCH: '0',
    ELECTRA_FORK_EPOCH: '0',
    EPOCHS_PER_SYNC_COMMITTEE_PERIOD: '8',
    MIN_SLASHING_PENALTY_QUOTIENT_ELECTRA: '4096',
  },
}

export function pubkeyOf(index: number): string {
  return `0x${index.toString(16).padStart(96, '0')}`
}

/** The beacon chain tells what is canonical: its execution node is asked for blocks by hash alone. */
const unasked = (what: string): Promise<never> => Promise.reject(new Error(`nobody asks this node for its ${what}`))

const lagging = (what: string) => new AppError('node_lagging', `the node does not have ${what}`, { retryable: true })

/**
 * A chain of named blocks at the ports, without HTTP: the test builds branches, moves the head and finality, and makes
 * questions fail. Validator i has a balance of 32 ETH and i gwei; every attestation reward is 5, 3, 1 and 0 gwei, and a seat of
 * the sync committee is worth 2.
 */
export class SyntheticChain {
  /** Who of the committee's four seats has signed the blocks that are added from now on. */
  syncBits: Uint8Array = Uint8Array.of(0b1111)
  readonly #blocks = new Map<string, BeaconBlock>()
  #head = this.#put('genesis', 0, hash('before'))
  finalizedEpoch = 0
  /** Validators in the registry. */
  registry = 8
  /** Epochs that validators have joined the registry with; the others were there from genesis. */
  readonly joinEpochs = new Map<number, number>()
  /** Changes what the node answers to a question about many validators. */
  change: <Rows extends { readonly validatorIndex: Uint32Array }>(question: string, rows: Rows) => Rows = (_, rows) =>
    rows
  /** Validators for which attestation rewards are left out. */
  readonly withoutReward = new Set<number>()
  /** Names of blocks that the node wrongly gives by their slot when it is asked for final ones; an unknown name is no block. */
  readonly hints = new Map<number, string>()
  /** Called before each answer: throws to make the question fail. */
  before: (question: string) => void = () => {}
  /** What the node offers as whole states, by slot; rewards are told by endpoints where undefined. */
  offer: ((slot: number) => { readonly bytes: number | undefined } | undefined) | undefined
  /** Finds nobody by their keys. */
  isForgetful = false
  /** What waits at the head, whichever that is; a node that does not tell where undefined. */
  queues: Omit<StakingQueues, 'slot' | 'root'> | undefined
  /** Epochs whose states were to be kept, in order, and what becomes of them. */
  readonly kept: EpochOfBranch[] = []
  keeping: (epoch: EpochOfBranch) => KeepingOutcome = () => 'kept'
  /** Whether the event stream tells of new heads. */
  isAnnouncing = true
  /** Those who watch. */
  #news: ((news: ChainNews) => void)[] = []

  #put(name: string, slot: number, parentRoot: string): BeaconBlock {
    const block: BeaconBlock = {
      slot,
      root: hash(name),
      parentRoot,
      proposerIndex: slot % 8,
      executionBlockHash: slot === 0 ? `0x${'00'.repeat(32)}` : hash(`x${name}`),
      executionBlockNumber: (this.#blocks.get(parentRoot)?.executionBlockNumber ?? -1) + 1,
      feeRecipient: `0x${'0f'.repeat(20)}`,
      withdrawals: [],
      syncBits: this.syncBits,
      accusedIndices: [],
    }
    this.#blocks.set(block.root, block)
    return block
  }

  get head(): BeaconHead {
    return { slot: this.#head.slot, root: this.#head.root }
  }

  /** Adds a block on top of a named one and makes it the head. */
  extend(name: string, slot: number, parent: string): void {
    this.#head = this.#put(name, slot, hash(parent))
    if (this.isAnnouncing) this.announce()
  }

  /** Adds blocks named by their slots, for every slot of the range, on top of a named block. */
  extendRange(from: number, to: number, parent: string): void {
    for (let slot = from; slot <= to; slot++) this.extend(`b${slot}`, slot, slot === from ? parent : `b${slot - 1}`)
  }

  #isIn(index: number, slot: number): boolean {
    return index < this.registry && (this.joinEpochs.get(index) ?? 0) * SLOTS_PER_EPOCH <= slot
  }

  announce(): void {
    for (const tell of this.#news) {
      tell({ kind: 'head', ...this.head })
      tell({ kind: 'finalized', ...this.#finalized() })
    }
  }

  /** The stream was away: some of what it would have told is lost. */
  announceGap(): void {
    for (const tell of this.#news) tell({ kind: 'gap' })
  }

  #finalized() {
    const last = this.#canonical().find((block) => block.slot <= this.finalizedEpoch * SLOTS_PER_EPOCH)
    return { epoch: this.finalizedEpoch, root: last?.root ?? '', toldBy: 0 }
  }

  #canonical(): readonly BeaconBlock[] {
    const blocks: BeaconBlock[] = []
    for (
      let block: BeaconBlock | undefined = this.#head;
      block !== undefined;
      block = this.#blocks.get(block.parentRoot)
    ) {
      blocks.push(block)
    }
    return blocks
  }

  #at(slot: number): BeaconBlock | undefined {
    return this.#canonical().find((block) => block.slot === slot)
  }

  #hinted(slot: number): BeaconBlock | undefined {
    const name = this.hints.get(slot)
    return name === undefined ? this.#at(slot) : this.#blocks.get(hash(name))
  }

  #answer<Answer>(question: string, answer: () => Answer): Promise<Answer> {
    return Promise.resolve().then(() => {
      this.before(question)
      return answer()
    })
  }

  readonly execution: ExecutionSource = {
    chainId: async () => 7,
    head: () => unasked('head'),
    finalized: () => unasked('finality'),
    blockByNumber: () => unasked('blocks by number'),
    blockByHash: (asked) =>
      this.#answer(`execution ${asked}`, () => {
        const block = [...this.#blocks.values()].find(({ executionBlockHash }) => executionBlockHash === asked)
        if (block === undefined) throw new Error(`the node has no execution block ${asked}`)
        const parentHash = this.#blocks.get(block.parentRoot)?.executionBlockHash ?? asked
        return emptyBlock({ number: block.executionBlockNumber, hash: asked, parentHash })
      }),
    balanceChanges: async (addresses) => addresses.map(() => undefined),
    status: () => [],
    [Symbol.asyncDispose]: async () => {},
  }

  /** What is final by any checkpoint: there is one node, on one chain at a time. */
  readonly final: FinalChain = {
    blockHint: (slot) => this.#answer(`hint ${slot}`, () => this.#hinted(slot)),
    rootAt: (slot) => this.#answer(`root ${slot}`, () => this.#at(slot)?.root),
    validators: (slot, set) =>
      this.#answer(`validators ${slot}`, () => {
        const validatorIndex = set.filter((index) => this.#isIn(index, slot))
        const all = <Value>(value: Value) => Array.from(validatorIndex, () => value)
        const sinceJoin = (epochs: number) =>
          BigUint64Array.from(validatorIndex, (index) => {
            const joined = this.joinEpochs.get(index)
            return joined === undefined ? 0n : BigInt(joined + epochs)
          })
        return this.change(`validators ${slot}`, {
          validatorIndex,
          balanceGwei: BigInt64Array.from(validatorIndex, (index) => GWEI_32_ETH + BigInt(index)),
          effectiveBalanceEth: Uint32Array.from(all(32)),
          status: Uint8Array.from(all(2)),
          slashed: Uint8Array.from(all(0)),
          activationEligibilityEpoch: sinceJoin(ELIGIBLE_AFTER_EPOCHS),
          activationEpoch: sinceJoin(ACTIVE_AFTER_EPOCHS),
          exitEpoch: BigUint64Array.from(all(FAR)),
          withdrawableEpoch: BigUint64Array.from(all(FAR)),
        })
      }),
    balances: (slot, set) =>
      this.#answer(`balances ${slot}`, () => {
        const validatorIndex = set.filter((index) => this.#isIn(index, slot))
        const balanceGwei = BigInt64Array.from(validatorIndex, (index) => GWEI_32_ETH + BigInt(index))
        return this.change(`balances ${slot}`, { validatorIndex, balanceGwei })
      }),
    identify: (slot, pubkeys) =>
      this.#answer(`identify ${slot}`, () =>
        Array.from({ length: this.isForgetful ? 0 : this.registry }, (_, index) => index)
          .filter((index) => this.#isIn(index, slot) && pubkeys.includes(pubkeyOf(index)))
          .map((index) => ({ index, pubkey: pubkeyOf(index), withdrawalCredentials: hash(`wc${index}`) })),
      ),
    registered: async () => undefined,
    explainedEpoch: async () => undefined,
    stateOffer: (slot) => this.#answer(`offer ${slot}`, () => this.offer?.(slot)),
    pendingDeposits: () => this.#answer('pending deposits', () => []),
    attestationRewards: (epoch, set) =>
      this.#answer(`attestations ${epoch}`, () => {
        const unknown = set.find((index) => !this.#isIn(index, (epoch + 1) * SLOTS_PER_EPOCH - 1))
        if (unknown !== undefined) throw new AppError('node_refused', `validator index ${unknown} is too large`)
        const validatorIndex = set.filter((index) => !this.withoutReward.has(index))
        const all = (value: bigint) => BigInt64Array.from(validatorIndex, () => value)
        return { validatorIndex, targetGwei: all(5n), sourceGwei: all(3n), headGwei: all(1n), inactivityGwei: all(0n) }
      }),
    proposerReward: (root) =>
      this.#answer(`proposer ${root}`, () => ({
        attestationsGwei: 100n,
        syncAggregateGwei: 10n,
        proposerSlashingsGwei: 0n,
        attesterSlashingsGwei: 0n,
      })),
    syncRewards: (root, set) =>
      this.#answer(`sync ${root}`, () => {
        const bits = this.#blocks.get(root)?.syncBits[0] ?? 0
        const seatGwei = (seat: number) => ((bits & (1 << seat)) === 0 ? -SEAT_GWEI : SEAT_GWEI)
        return {
          validatorIndex: Uint32Array.from(set),
          syncGwei: BigInt64Array.from(set, (index) => {
            return COMMITTEE.reduce((sum, member, seat) => sum + (member === index ? seatGwei(seat) : 0n), 0n)
          }),
        }
      }),
    syncCommittee: (epoch) => this.#answer(`committee ${epoch}`, () => Uint32Array.from(COMMITTEE)),
    confirm: () => this.#answer('confirm', () => undefined),
  }

  readonly beacon: BeaconSource = {
    chain: async () => syntheticChain,
    head: () => this.#answer('head', () => this.head),
    finalized: () => this.#answer('finalized', () => this.#finalized()),
    blockAt: (slot) =>
      this.#answer(`block ${slot}`, () => {
        if (slot >= this.#head.slot && slot !== this.#head.slot) throw lagging(`slot ${slot}`)
        return this.#at(slot)
      }),
    blockByRoot: (root) =>
      this.#answer(`block ${root}`, () => {
        const block = this.#blocks.get(root)
        if (block === undefined) throw lagging(`block ${root}`)
        return block
      }),
    headerByRoot: (root) =>
      this.#answer(`header ${root}`, () => {
        const block = this.#blocks.get(root)
        if (block === undefined) throw lagging(`header ${root}`)
        return block
      }),
    queues: () =>
      this.#answer('queues', () => {
        if (this.queues === undefined) throw lagging('its queues')
        return { ...this.queues, slot: this.head.slot, root: this.head.root }
      }),
    keepState: (epoch) =>
      this.#answer(`state ${epoch.epoch}`, () => {
        this.kept.push(epoch)
        return this.keeping(epoch)
      }),
    dropStatesBefore: async () => {},
    finalChain: () => this.final,
    watch: (onNews, signal) => {
      this.#news.push(onNews)
      return new Promise((resolve) => {
        if (signal.aborted) resolve()
        signal.addEventListener('abort', () => resolve())
      })
    },
    status: () => [],
    [Symbol.asyncDispose]: async () => {},
  }
}
