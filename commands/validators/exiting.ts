import type { ExitNode } from '../../infra/ports/exit-node.ts'
import { type ExitCustody, toExitCustody } from '../../processors/validators/exit/exit-custody.ts'
import { ExitMemory } from '../../processors/validators/exit/exit-look.ts'
import { lookAtExits } from '../../processors/validators/exit/look-at-exits.ts'
import { OwnersOnLog } from '../../processors/validators/exit/owners-on-log.ts'
import { takeExitRequest } from '../../processors/validators/exit/request-exits.ts'
import { takeCalls } from '../../processors/validators/exit/take-calls.ts'
import { AppError, isNodeFault } from '../../schemas/errors.ts'
import {
  type ExitValidatorsInput,
  type ExitValidatorsOutput,
  exitValidators,
} from '../../schemas/jobs/exit-validators.ts'
import { takeExitCalls } from '../../schemas/jobs/take-exit-calls.ts'
import { pauseUnlessWoken, untilAborted } from '../../schemas/wait.ts'
import { allOrNone } from '../ingest-role.ts'
import type { Custody, Duty } from './duty.ts'

/** Requests that are worked on at once. */
const REQUESTS_AT_ONCE = 4
/** News of the chain may be lost: its exits are looked at after so long in any case. */
const LOOK_MS_MAX = 60_000
/** After a look that failed. */
const RETRY_MS = 5_000

/** Takes requests for exits, and sees to each open exit at every epoch of its chain until it is on chain for good. */
export const exiting: Duty = async (custody, signal) => {
  const { ports, running, vault, lease, chains, book } = custody
  const { log } = running
  const stop = new AbortController()
  const ending = AbortSignal.any([signal, stop.signal])
  const owners = new OwnersOnLog(ports.eventLog, ending)
  const exits = toExitCustody({ vault, writer: lease, book, owners, log, now: Date.now })
  const following = new FollowedExits(custody, exits, ending)
  const handle = async (input: ExitValidatorsInput): Promise<ExitValidatorsOutput> => {
    const chain = await chains.of(input.chain)
    if (chain === undefined) return { status: 'unavailable' }
    const output = await takeExitRequest(exits, chain, input)
    following.wake(input.chain)
    return output
  }
  for (const chain of book.exits.chains()) following.wake(chain)
  const requests = ports.jobQueue.work({
    name: exitValidators.name,
    concurrency: REQUESTS_AT_ONCE,
    signal: ending,
    handle: ({ input }) => handle(exitValidators.parse(input)),
  })
  const calls = ports.jobQueue.work({
    name: takeExitCalls.name,
    concurrency: 1,
    signal: ending,
    handle: ({ input }) => takeFrom(custody, exits, following, input),
  })
  await allOrNone([requests, calls, following.ended], stop)
}

/** Takes what withdrawal addresses have asked for by the chain. While a vault is away, or a chain paused, it is asked for again. */
async function takeFrom(
  { chains, running: { log } }: Custody,
  exits: ExitCustody,
  following: FollowedExits,
  given: unknown,
): Promise<void> {
  const input = takeExitCalls.parse(given)
  const chain = await chains.of(input.chain)
  if (chain === undefined) return
  try {
    await takeCalls(exits, chain, input)
  } catch (error) {
    if (!isVaultFault(error)) throw error
    log.warn({ chain: input.chain, reason: error.message }, 'a call for exits waits: the key vault does not answer')
  }
  following.wake(input.chain)
}

/** A loop for each chain that has exits: a chain whose nodes hang keeps no other from going on. */
class FollowedExits {
  /** Resolves when the signal has aborted and every loop has ended; rejects when one fails. */
  readonly ended: Promise<void>
  readonly #custody: Custody
  readonly #exits: ExitCustody
  readonly #signal: AbortSignal
  readonly #loops = new Map<string, { wake: () => void; isWanted: boolean }>()
  readonly #watched = new WeakSet<ExitNode>()
  readonly #running: Promise<void>[] = []
  readonly #failed = Promise.withResolvers<never>()

  constructor(custody: Custody, exits: ExitCustody, signal: AbortSignal) {
    this.#custody = custody
    this.#exits = exits
    this.#signal = signal
    const all = untilAborted(signal).then(async () => void (await Promise.all(this.#running)))
    this.ended = Promise.race([all, this.#failed.promise])
  }

  /** Has the chain's exits looked at soon. */
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
    const memory = new ExitMemory()
    while (!this.#signal.aborted) {
      loop.isWanted = false
      const isDone = await this.#look(chain, memory)
      if (loop.isWanted) continue
      await pauseUnlessWoken(isDone ? LOOK_MS_MAX : RETRY_MS, this.#signal, (wake) => {
        loop.wake = wake
      })
    }
  }

  /** Whether it succeeded. A vault or a node that is away comes back; what is open stays open. */
  async #look(name: string, memory: ExitMemory): Promise<boolean> {
    const { chains, book, running } = this.#custody
    if (book.exits.open(name).length === 0) return true
    try {
      const chain = await chains.of(name)
      if (chain === undefined) return true
      this.#watch(name, chain.exitNode)
      await lookAtExits(this.#exits, chain, memory)
      return true
    } catch (error) {
      if (this.#signal.aborted && error instanceof AppError) return false
      if (!isNodeFault(error) && !isVaultFault(error)) throw error
      running.log.warn({ chain: name, reason: error.message }, 'exits could not be looked at')
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

/** `usage`: the vault's key is not where it was. */
function isVaultFault(error: unknown): error is AppError {
  return error instanceof AppError && (error.code === 'key_vault' || error.code === 'usage')
}
