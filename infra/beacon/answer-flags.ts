import type { ChainNode, NodeAnswer } from '../nodes/nodes.ts'

/** What an answer says of itself (ethereum/beacon-APIs); undefined where it does not: not every route and node has it. */
export interface AnswerFlags {
  readonly finalized: boolean | undefined
  /** The execution payloads that it rests on are not verified yet. */
  readonly executionOptimistic: boolean | undefined
}

/** As members of the JSON document. */
export const FINALIZED_KEY = 'finalized'
export const OPTIMISTIC_KEY = 'execution_optimistic'

export function flagsOfJson(json: unknown): AnswerFlags {
  const flag = (key: string): boolean | undefined => {
    const value: unknown = typeof json === 'object' && json !== null ? Reflect.get(json, key) : undefined
    return toFlag(value)
  }
  return { finalized: flag(FINALIZED_KEY), executionOptimistic: flag(OPTIMISTIC_KEY) }
}

export function flagsOfHeaders(headers: NodeAnswer['headers']): AnswerFlags {
  return {
    finalized: toFlag(headers['eth-consensus-finalized']),
    executionOptimistic: toFlag(headers['eth-execution-optimistic']),
  }
}

function toFlag(value: unknown): boolean | undefined {
  if (value === true || value === 'true') return true
  return value === false || value === 'false' ? false : undefined
}

/**
 * Throws AppError `node_lagging` for an answer about a block which must be final that the node says is not, or not verified. To be
 * asked of blocks only: of states, nodes say `finalized: false` whatever they are (Prysm up to August 2026, OffchainLabs/prysm
 * 17401), and a holder of the checkpoint's block has final states up to it.
 */
export function refuseUnsettled(node: ChainNode, what: string, flags: AnswerFlags): void {
  if (flags.finalized === false) throw node.fault('node_lagging', `says that ${what} is not final yet`)
  refuseOptimistic(node, what, flags)
}

/** Throws AppError `node_lagging` for an answer that rests on execution payloads which the node has not verified. */
export function refuseOptimistic(node: ChainNode, what: string, { executionOptimistic }: AnswerFlags): void {
  if (executionOptimistic === true) {
    throw node.fault('node_lagging', `has ${what} only optimistically: its execution node is behind`)
  }
}
