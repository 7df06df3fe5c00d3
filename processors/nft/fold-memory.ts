import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { pauseUnlessWoken } from '../../schemas/wait.ts'
import type { Place } from './fold-place.ts'
import { FoldState, keysOf } from './fold-state.ts'
import type { Block } from './fold-step.ts'
import type { FoldedRows } from './folded-rows.ts'
import type { Reverted } from './next-blocks.ts'
import { JOURNAL_LIMITS, type JournalLimits } from './undo-journal.ts'

// What folds of this process keep in memory, and what tells that it is good no more.

/** Of all chains together, where nothing has to be looked up for them; some 100 bytes each. */
const WHOLE_KEYS_MAX = 12_000_000
/** At the head most blocks touch some of what those before did. */
const PART_KEYS_MAX = 200_000

/** Where a fold of this process has ended, and what follows from nothing having been reverted since. */
export interface Known {
  readonly place: Place
  /** The hash of the block that the first one follows on: when it comes, another fold begins. */
  readonly parentHash: string
  /** Writes of folded blocks after the last one of its own; undefined where nobody knows. */
  readonly notes: number | undefined
  /** A condition on `block_hash`. */
  readonly notReverted: string
  readonly isOnlyFold: boolean
  /** What told of reverts before it was looked up. */
  readonly reverts: string
  /** Reverted blocks behind the place, where all of them are told. */
  readonly reverted: Reverted | undefined
  /** Writes of what a fold is made of, before a look that left nothing to fold; undefined where nobody knows. */
  readonly seen?: number | undefined
  /** With memory for many rows, where months are folded. */
  readonly folded: FoldedRows | undefined
}

/** What a fold has come to: the same whatever else was reverted, for the hash names the blocks before. */
interface Kept {
  readonly start: number
  /** Of the last block, behind those that it may be taken back to; undefined before the first one. */
  readonly hashes: readonly (string | undefined)[]
  /** What told of exchanges: a rebuild may make other rows of the same blocks. */
  readonly exchanges: string
  readonly state: FoldState
}

/** Of each chain. */
export interface Memory {
  readonly limits: JournalLimits
  readonly known: Map<string, Known>
  /** Of the folds that are made beside those that answer. */
  readonly earlier: Map<string, Known>
  /** Of the fold that answers, and of one beside it; the last one has gone on last. */
  readonly states: Map<string, readonly Kept[]>
  /** Merges of the folded tables were put off by this process (`merges.ts`). */
  mergesLater?: boolean
  /** What is told of exchanges, and writes of them before it was asked for. */
  exchanges?: { readonly told: string; readonly writes: number }
}

const MEMORIES = new WeakMap<Warehouse, Memory>()

/** The memory of folds into a warehouse. Who asks first says how far it is taken back. */
export function memoryOf(warehouse: Warehouse, limits = JOURNAL_LIMITS): Memory {
  const memory = MEMORIES.get(warehouse) ?? { limits, known: new Map(), earlier: new Map(), states: new Map() }
  MEMORIES.set(warehouse, memory)
  return memory
}

export const notesOf = (warehouse: Warehouse): number | undefined => warehouse.writesOf?.(['nft_blocks'])

/** What a fold is made of; rows of a block's logs are written before its parts. */
const SOURCES = ['execution_heights', 'execution_log_parts', 'reverted_blocks', 'rebuild_exchanges']
export const sourceWritesOf = (warehouse: Warehouse): number | undefined => warehouse.writesOf?.(SOURCES)

/** While a chain is read from its past something is always being written. */
const SOURCES_WAIT_MS_MAX = 100

/**
 * Resolves when what is being written of a fold's sources has ended, or nobody is to wait for it any longer. A block's header and its logs
 * are written side by side: what is looked for between their ends would be looked for again.
 */
export async function untilSourcesWritten(warehouse: Warehouse, signal: AbortSignal): Promise<void> {
  const writing = warehouse.writing?.(SOURCES)
  if (writing !== undefined)
    await pauseUnlessWoken(SOURCES_WAIT_MS_MAX, signal, (wake) => void writing.ended().then(wake))
}

/** Differs when a block was reverted, or is canonical again. Undefined while somebody writes of it. */
export async function revertsOf(warehouse: Warehouse, chain: string): Promise<string | undefined> {
  if (warehouse.writesOf !== undefined) return warehouse.writesOf(['reverted_blocks'])?.toString()
  const [told] = await warehouse.query<{ reverts: string }>(
    `SELECT toString((count(), groupBitXor(cityHash64(block_hash, is_reverted, version)))) AS reverts
     FROM reverted_blocks FINAL WHERE chain = {chain:String}`,
    { chain },
  )
  return told?.reverts
}

/** Differs when a rebuild has begun to put its tables in place, or has ended. */
export async function exchangesOf(warehouse: Warehouse, memory: Memory): Promise<string> {
  const writes = warehouse.writesOf?.(['rebuild_exchanges'])
  if (writes !== undefined && memory.exchanges?.writes === writes) return memory.exchanges.told
  const [row] = await warehouse.query<{ told: string }>(
    'SELECT toString((count(), sum(cityHash64(started, version)))) AS told FROM rebuild_exchanges',
  )
  const told = row?.told ?? ''
  if (writes !== undefined) memory.exchanges = { told, writes }
  return told
}

/**
 * What the fold has come to at its place, of which nothing is kept until the next step has ended. Where blocks were reverted since, it is
 * taken back to the one that the fold goes on from; where that is too far before, nothing is known.
 */
export function takeState(
  { states, limits }: Memory,
  chain: string,
  { place, exchanges }: { readonly place: Place; readonly exchanges: string },
): Kept {
  const { start, through } = place
  const all = states.get(chain) ?? []
  const kept = all.find((one) => one.start === start)
  states.set(
    chain,
    all.filter((one) => one !== kept),
  )
  if (kept?.exchanges === exchanges) {
    const last = kept.hashes.lastIndexOf(through.hash)
    if (last !== -1 && kept.state.journal.undoTo(through.number))
      return { ...kept, hashes: kept.hashes.slice(0, last + 1) }
  }
  const state = new FoldState({ isWhole: through.hash === undefined, limits })
  return { start, hashes: [through.hash], exchanges, state }
}

/** Keeps what a fold has come to behind the blocks of a step, where it is not too much. */
export function keepState(memory: Memory, chain: string, taken: Kept, step: readonly Block[]): void {
  if (keysOf(taken.state.sizes()) > keysLeft(memory, taken.state)) return
  const hashes = [...taken.hashes, ...step.map(({ hash }) => hash)].slice(-(memory.limits.blocks + 1))
  const others = memory.states.get(chain) ?? []
  memory.states.set(chain, [...others.slice(-1), { ...taken, hashes }])
}

/** Forgets what a fold has come to that nobody is answered from any more. */
export function forgetState({ states }: Memory, chain: string, start: number): void {
  states.set(chain, states.get(chain)?.filter((kept) => kept.start !== start) ?? [])
}

/** How many keys a chain may have in memory beside those of others. */
function keysLeft({ states }: Memory, { isWhole }: FoldState): number {
  if (!isWhole) return PART_KEYS_MAX
  const taken = [...states.values()].flat().map(({ state }) => (state.isWhole ? keysOf(state.sizes()) : 0))
  return WHOLE_KEYS_MAX - taken.reduce((all, keys) => all + keys, 0)
}
