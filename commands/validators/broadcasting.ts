import { broadcastForAccount } from '../../processors/validators/broadcast-staking.ts'
import { StakingFollower } from '../../processors/validators/follow-stakings.ts'
import { Turns } from '../../processors/validators/turns.ts'
import { broadcastStaking } from '../../schemas/jobs/broadcast-staking.ts'
import { pause } from '../../schemas/wait.ts'
import { allOrNone } from '../ingest-role.ts'
import { clocksOf } from '../role.ts'
import { answer } from './answering.ts'
import type { Duty } from './duty.ts'
import { FollowedChains } from './followed-chains.ts'
import type { OpenedChain } from './staking-chains.ts'

/** Requests of a chain that are worked on at once: they wait for nodes most of the time. */
const BROADCAST_AT_ONCE = 8
/** Between two looks for a new block, while anything is pending. */
const LOOK_MS = 1_000

/** Sends staking transactions for whoever asks the API for it. */
export const broadcasting: Duty = async (custody, signal) => {
  const { running, vault, lease, book, handing } = custody
  const { log, config } = running
  const shared = { vault, writer: lease, book, handing, log, ...clocksOf(running) }
  const parts = { ...shared, rules: config.validators, turns: new Turns() }
  await answer(
    custody,
    {
      job: broadcastStaking,
      atOnce: BROADCAST_AT_ONCE,
      make: (chain, input) => broadcastForAccount(parts, chain, input),
    },
    signal,
  )
}

/** Follows them until they have ended: those too that another process has told the log of, and perhaps not sent. */
export const followingStakings: Duty = async (custody, signal) => {
  const { running, lease, book } = custody
  const stop = new AbortController()
  const ending = AbortSignal.any([signal, stop.signal])
  const parts = { writer: lease, book, log: running.log, ...clocksOf(running) }
  const followers = new WeakMap<OpenedChain, StakingFollower>()
  const following = new FollowedChains(
    custody,
    {
      isOpen: (chain) => book.sent.pending(chain).length > 0,
      look: async (chain) => {
        const follower = followers.get(chain) ?? new StakingFollower(parts, chain)
        followers.set(chain, follower)
        await follower.look()
      },
      failed: 'staking transactions could not be looked after',
      everyMs: LOOK_MS,
    },
    ending,
  )
  const followSent = async () => {
    const seen = new Set<string>()
    while (!ending.aborted) {
      for (const { chain } of book.sent.pending()) {
        if (!seen.has(chain)) following.wake(chain)
        seen.add(chain)
      }
      await pause(LOOK_MS, ending)
    }
  }
  await allOrNone([followSent(), following.ended], stop)
}
