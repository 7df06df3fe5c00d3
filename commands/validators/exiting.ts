import { type ExitCustody, toExitCustody } from '../../processors/validators/exit/exit-custody.ts'
import { ExitMemory } from '../../processors/validators/exit/exit-look.ts'
import { lookAtExits } from '../../processors/validators/exit/look-at-exits.ts'
import { OwnersOnLog } from '../../processors/validators/exit/owners-on-log.ts'
import { takeExitRequest } from '../../processors/validators/exit/request-exits.ts'
import { takeCalls } from '../../processors/validators/exit/take-calls.ts'
import { exitValidators } from '../../schemas/jobs/exit-validators.ts'
import { takeExitCalls } from '../../schemas/jobs/take-exit-calls.ts'
import { allOrNone } from '../ingest-role.ts'
import { clocksOf } from '../role.ts'
import { answer } from './answering.ts'
import type { Custody, Duty } from './duty.ts'
import { FollowedChains, isFaultOfKeys } from './followed-chains.ts'

/** Requests of a chain that are worked on at once. */
const REQUESTS_AT_ONCE = 4
/** Chains whose calls are taken at once, those of one by one: there is room beside seven of them whose nodes hang. */
const CALLS_AT_ONCE = 8

/** Takes requests for exits, and sees to each open exit at every epoch of its chain until it is on chain for good. */
export const exiting: Duty = async (custody, signal) => {
  const { ports, running, vault, lease, book } = custody
  const { log } = running
  const stop = new AbortController()
  const ending = AbortSignal.any([signal, stop.signal])
  const owners = new OwnersOnLog(ports.eventLog, ending)
  const exits = toExitCustody({ vault, writer: lease, book, owners, log, ...clocksOf(running) })
  const memories = new Map<string, ExitMemory>()
  const following = new FollowedChains(
    custody,
    {
      isOpen: (chain) => book.exits.open(chain).length > 0,
      look: async (chain) => {
        const memory = memories.get(chain.name) ?? new ExitMemory()
        memories.set(chain.name, memory)
        await lookAtExits(exits, chain, memory)
      },
      failed: 'exits could not be looked at',
    },
    ending,
  )
  for (const chain of book.exits.chains()) following.wake(chain)
  const requests = answer(
    custody,
    {
      job: exitValidators,
      atOnce: REQUESTS_AT_ONCE,
      make: async (chain, input) => {
        const output = await takeExitRequest(exits, chain, input)
        following.wake(chain.name)
        return output
      },
    },
    ending,
  )
  const calls = ports.jobQueue.work({
    name: takeExitCalls.name,
    concurrency: CALLS_AT_ONCE,
    signal: ending,
    handle: ({ input }) => takeFrom(custody, exits, following, input),
  })
  await allOrNone([requests, calls, following.ended], stop)
}

/** Takes what withdrawal addresses have asked for by the chain. While a vault is away, or a chain paused, it is asked for again. */
async function takeFrom(
  { chains, running: { log } }: Custody,
  exits: ExitCustody,
  following: FollowedChains,
  given: unknown,
): Promise<void> {
  const input = takeExitCalls.parse(given)
  const chain = await chains.of(input.chain)
  if (chain === undefined) return
  try {
    await takeCalls(exits, chain, input)
  } catch (error) {
    if (!isFaultOfKeys(error)) throw error
    log.warn({ chain: input.chain, reason: error.message }, 'a call for exits waits: the key vault does not answer')
  }
  following.wake(input.chain)
}
