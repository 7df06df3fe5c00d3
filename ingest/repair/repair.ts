import { formatBeaconIdentity } from '../../schemas/eth/chain-identity.ts'
import { type DayNumber, dayOfSlot, firstSlotOfEpoch, formatInstant } from '../../schemas/eth/time.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { epochsRetracted, LOG_FACTS_KEY } from '../../schemas/events/log-facts.ts'
import { beaconRevertEvents, timeOfSlot } from '../beacon-head/block-events.ts'
import { type ChainLog, Cursor } from '../cursor.ts'
import { EPOCHS_CURSOR } from '../epochs/epoch-follower.ts'
import { HEAD_TOPICS } from '../head/head-chain.ts'
import { HEAD_CURSOR } from '../head/head-log.ts'
import type { Damage } from './find-damage.ts'

/** Reverts of one append. */
const REVERTS_PER_APPEND = 512

/** The first UTC+8 day whose figures a repair takes back: the balances that a day ends with come with the epoch after it. */
export function firstDayOf({ chain: { clock }, fromEpoch }: Damage): DayNumber {
  return dayOfSlot(clock, Math.max(0, firstSlotOfEpoch(clock, fromEpoch) - 1))
}

/**
 * Takes the damage back, by new events: a fact by which the epochs' events no longer count, reverts of the blocks, and cursors
 * that go back, so that the chain's ingester reads all of it again. To be called with the ingester's lease. Cursors first: what
 * is interrupted behind them is found again by the next repair, and nothing is missing that nobody would read. `now` is Unix seconds.
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
  await epochs.write({ next: fromEpoch, after }, timeOfSlot(named, Math.max(0, fromSlot - 1)))
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
}

/** Sets the head follower back to before the first block that is not final, and reverts what it has taken since. */
async function goBack(options: ChainLog, { chain, headBlocks, headAfter }: Damage, signal: AbortSignal): Promise<void> {
  const [first] = headBlocks
  if (first === undefined) return
  const named = { name: options.chain, clock: chain.clock }
  const head = new Cursor({ ...options, name: HEAD_CURSOR, identity: formatBeaconIdentity(chain) })
  await head.read(signal)
  const recent = headAfter === undefined ? [] : [headAfter]
  const next = headAfter === undefined ? first.height : headAfter.height + 1
  await head.write({ next, recent, unsettled: [] }, timeOfSlot(named, first.height))
  const newestFirst = headBlocks.toReversed()
  for (let from = 0; from < newestFirst.length; from += REVERTS_PER_APPEND) {
    const events = beaconRevertEvents(named, newestFirst.slice(from, from + REVERTS_PER_APPEND))
    for (const topic of HEAD_TOPICS) {
      if (events[topic].length > 0) await options.writer.append(topic, events[topic])
    }
  }
}
