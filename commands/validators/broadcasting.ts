import { broadcastForAccount } from '../../processors/validators/broadcast-staking.ts'
import { lookAfterAll, StakingFollower } from '../../processors/validators/follow-stakings.ts'
import { Turns } from '../../processors/validators/turns.ts'
import {
  type BroadcastStakingInput,
  type BroadcastStakingOutput,
  broadcastStaking,
} from '../../schemas/jobs/broadcast-staking.ts'
import { pause } from '../../schemas/wait.ts'
import { clocksOf } from '../role.ts'
import type { Duty } from './duty.ts'
import type { OpenedChain } from './staking-chains.ts'

/** Requests that are worked on at once: they wait for nodes most of the time. */
const BROADCAST_AT_ONCE = 8
/** Between two looks for a new block, while anything is pending. */
const LOOK_MS = 1_000

/** Sends staking transactions for whoever asks the API for it. */
export const broadcasting: Duty = async (custody, signal) => {
  const { ports, running, vault, lease, chains, book, handing } = custody
  const { log, config } = running
  const shared = { vault, writer: lease, book, handing, log, ...clocksOf(running) }
  const parts = { ...shared, rules: config.validators, turns: new Turns() }
  const handle = async (input: BroadcastStakingInput): Promise<BroadcastStakingOutput> => {
    const chain = await chains.of(input.chain)
    return chain === undefined ? { status: 'unavailable' } : await broadcastForAccount(parts, chain, input)
  }
  await ports.jobQueue.work({
    name: broadcastStaking.name,
    concurrency: BROADCAST_AT_ONCE,
    signal,
    handle: ({ input }) => handle(broadcastStaking.parse(input)),
  })
}

/** Follows them until they have ended: those too that another process has told the log of, and perhaps not sent. */
export const followingStakings: Duty = async ({ running, lease, chains, book }, signal) => {
  const { log } = running
  const parts = { writer: lease, book, log, ...clocksOf(running) }
  const followers = new WeakMap<OpenedChain, StakingFollower>()
  while (!signal.aborted) {
    const pending = new Set(book.sent.pending().map(({ chain }) => chain))
    const wanted: StakingFollower[] = []
    for (const name of pending) {
      const chain = await chains.of(name)
      if (chain === undefined) continue // paused, or not configured any more: its transactions wait
      const follower = followers.get(chain) ?? new StakingFollower(parts, chain)
      followers.set(chain, follower)
      wanted.push(follower)
    }
    await lookAfterAll(wanted, log)
    await pause(LOOK_MS, signal)
  }
}
