import { AppError, isNodeFault } from '../../schemas/errors.ts'
import { differenceOf, formatBeaconIdentity } from '../../schemas/eth/chain-identity.ts'
import type { ChainNode } from '../nodes/nodes.ts'
import type { BeaconChain } from '../ports/beacon-source.ts'
import type { Log } from '../ports/log.ts'
import { askChain, scheduledAgain } from './chain.ts'
import type { Ask } from './wide-tables.ts'

/** Forks are planned days ahead, and nodes learn of them by their next release. */
const FRESH_MS = 300_000
/** What cannot be read is of no new fork most of the time: it is not asked for more often. */
const DOUBT_FRESH_MS = 10_000

export interface KnownChainOptions {
  readonly ask: Ask
  readonly log: Log
  /** How long its schedule of forks is believed, and how long where something could not be read. */
  readonly freshMs?: number | undefined
  readonly doubtFreshMs?: number | undefined
}

/** What nodes have said of their chain; its schedule of forks is asked for again now and then, because plans change while a program runs. */
export class KnownChain {
  readonly #options: KnownChainOptions
  #chain: BeaconChain | undefined
  #askedMs = Number.NEGATIVE_INFINITY
  #isDoubted = false
  #asking: Promise<void> | undefined

  constructor(options: KnownChainOptions) {
    this.#options = options
  }

  /** As it is known: a schedule that no node tells now is the one that was told last. Throws AppErrors of node faults where nobody has told any. */
  async get(): Promise<BeaconChain> {
    if (this.#isStale()) {
      this.#asking ??= this.#askAgain().finally(() => {
        this.#asking = undefined
      })
      await this.#asking
    }
    if (this.#chain === undefined) throw new Error('a chain is known, or asking for it has failed')
    return this.#chain
  }

  /** What a node says that is asked for the first time. Throws AppError `node_inconsistent` for another chain than is known. */
  async identify(node: ChainNode): Promise<BeaconChain> {
    const told = await askChain(node)
    if (this.#chain === undefined) this.#know(told)
    else refuseOtherChain(node, told, this.#chain)
    return told
  }

  /** Something could not be read: it may be of a fork that was planned since. */
  doubt(): void {
    this.#isDoubted = true
  }

  #isStale(): boolean {
    const { freshMs = FRESH_MS, doubtFreshMs = DOUBT_FRESH_MS } = this.#options
    return performance.now() - this.#askedMs >= (this.#isDoubted ? doubtFreshMs : freshMs)
  }

  #know(chain: BeaconChain): void {
    this.#chain = chain
    this.#askedMs = performance.now()
    this.#isDoubted = false
  }

  async #askAgain(): Promise<void> {
    const known = this.#chain
    try {
      const told = await this.#options.ask('chain', async (node) => {
        // Identifying a node that was never asked has just told it.
        if (known === undefined && this.#chain !== undefined) return this.#chain
        const one = await askChain(node)
        if (known !== undefined) refuseOtherChain(node, one, known)
        return one
      })
      const next = known === undefined ? told : scheduledAgain(known, told)
      if (known !== undefined) this.#tellChanges(known, next)
      this.#know(next)
    } catch (error) {
      if (known === undefined || !isNodeFault(error)) throw error
      this.#askedMs = performance.now()
      this.#options.log.debug({ code: error.code }, `the schedule of forks was not told again: ${error.message}`)
    }
  }

  #tellChanges(known: BeaconChain, next: BeaconChain): void {
    const before = new Map(known.forks.map(({ version, epoch }) => [version, epoch]))
    const forks = next.forks.filter(({ version, epoch }) => before.get(version) !== epoch)
    if (forks.length > 0) this.#options.log.info({ forks }, 'the node has another schedule of forks than before')
  }
}

/** Nodes may lack the genesis block, and plan different forks: what both know must agree. */
function refuseOtherChain(node: ChainNode, chain: BeaconChain, first: BeaconChain): void {
  const found = differenceOf(formatBeaconIdentity(first), formatBeaconIdentity(chain), Date.now() / 1_000)
  if (found === undefined) return
  const { what, first: expected, second } = found
  throw new AppError('node_inconsistent', `${node.name} is on another chain: its ${what} is ${second}, not ${expected}`)
}
