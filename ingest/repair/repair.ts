import { formatBeaconIdentity } from '../../schemas/eth/chain-identity.ts'
import { type DayNumber, dayOfSlot, firstSlotOfEpoch, formatInstant } from '../../schemas/eth/time.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import type { LoggedBlock } from '../../schemas/events/cursor.ts'
import { epochsRetracted, LOG_FACTS_KEY } from '../../schemas/events/log-facts.ts'
import { beaconRevertEvents, type NamedChain, timeOfSlot } from '../beacon-head/block-events.ts'
import { type ChainLog, Cursor } from '../cursor.ts'
import { EPOCHS_CURSOR } from '../epochs/epoch-follower.ts'
import { HEAD_TOPICS } from '../head/head-chain.ts'
import { HEAD_CURSOR, RECENT_BLOCKS_MAX } from '../head/head-log.ts'
import type { Damage } from './find-damage.ts'

/** Reverts of one append. */
const REVERTS_PER_APPEND = 512

/** The first UTC+8 day whose figures a repair takes back: the balances that a day ends with come with the epoch after it. */
export function firstDayOf({ chain: { clock }, fromEpoch }: Damage): DayNumber {
  return dayOfSlot(clock, Math.max(0, firstSlotOfEpoch(clock, fromEpoch) - 1))
}

/**
 * Takes the damage back, by new events: reverts of the blocks, a fact by which the epochs' events no longer count, and cursors
 * that go back, so that the chain's ingester reads all of it again. To be called with the ingester's lease. What is interrupted
 * is found again: the head's cursor names the blocks before they are reverted, so that its next start reverts those that are left;
 * between the fact and the cursor of the epochs the log lacks them, which `verify` tells and the next repair sees. `now` is Unix
 * seconds.
 */
export async function repair(options: ChainLog, damage: Damage, now: number, signal: AbortSignal): Promise<void> {
  await goBack(options, damage, signal)
  if (damage.areEpochsWrong) await retract(options, damage, now, signal)
}

async function retract(options: ChainLog, damage: Damage, now: number, signal: AbortSignal): Promise<void> {
  const { chain: name, writer, eventLog } = options
  const { chain, fromEpoch, after } = damage
  const named = { name, clock: chain.clock }
  const identity = formatBeaconIdentity(chain)
  const fromSlot = firstSlotOfEpoch(chain.clock, fromEpoch)
  const epochs = new Cursor({ ...options, name: EPOCHS_CURSOR, identity })
  await epochs.read(signal) // completes what the node does not say of its chain
  const time = formatInstant(Math.floor(now))
  const before = Object.fromEntries([...(await eventLog.ends('beacon.epochs'))].map(([p, end]) => [p, String(end)]))
  await writer.append('log', [
    encodeEvent(epochsRetracted, {
      id: `log.epochs-retracted:${name}:${fromEpoch}:${time}`,
      key: LOG_FACTS_KEY,
      time,
      data: { chain: name, fromEpoch, fromSlot, fromDay: firstDayOf(damage), before },
    }),
  ])
  await epochs.write({ next: fromEpoch, after }, timeOfSlot(named, Math.max(0, fromSlot - 1)))
}

/**
 * Sets the head follower back to before the first block that is not final, and reverts what it has taken since, and what was about
 * to be appended when it ended. Newest first, as many at once as a cursor can name.
 */
async function goBack(options: ChainLog, { chain, headBlocks, headAfter }: Damage, signal: AbortSignal): Promise<void> {
  const [first] = headBlocks
  if (first === undefined) return
  const named = { name: options.chain, clock: chain.clock }
  const head = new Cursor({ ...options, name: HEAD_CURSOR, identity: formatBeaconIdentity(chain) })
  const known = new Set(headBlocks.map(({ id }) => id))
  const unsettled = ((await head.read(signal))?.unsettled ?? []).filter(({ id }) => !known.has(id))
  const blocks = [...headBlocks, ...unsettled].sort((a, b) => a.height - b.height)
  for (let to = blocks.length; to > 0; to -= RECENT_BLOCKS_MAX) {
    const from = Math.max(0, to - RECENT_BLOCKS_MAX)
    const part = blocks.slice(from, to)
    const before = blocks[from - 1] ?? headAfter
    const next = before === undefined ? first.height : before.height + 1
    const state = { next, recent: before === undefined ? [] : [before] }
    await head.write({ ...state, unsettled: part }, timeOfSlot(named, first.height))
    await revert(options, named, part.toReversed())
    await head.write({ ...state, unsettled: [] }, timeOfSlot(named, first.height))
  }
}

async function revert({ writer }: ChainLog, named: NamedChain, newestFirst: readonly LoggedBlock[]): Promise<void> {
  for (let from = 0; from < newestFirst.length; from += REVERTS_PER_APPEND) {
    const events = beaconRevertEvents(named, newestFirst.slice(from, from + REVERTS_PER_APPEND))
    for (const topic of HEAD_TOPICS) {
      if (events[topic].length > 0) await writer.append(topic, events[topic])
    }
  }
}
