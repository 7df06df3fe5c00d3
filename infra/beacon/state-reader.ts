import { ssz } from '@lodestar/types'
import { AppError, isNodeFault } from '../../schemas/errors.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { epochOf } from '../../schemas/eth/time.ts'
import type { BodyReader, ChainNode } from '../nodes/nodes.ts'
import type { BeaconChain, ClaimedValidators, RegistryWord } from '../ports/beacon-source.ts'
import { flagsOfHeaders, refuseOptimistic } from './answer-flags.ts'
import { RegistryScan } from './registry-scan.ts'
import { wordOfRegistry } from './registry-word.ts'
import { pathOf } from './route.ts'
import { DEBUG } from './routes.ts'
import { SerializedState } from './serialized-state.ts'
import { type AnchorParts, type EarlierRoots, isNamedBefore } from './state-anchor.ts'
import { type ScannedState, scanState } from './state-columns.ts'
import { StateMemory } from './state-memory.ts'
import { StateReception } from './state-reception.ts'
import { StateRoots } from './state-root.ts'
import type { Ask } from './wide-tables.ts'

/** States grow with every epoch: a buffer has room for some that come. */
const ROOM_STEP_BYTES = 1 << 24

/** A state by where it stands on its branch: its root follows from both. */
export interface StatePlace {
  readonly slot: number
  /** Root of the last block in the slot or before it. */
  readonly blockRoot: string
}

/** A state as it was checked; nothing of it lies in the bytes that it was read from. */
export interface ReadState extends StatePlace {
  readonly columns: ScannedState
  readonly stateRoot: string
  /** The state's own, 32 bytes each by slot modulo SLOTS_PER_HISTORICAL_ROOT: the next state's root may need what it has written over. */
  readonly stateRoots: Uint8Array
  /** Its root is the one that a block of the chain names. */
  readonly isAnchored: boolean
  /** Of one that is not known to be: what may show it once the state an epoch earlier is there. */
  readonly anchor?: AnchorParts | undefined
}

/** A state whose root is the one that a block names, with the block roots that it has by slot modulo SLOTS_PER_HISTORICAL_ROOT. */
export interface AnchoredState extends StatePlace {
  readonly blockRoots: Uint8Array
}

export interface StateQuestion extends StatePlace {
  /** Public keys whose validators are asked for. */
  readonly pubkeys: readonly Uint8Array[]
  /** Of the state before the epoch that the slot ends, where it is known. */
  readonly before?: EarlierRoots | undefined
}

/**
 * Reads states from nodes, one after the other: lists of one entry per validator into memories of their own, over those before, and the rest into two
 * buffers that are used in turn. A root is told by what differs from the state before.
 */
export class StateReader {
  readonly #chain: () => Promise<BeaconChain>
  readonly #roots = new StateRoots({ lent: true })
  readonly #memory = new StateMemory()
  /** What was read of the registry that lies there. */
  readonly #scan = new RegistryScan()
  readonly #buffers: [Uint8Array, Uint8Array] = [new Uint8Array(0), new Uint8Array(0)]
  /** The buffer that the last root was not told of. */
  #free: 0 | 1 = 0
  /** The state whose registry the memory has; undefined while another one is written over it, or where no block is known to name it. */
  #anchored: AnchoredState | undefined
  #turn: Promise<unknown> = Promise.resolve()

  constructor(chain: () => Promise<BeaconChain>) {
    this.#chain = chain
  }

  /**
   * Throws AppErrors of node faults: AbsentState where the last node that was asked does not have it, `node_inconsistent` for a state that the
   * block's root does not lead to; `usage` for a fork that is not known here.
   */
  read(ask: Ask, question: StateQuestion): Promise<ReadState> {
    const turn = this.#turn.then(() => ask('whole states', (node) => this.#readFrom(node, question)))
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  /** What the registry that was read last says; undefined unless its state's root is one that a block names, and the state is a wanted one. */
  registered(
    claims: ClaimedValidators,
    isWanted: (state: AnchoredState) => boolean,
  ): Promise<RegistryWord | undefined> {
    const turn = this.#turn.then(() => {
      const state = this.#anchored
      if (state === undefined || !isWanted(state)) return undefined
      return wordOfRegistry({ slot: state.slot, registry: this.#memory.registry.bytes, scan: this.#scan }, claims)
    })
    this.#turn = turn.catch(() => undefined)
    return turn
  }

  async #readFrom(node: ChainNode, question: StateQuestion): Promise<ReadState> {
    const { slot, pubkeys } = question
    const buffer = this.#free
    this.#anchored = undefined
    const { fork, bytes } = await this.#receive(node, slot, buffer)
    refuseOtherFork(node, { slot, fork }, await this.#chain())
    const apart = this.#memory.bytes
    const columns = scanState({
      fork,
      bytes,
      apart,
      pubkeys,
      earlier: { scan: this.#scan, marks: this.#memory.registry.marks },
    })
    if (columns.slot !== slot)
      throw node.fault('node_inconsistent', `answered the state of slot ${slot} with that of slot ${columns.slot}`)
    const serialized = new SerializedState(columns.fork, bytes, apart)
    const stateRoot = this.#roots.rootOf(fork, bytes, this.#memory)
    this.#free = buffer === 0 ? 1 : 0
    const stateRoots = serialized.vector('stateRoots').slice()
    const { blockRoot } = question
    const anchoring = this.#anchoring(node, question, { columns, stateRoots, stateRoot, serialized })
    if (anchoring.isAnchored) this.#anchored = { slot, blockRoot, blockRoots: columns.blockRoots }
    return { slot, blockRoot, columns, stateRoot: hexOf(stateRoot), stateRoots, ...anchoring }
  }

  /** All bytes but those of the lists that lie apart. */
  async #receive(node: ChainNode, slot: number, buffer: 0 | 1) {
    const path = pathOf(DEBUG.getStateV2, { stateId: slot })
    const request = { method: 'GET', path, accept: 'application/octet-stream' } as const
    let fork = ''
    let reception: StateReception | undefined
    const begin: BodyReader = ({ headers, toldBytes, bytesMax }) => {
      if (!String(headers['content-type'] ?? '').includes('octet-stream'))
        throw new AbsentState(`${node.name} does not tell states as SSZ`)
      refuseOptimistic(node, `the state of slot ${slot}`, flagsOfHeaders(headers))
      fork = String(headers['eth-consensus-version'] ?? '')
      const receiving = new StateReception({ fork, toldBytes, bytesMax }, this.#memory, (bytes) =>
        this.#room(buffer, bytes),
      )
      reception = receiving
      return (piece) => receiving.take(piece)
    }
    await node.readBy(request, begin).catch((error: unknown) => {
      if (isNodeFault(error) && error.code === 'node_refused') throw new AbsentState(error.message)
      throw error
    })
    if (reception === undefined) throw new AbsentState(`${node.name} does not have the state of slot ${slot}`)
    return { fork, bytes: reception.received() }
  }

  #room(buffer: 0 | 1, bytes: number): Uint8Array {
    const had = this.#buffers[buffer]
    if (had.length >= bytes) return had
    const grown = new Uint8Array(Math.ceil(bytes / ROOM_STEP_BYTES) * ROOM_STEP_BYTES)
    grown.set(had)
    this.#buffers[buffer] = grown
    return grown
  }

  /**
   * Whether a block names the root: the block's root commits to the state behind it, and so to this one, or to what it was before empty slots.
   * Where that cannot be told, as where the state before the epoch is not known, what it can be told of later.
   */
  #anchoring(
    node: ChainNode,
    { slot, blockRoot, before }: StateQuestion,
    state: Pick<ReadState, 'columns' | 'stateRoots'> & {
      readonly serialized: SerializedState
      readonly stateRoot: Uint8Array
    },
  ): Pick<ReadState, 'isAnchored' | 'anchor'> {
    const { stateRoot, stateRoots, columns } = state
    const latestBlockHeader = state.serialized.vector('latestBlockHeader').slice()
    const header = ssz.phase0.BeaconBlockHeader.deserialize(latestBlockHeader)
    // The slot after a block writes the root of the block's state into the header (consensus-specs, process_slot).
    const named = header.slot === slot ? { ...header, stateRoot } : header
    const refuse = (why: string) => node.fault('node_inconsistent', `told a state of slot ${slot} ${why}`)
    if (hexOf(ssz.phase0.BeaconBlockHeader.hashTreeRoot(named)) !== blockRoot)
      throw refuse(`that the block ${blockRoot} does not name`)
    if (header.slot === slot) return { isAnchored: true }
    const anchor = { fieldRoots: this.#roots.fieldRoots(), latestBlockHeader }
    const { fork, blockRoots } = columns
    const isNamed = before && isNamedBefore({ slot, fork, blockRoots, stateRoots, anchor }, before)
    if (isNamed === false) throw refuse(`that the block of slot ${header.slot} does not name`)
    return isNamed === true ? { isAnchored: true } : { isAnchored: false, anchor }
  }
}

/** Throws unless the answer's fork is the one that the chain has in the slot: the bytes of another one lie elsewhere. */
function refuseOtherFork(
  node: ChainNode,
  { slot, fork }: { readonly slot: number; readonly fork: string },
  { spec, forks, clock }: BeaconChain,
): void {
  const active = forks.findLast(({ epoch }) => epoch <= epochOf(clock, slot))
  const name = fork === 'phase0' ? 'GENESIS' : fork.toUpperCase()
  if (active !== undefined && spec[`${name}_FORK_VERSION`]?.toLowerCase() === active.version) return
  throw node.fault(
    'node_malformed',
    `told the state of slot ${slot} as one of the fork "${node.quote(fork)}", which the chain does not have there`,
  )
}

/** No fault of a node: it does not keep states, or not for everybody. Another node may; the same one is not asked again. */
export class AbsentState extends AppError {
  constructor(message: string) {
    super('node_lagging', message)
  }
}
