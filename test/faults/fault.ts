import type { ChangeEvents, NodeFault } from './faulty-node.ts'

/** One node of a chain, main node first. */
export interface FaultyNodeOf {
  readonly faults: readonly NodeFault[]
  readonly changeEvents?: ChangeEvents
}

export interface Fault {
  readonly name: string
  /**
   * `past`: met while a finished history is read; `backfill`: while the beginning of one is, which a log lacks; `live`: while the
   * chain grows and is announced.
   */
  readonly moment: 'past' | 'backfill' | 'live'
  readonly beacon?: readonly FaultyNodeOf[]
  readonly execution?: readonly FaultyNodeOf[]
  /** What an operator is told at least. */
  readonly tells: RegExp
}

/** What faults have to know of the true chain. */
export interface TrueChain {
  /** The newest slot. */
  readonly headSlot: () => number
  /** Index of a tracked validator that joins the registry, and the epoch in which it does. */
  readonly joiner: { readonly index: number; readonly epoch: number }
}

/** More than a question is tried on one node, by all who ask side by side. */
export const OFTEN = 24
/** More than all blocks are tried that are read side by side. */
export const VERY_OFTEN = 600
export const WAITS = /waits: /
export const LOST = /is lost: /

export const beacon = (name: string, faults: readonly NodeFault[], tells: RegExp): Fault => ({
  name: `beacon node: ${name}`,
  moment: 'past',
  beacon: [{ faults }],
  tells,
})
export const execution = (name: string, faults: readonly NodeFault[], tells: RegExp): Fault => ({
  name: `execution node: ${name}`,
  moment: 'past',
  execution: [{ faults }],
  tells,
})
