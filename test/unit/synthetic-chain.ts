import type { BeaconBlock, BeaconChain, BeaconSource } from '../../infra/ports/beacon-source.ts'
import type { BlockReference, ExecutionBlock, ExecutionSource } from '../../infra/ports/execution-source.ts'
import { AppError } from '../../schemas/errors.ts'
import { NO_LOGS, transactionColumns } from './execution-columns.ts'

export const SLOTS_PER_EPOCH = 4
const FAR = 2n ** 64n - 1n
const GWEI_32_ETH = 32_000_000_000n

const hash = (text: string) => `0x${Buffer.from(text).toString('hex').padStart(64, '0').slice(-64)}`

export const syntheticChain: BeaconChain = {
  clock: { genesisTimeSec: 1_600_000_000, secondsPerSlot: 12, slotsPerEpoch: SLOTS_PER_EPOCH },
  genesisValidatorsRoot: hash('genesis'),
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

function emptyBlock(reference: BlockReference): ExecutionBlock {
  const coinbase = `0x${'00'.repeat(20)}`
  return {
    header: { ...reference, timestampSec: 1, coinbase, extraData: '0x', baseFeePerGasWei: '7', gasUsed: 0 },
    columns: transactionColumns([]),
    logs: NO_LOGS,
  }
}

const lagging = (what: string) => new AppError('node_lagging', `the node does not have ${what}`, { retryable: true })

/**
 * A chain of named blocks at the ports, without HTTP: the test builds branches, moves the head and finality, and makes
 * questions fail. Validator i has a balance of 32 ETH and i gwei; every attestation reward is 5, 3, 1 and 0 gwei.
 */
export class SyntheticChain {
  readonly #blocks = new Map<string, BeaconBlock>()
  #head = this.#put('genesis', 0, hash('before'))
  finalizedEpoch = 0
  /** Validators in the registry. */
  registry = 8
  /** Validators for which attestation rewards are left out. */
  readonly withoutReward = new Set<number>()
  /** Called before each answer: throws to make the question fail. */
  before: (question: string) => void = () => {}
  /** Resolves the wait of `watch`. */
  #news: ((what: 'head' | 'finality') => void)[] = []

  #put(name: string, slot: number, parentRoot: string): BeaconBlock {
    const block: BeaconBlock = {
      slot,
      root: hash(name),
      parentRoot,
      proposerIndex: slot % 8,
      executionBlockHash: slot === 0 ? `0x${'00'.repeat(32)}` : hash(`x${name}`),
      executionBlockNumber: slot,
      feeRecipient: `0x${'0f'.repeat(20)}`,
      withdrawals: [],
      accusedIndices: [],
    }
    this.#blocks.set(block.root, block)
    return block
  }

  /** Adds a block on top of a named one and makes it the head. */
  extend(name: string, slot: number, parent: string): void {
    this.#head = this.#put(name, slot, hash(parent))
    this.announce()
  }

  /** Adds blocks named by their slots, for every slot of the range, on top of a named block. */
  extendRange(from: number, to: number, parent: string): void {
    for (let slot = from; slot <= to; slot++) this.extend(`b${slot}`, slot, slot === from ? parent : `b${slot - 1}`)
  }

  announce(): void {
    for (const tell of this.#news) {
      tell('head')
      tell('finality')
    }
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

  #answer<Answer>(question: string, answer: () => Answer): Promise<Answer> {
    return Promise.resolve().then(() => {
      this.before(question)
      return answer()
    })
  }

  #reference(block: BeaconBlock): BlockReference {
    const parentHash = this.#blocks.get(block.parentRoot)?.executionBlockHash ?? hash('parent')
    return { number: block.executionBlockNumber, hash: block.executionBlockHash, parentHash }
  }

  readonly execution: ExecutionSource = {
    chainId: async () => 7,
    head: async () => this.#reference(this.#head),
    finalized: async () => undefined,
    blockByNumber: async (number) => {
      const found = this.#canonical().find((block) => block.executionBlockNumber === number)
      return found === undefined ? undefined : emptyBlock(this.#reference(found))
    },
    blockByHash: (asked) =>
      this.#answer(`execution ${asked}`, () => emptyBlock({ number: 1, hash: asked, parentHash: hash('parent') })),
    [Symbol.asyncDispose]: async () => {},
  }

  readonly beacon: BeaconSource = {
    chain: async () => syntheticChain,
    head: () => this.#answer('head', () => ({ slot: this.#head.slot, root: this.#head.root })),
    finalized: () =>
      this.#answer('finalized', () => {
        const last = this.#canonical().find((block) => block.slot <= this.finalizedEpoch * SLOTS_PER_EPOCH)
        return { epoch: this.finalizedEpoch, root: last?.root ?? '' }
      }),
    blockAt: (slot) =>
      this.#answer(`block ${slot}`, () => {
        if (slot >= this.#head.slot && slot !== this.#head.slot) throw lagging(`slot ${slot}`)
        return this.#canonical().find((block) => block.slot === slot)
      }),
    blockByRoot: (root) =>
      this.#answer(`block ${root}`, () => {
        const block = this.#blocks.get(root)
        if (block === undefined) throw lagging(`block ${root}`)
        return block
      }),
    validators: (slot, set) =>
      this.#answer(`validators ${slot}`, () => {
        const validatorIndex = set.filter((index) => index < this.registry)
        const all = <Value>(value: Value) => Array.from(validatorIndex, () => value)
        return {
          validatorIndex,
          balanceGwei: BigInt64Array.from(validatorIndex, (index) => GWEI_32_ETH + BigInt(index)),
          effectiveBalanceEth: Uint32Array.from(all(32)),
          status: Uint8Array.from(all(2)),
          slashed: Uint8Array.from(all(0)),
          activationEpoch: BigUint64Array.from(all(0n)),
          exitEpoch: BigUint64Array.from(all(FAR)),
          withdrawableEpoch: BigUint64Array.from(all(FAR)),
        }
      }),
    balances: (slot, set) =>
      this.#answer(`balances ${slot}`, () => ({
        validatorIndex: Uint32Array.from(set),
        balanceGwei: BigInt64Array.from(set, (index) => GWEI_32_ETH + BigInt(index)),
      })),
    identify: (slot, pubkeys) =>
      this.#answer(`identify ${slot}`, () =>
        Array.from({ length: this.registry }, (_, index) => index)
          .filter((index) => pubkeys.includes(pubkeyOf(index)))
          .map((index) => ({ index, pubkey: pubkeyOf(index), withdrawalCredentials: hash(`wc${index}`) })),
      ),
    pendingDeposits: () => this.#answer('pending deposits', () => []),
    attestationRewards: (epoch, set) =>
      this.#answer(`attestations ${epoch}`, () => {
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
      this.#answer(`sync ${root}`, () => ({
        validatorIndex: Uint32Array.from(set),
        syncGwei: BigInt64Array.from(set, () => 2n),
      })),
    syncCommittee: (epoch) => this.#answer(`committee ${epoch}`, () => Uint32Array.of(1, 1, 6, 7)),
    watch: (onNews, signal) => {
      this.#news.push(onNews)
      return new Promise((resolve) => {
        if (signal.aborted) resolve()
        signal.addEventListener('abort', () => resolve())
      })
    },
    [Symbol.asyncDispose]: async () => {},
  }
}
