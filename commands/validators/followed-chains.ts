import type { ExitNode } from '../../infra/ports/exit-node.ts'
import { AppError, isNodeFault } from '../../schemas/errors.ts'
import { pauseUnlessWoken, untilAborted } from '../../schemas/wait.ts'
import type { Custody } from './duty.ts'
import type { OpenedChain } from './staking-chains.ts'

/** News of the chain may be lost: it is looked at after so long in any case. */
const LOOK_MS_MAX = 60_000
/** After a look that failed. */
const RETRY_MS = 5_000

/** What is to be seen to on a chain, at each of its epochs unless it says how often. */
export interface FollowedWork {
  /** Whether there is anything: else no node of the chain is asked. */
  isOpen(chain: string): boolean
  /** One look at all of it; what a node, the vault or a validator client does not answer is looked at again soon. */
  look(chain: OpenedChain): Promise<void>
  /** Said when a look failed. */
  readonly failed: string
  /** Between two looks; without it news of the chain are waited for. */
  readonly everyMs?: number
}

/** A loop for each chain that has such work: a chain whose nodes hang keeps no other from going on. */
export class FollowedChains {
  /** Resolves when the signal has aborted and every loop has ended; rejects when one fails. */
  readonly ended: Promise<void>
  readonly #custody: Custody
  readonly #work: FollowedWork
  readonly #signal: AbortSignal
  readonly #loops = new Map<string, { wake: () => void; isWanted: boolean }>()
  readonly #watched = new WeakSet<ExitNode>()
  readonly #running: Promise<void>[] = []
  readonly #failed = Promise.withResolvers<never>()

  constructor(custody: Custody, work: FollowedWork, signal: AbortSignal) {
    this.#custody = custody
    this.#work = work
    this.#signal = signal
    const all = untilAborted(signal).then(async () => void (await Promise.all(this.#running)))
    this.ended = Promise.race([all, this.#failed.promise])
  }

  /** Has the chain looked at soon. */
  wake(chain: string): void {
    const loop = this.#loops.get(chain) ?? { wake: () => {}, isWanted: false }
    loop.isWanted = true
    loop.wake()
    if (this.#loops.has(chain)) return
    this.#loops.set(chain, loop)
    const running = this.#follow(chain, loop)
    running.catch((error: unknown) => this.#failed.reject(error))
    this.#running.push(running)
  }

  async #follow(chain: string, loop: { wake: () => void; isWanted: boolean }): Promise<void> {
    while (!this.#signal.aborted) {
      loop.isWanted = false
      const isDone = await this.#look(chain)
      if (loop.isWanted) continue
      const { everyMs = isDone ? LOOK_MS_MAX : RETRY_MS } = this.#work
      await pauseUnlessWoken(everyMs, this.#signal, (wake) => {
        loop.wake = wake
      })
    }
  }

  /** Whether it succeeded. A vault, a validator client or a node that is away comes back; what is open stays open. */
  async #look(name: string): Promise<boolean> {
    const { chains, running } = this.#custody
    if (!this.#work.isOpen(name)) return true
    try {
      const chain = await chains.of(name)
      if (chain === undefined) return true
      if (this.#work.everyMs === undefined) this.#watch(name, chain.exitNode)
      await this.#work.look(chain)
      return true
    } catch (error) {
      if (this.#signal.aborted && error instanceof AppError) return false
      if (!isNodeFault(error) && !isFaultOfKeys(error)) throw error
      running.log.warn({ chain: name, reason: error.message }, this.#work.failed)
      return false
    }
  }

  /** Once for each node; where the news end, the next look asks for them again. */
  #watch(name: string, node: ExitNode): void {
    if (this.#watched.has(node)) return
    this.#watched.add(node)
    node
      .watch(() => this.wake(name), this.#signal)
      .catch((error: unknown) => {
        if (!this.#signal.aborted && !(error instanceof AppError)) this.#failed.reject(error)
      })
      .finally(() => this.#watched.delete(node))
  }
}

/** That the vault or a validator client does not do what it is asked for; `usage`: the vault's key is not where it was. */
export function isFaultOfKeys(error: unknown): error is AppError {
  return error instanceof AppError && ['key_vault', 'usage', 'validator_client'].includes(error.code)
}
