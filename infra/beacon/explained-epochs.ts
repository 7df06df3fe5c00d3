import { AppError, isNodeFault } from '../../schemas/errors.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { firstSlotOfEpoch, lastSlotOfEpoch } from '../../schemas/eth/time.ts'
import type { BlockOperations } from '../../schemas/eth/transition/block-operations.ts'
import type { Committees } from '../../schemas/eth/transition/committees.ts'
import { explainEpoch, FORMULAS_VERSION, wantedPubkeys } from '../../schemas/eth/transition/explain-epoch.ts'
import type { StateColumns, StateDeposit } from '../../schemas/eth/transition/state-columns.ts'
import type { EpochProof } from '../../schemas/events/beacon-epoch.ts'
import type { ChainNode } from '../nodes/nodes.ts'
import type { BeaconChain, EpochQuestion, ExplainedRows, ValidatorSet } from '../ports/beacon-source.ts'
import type { Log } from '../ports/log.ts'
import { flagsOfHeaders, refuseOptimistic } from './answer-flags.ts'
import { presetMatches, toBeaconBlock } from './block.ts'
import { toBlockOperations } from './block-operations.ts'
import { isDepositSigned } from './deposit-signature.ts'
import { toExplainedRows } from './explained-rows.ts'
import { pathOf, required } from './route.ts'
import { BEACON, DEBUG } from './routes.ts'
import { SerializedState } from './serialized-state.ts'
import { scanState } from './state-columns.ts'
import { StateRoots } from './state-root.ts'
import type { Ask } from './wide-tables.ts'

/** States grow with every epoch: a buffer has room for some that come. */
const ROOM_STEP_BYTES = 1 << 24
/** Nodes without states are not asked for any for so long: to be told so takes a few requests an epoch. */
const ABSENT_MS = 600_000

export interface ExplainedEpochsOptions {
  readonly log: Log
  readonly chain: () => Promise<BeaconChain>
}

interface ReadState {
  readonly columns: StateColumns
  readonly serialized: SerializedState
  readonly root: string
  /** Which of the two buffers its bytes are in. */
  readonly buffer: 0 | 1
  /** Its root is the one that a block of the chain names. */
  readonly isAnchored: boolean
}

interface StateQuestion {
  readonly slot: number
  readonly pubkeys: readonly Uint8Array[]
  readonly buffer: 0 | 1
  /** The last block in the slot or before it. */
  readonly named: ReadBlock | undefined
  /** The state before the epoch that the slot ends. */
  readonly before?: ReadState | undefined
}

interface ReadBlock {
  readonly operations: BlockOperations
  readonly slot: number
  readonly parentRoot: string
  readonly stateRoot: string
}

/**
 * Computes epochs from states, one after the other: the state behind an epoch is the one before the next, so each is fetched once. Two
 * buffers are used again and again, each as large as the largest state so far.
 */
export class ExplainedEpochs {
  readonly #options: ExplainedEpochsOptions
  readonly #roots = new StateRoots({ lent: true })
  readonly #buffers: [Uint8Array, Uint8Array] = [new Uint8Array(0), new Uint8Array(0)]
  /** The state behind the last epoch that was computed. */
  #last: ReadState | undefined
  #committees: readonly Committees[] = []
  #turn: Promise<unknown> = Promise.resolve()
  #absentUntilMs = Number.NEGATIVE_INFINITY

  constructor(options: ExplainedEpochsOptions) {
    this.#options = options
  }

  /** As `FinalChain.explainedEpoch` says; `ask` asks nodes that hold the checkpoint. */
  of(question: EpochQuestion, set: ValidatorSet, ask: Ask): Promise<ExplainedRows | undefined> {
    const turn = this.#turn.then(() => this.#unlessAbsent(() => this.#explain(question, set, ask)))
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  /** Where no node has the states, the epoch is told by their reward endpoints. */
  async #unlessAbsent<Value>(work: () => Promise<Value | undefined>): Promise<Value | undefined> {
    if (performance.now() < this.#absentUntilMs) return undefined
    try {
      return await work()
    } catch (error) {
      this.#last = undefined // what it was read with may be what is wrong
      if (!(error instanceof AbsentState)) throw error
      this.#absentUntilMs = performance.now() + ABSENT_MS
      this.#options.log.info(
        { reason: error.message },
        'rewards are told by nodes: none gives the states to compute them from',
      )
      return undefined
    }
  }

  async #explain(
    { epoch, blockRoots }: EpochQuestion,
    set: ValidatorSet,
    ask: Ask,
  ): Promise<ExplainedRows | undefined> {
    const { spec, clock } = await this.#options.chain()
    if (!presetMatches(spec)) return undefined
    const blocks = await Promise.all(blockRoots.map((root) => readBlock(ask, root)))
    const before = await this.#before(Math.max(0, firstSlotOfEpoch(clock, epoch) - 1), blocks[0], ask)
    const operations = blocks.map((block) => block.operations)
    const after = await this.#read(ask, {
      slot: lastSlotOfEpoch(clock, epoch),
      pubkeys: wantedPubkeys(before.columns, operations),
      buffer: before.buffer === 0 ? 1 : 0,
      named: blocks.at(-1),
      before,
    })
    const genesisForkVersion = bytesOf(spec.GENESIS_FORK_VERSION ?? '')
    const isSigned = (deposit: StateDeposit) => isDepositSigned(deposit, genesisForkVersion)
    const states = { before: before.columns, after: after.columns }
    const explained = explainEpoch({ ...states, blocks: operations, spec, isSigned, committees: this.#committees })
    if (!explained.isParticipationReplayed) {
      const why = `the blocks of epoch ${epoch} do not set the participation that the state behind it has`
      throw new AppError('node_inconsistent', why, { retryable: true })
    }
    this.#last = after
    this.#committees = explained.committees
    const level = after.isAnchored && (before.isAnchored || isNamedBy(after, before)) ? 'anchored' : 'consistent'
    const proof: EpochProof = { formulas: FORMULAS_VERSION, stateRoot: after.root, level }
    const slots = blocks.map((block) => block.slot)
    return { ...toExplainedRows(explained, { after: after.columns, set, slots }), proof }
  }

  /** The state before an epoch, whose first block names the one whose root it may have. */
  async #before(slot: number, first: ReadBlock | undefined, ask: Ask): Promise<ReadState> {
    if (this.#last?.columns.slot === slot) return this.#last
    this.#last = undefined
    const named = first === undefined ? undefined : await readBlock(ask, first.parentRoot)
    return this.#read(ask, { slot, pubkeys: [], buffer: 0, named })
  }

  /** Throws AppErrors of node faults; `node_inconsistent` for a state that the block does not name. */
  async #read(ask: Ask, { slot, pubkeys, buffer, named, before }: StateQuestion): Promise<ReadState> {
    const room = (bytes: number): Uint8Array => {
      const had = this.#buffers[buffer]
      if (had.length >= bytes) return had
      const grown = new Uint8Array(Math.ceil(bytes / ROOM_STEP_BYTES) * ROOM_STEP_BYTES)
      grown.set(had)
      this.#buffers[buffer] = grown
      return grown
    }
    return ask('whole states', async (node) => {
      const { fork, bytes } = await askState(node, slot, room)
      const columns = scanState({ fork, bytes, pubkeys })
      if (columns.slot !== slot)
        throw node.fault('node_inconsistent', `answered the state of slot ${slot} with that of slot ${columns.slot}`)
      const serialized = new SerializedState(columns.fork, bytes)
      const root = hexOf(this.#roots.rootOf(fork, bytes))
      const expected = this.#rootToCompare(serialized, root, { slot, named, before })
      if (expected !== undefined && expected !== named?.stateRoot)
        throw node.fault(
          'node_inconsistent',
          `told a state of slot ${slot} that the block of slot ${named?.slot} does not name`,
        )
      return { columns, serialized, root, buffer, isAnchored: expected !== undefined }
    })
  }

  /**
   * What must be the root that the last block before or in the slot names: that of the state itself, or of what it was before empty slots.
   * Undefined where that cannot be told, as of a state behind slots that are empty for longer than an epoch.
   */
  #rootToCompare(
    serialized: SerializedState,
    root: string,
    { slot, named, before }: Pick<StateQuestion, 'slot' | 'named' | 'before'>,
  ): string | undefined {
    if (named === undefined) return undefined
    if (named.slot === slot) return root
    if (before === undefined || named.slot <= before.columns.slot) return undefined
    return hexOf(this.#roots.rootWith(fieldsBack(before.serialized, serialized, { from: named.slot, to: slot })))
  }
}

const ROOT_BYTES = 32

/**
 * Whether a later state whose root is the chain's names the earlier one: it has the roots of states of the last slots, empty ones too
 * (consensus-specs, process_slot). One that was read anew behind an empty slot has nothing else to be known by. Throws AppError
 * `node_inconsistent` where the chain had another state there.
 */
function isNamedBy(later: ReadState, earlier: ReadState): boolean {
  const roots = later.serialized.vector('stateRoots')
  const back = later.columns.slot - earlier.columns.slot
  if (back * ROOT_BYTES > roots.length) return false
  const at = (earlier.columns.slot * ROOT_BYTES) % roots.length
  if (hexOf(roots.subarray(at, at + ROOT_BYTES)) === earlier.root) return true
  const why = `a node told a state of slot ${earlier.columns.slot} that the chain did not have`
  throw new AppError('node_inconsistent', why, { retryable: true })
}

/** Where `BeaconBlockHeader` has its state root (consensus-specs, phase0). */
const HEADER_STATE_ROOT_AT = 48

/**
 * What empty slots have changed in a state, as it was after the block of slot `from` (consensus-specs, process_slot): the roots that each of
 * them has written are those of long before again, which the state before the epoch still has.
 */
function fieldsBack(
  before: SerializedState,
  after: SerializedState,
  { from, to }: { readonly from: number; readonly to: number },
): ReadonlyMap<string, Uint8Array> {
  const slot = new Uint8Array(8)
  new DataView(slot.buffer).setBigUint64(0, BigInt(from), true)
  const latestBlockHeader = after.vector('latestBlockHeader').slice()
  latestBlockHeader.fill(0, HEADER_STATE_ROOT_AT, HEADER_STATE_ROOT_AT + ROOT_BYTES)
  const rootsBack = (name: string) => {
    const [roots, earlier] = [after.vector(name).slice(), before.vector(name)]
    for (let written = from; written < to; written++) {
      const at = (written * ROOT_BYTES) % roots.length
      roots.set(earlier.subarray(at, at + ROOT_BYTES), at)
    }
    return roots
  }
  const [blockRoots, stateRoots] = [rootsBack('blockRoots'), rootsBack('stateRoots')]
  return new Map(Object.entries({ slot, latestBlockHeader, blockRoots, stateRoots }))
}

async function askState(node: ChainNode, slot: number, room: (bytes: number) => Uint8Array) {
  const path = pathOf(DEBUG.getStateV2, { stateId: slot })
  const request = { method: 'GET', path, accept: 'application/octet-stream' } as const
  const answer = await node.readInto(request, room).catch((error: unknown) => {
    if (isNodeFault(error) && error.code === 'node_refused') throw new AbsentState(error.message)
    throw error
  })
  if (answer === undefined) throw new AbsentState(`${node.name} does not have the state of slot ${slot}`)
  const { headers, body } = answer
  if (!String(headers['content-type'] ?? '').includes('octet-stream'))
    throw new AbsentState(`${node.name} does not tell states as SSZ`)
  refuseOptimistic(node, `the state of slot ${slot}`, flagsOfHeaders(headers))
  return { fork: String(headers['eth-consensus-version'] ?? ''), bytes: body }
}

/** A final block, whose bytes have the root that it was asked for by. */
function readBlock(ask: Ask, root: string): Promise<ReadBlock> {
  return ask('blocks', async (node) => {
    const what = `block ${root}`
    const { data, meta } = await required(node, BEACON.getBlockV2, { blockId: root }, { what, ssz: true })
    const found = toBeaconBlock(meta.version, data)
    if (found.root !== root) throw node.fault('node_inconsistent', `answered ${what} with ${found.root}`)
    const { slot, stateRoot, parentRoot } = data.message
    const operations = toBlockOperations(meta.version, data)
    return { operations, slot, parentRoot: hexOf(parentRoot), stateRoot: hexOf(stateRoot) }
  })
}

/** No fault of a node: it does not keep states, or not for everybody. Another node may; the same one is not asked again. */
class AbsentState extends AppError {
  constructor(message: string) {
    super('node_lagging', message)
  }
}
