import { AppError, isNodeFault } from '../../schemas/errors.ts'
import type { Log } from '../ports/log.ts'
import { AbsentState } from './state-reader.ts'
import type { Ask } from './wide-tables.ts'

/** Nodes without states are not asked for any for so long: to be told so takes a few requests an epoch. */
const ABSENT_MS = 600_000
/**
 * While a node is away that may have states, one that has none does not decide how an epoch is told: so long, since the last state that was
 * given. A client's upgrade and restart take less; what takes more is worth the endpoints, whose figures have a lower level.
 */
export const STATES_AWAY_MS = 1_800_000

export interface StatesAwayOptions {
  readonly log: Log
  /** How many nodes may be asked. */
  readonly nodes: number
  /** Milliseconds of a clock that does not go back. */
  readonly now?: () => number
}

/** Tells nodes that have no states from those that do not answer: only where all have none, rewards are what their endpoints tell. */
export class StatesAway {
  readonly #log: Log
  readonly #nodes: number
  readonly #now: () => number
  #absentUntilMs = Number.NEGATIVE_INFINITY
  #awaySinceMs: number | undefined

  constructor({ log, nodes, now = () => performance.now() }: StatesAwayOptions) {
    this.#log = log
    this.#nodes = nodes
    this.#now = now
  }

  /** Whether it was found out lately that there are no states. */
  get isAbsent(): boolean {
    return this.#now() < this.#absentUntilMs
  }

  /**
   * What is read with the given way to ask; undefined where no node has the states. Throws AppErrors of node faults, also while a node that
   * may have them is waited for.
   */
  async unlessAbsent<Value>(ask: Ask, read: (noting: Ask) => Promise<Value>): Promise<Value | undefined> {
    if (this.isAbsent) return undefined
    const absent = new Set<string>()
    const noting: Ask = (kind, question) =>
      ask(kind, (node) =>
        question(node).catch((error: unknown) => {
          if (error instanceof AbsentState) absent.add(node.name)
          throw error
        }),
      )
    try {
      const value = await read(noting)
      this.#awaySinceMs = undefined
      return value
    } catch (error) {
      if (absent.size === 0 || !isNodeFault(error)) throw error
      if (absent.size < this.#nodes) this.#waitOn(error)
      this.#absentUntilMs = this.#now() + ABSENT_MS
      const reason = error.message
      this.#log.info({ reason }, 'rewards are told by nodes: none gives the states to compute them from')
      return undefined
    }
  }

  /** Throws while another node is worth waiting for. */
  #waitOn(cause: AppError): void {
    this.#awaySinceMs ??= this.#now()
    if (this.#now() - this.#awaySinceMs >= STATES_AWAY_MS) return
    const minutes = STATES_AWAY_MS / 60_000
    const message =
      `a node that may have states does not answer, and another has none: it is waited for ${minutes} minutes, ` +
      `then rewards are what endpoints tell (${cause.message})`
    throw new AppError('node_unreachable', message, { retryable: true, cause })
  }
}
