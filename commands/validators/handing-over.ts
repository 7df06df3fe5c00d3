import {
  type HandingDeposited,
  handOverDeposited,
  mayNeedHandOver,
} from '../../processors/validators/hand-over-deposited.ts'
import { pause } from '../../schemas/wait.ts'
import { allOrNone } from '../ingest-role.ts'
import { clocksOf } from '../role.ts'
import type { Duty } from './duty.ts'
import { FollowedChains } from './followed-chains.ts'

/** Between two looks whether anything was created: into memory. */
const LOOK_MS = 1_000

/** Sees to it that validators are run whose deposits were not broadcast here. */
export const handingOver: Duty = async (custody, signal) => {
  const { running, vault, lease, book, handing } = custody
  const stop = new AbortController()
  const ending = AbortSignal.any([signal, stop.signal])
  const parts: HandingDeposited = {
    ...{ vault, writer: lease, book, handing, ...clocksOf(running) },
    ...{ log: running.log, told: new Set<string>(), looks: new Map() },
  }
  const following = new FollowedChains(
    custody,
    {
      isOpen: (chain) => mayNeedHandOver(parts, chain),
      look: (chain) => handOverDeposited(parts, chain),
      failed: 'it could not be seen whether deposited validators are run',
    },
    ending,
  )
  const followCreated = async () => {
    const seen = new Map<string, number>()
    while (!ending.aborted) {
      for (const chain of book.created.chains()) {
        const requests = book.created.ofChain(chain).length
        if (seen.get(chain) === requests) continue
        seen.set(chain, requests)
        following.wake(chain)
      }
      await pause(LOOK_MS, ending)
    }
  }
  await allOrNone([followCreated(), following.ended], stop)
}
