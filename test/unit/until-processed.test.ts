import { expect, test } from 'vitest'
import type { EventLog, Offsets } from '../../infra/ports/event-log.ts'
import { LagWatch } from '../../processors/loop/lag-watch.ts'
import { untilProcessed } from '../../processors/verify/until-processed.ts'

const TOPIC = 'execution.blocks'
const never = new AbortController().signal

/** A log of one topic in two partitions: at each question for its ends ten more events are appended to the first, and done by everybody. */
function uneven(stuck: bigint): Pick<EventLog, 'ends' | 'lag'> {
  let first = 90n
  const ends = (): Offsets =>
    new Map([
      [0, first],
      [1, 100n],
    ])
  return {
    async ends(topic) {
      if (topic !== TOPIC) return new Map()
      first += 10n
      return ends()
    },
    async lag(topic, _group, until = ends()) {
      if (topic !== TOPIC) return 0n
      const left = (until.get(1) ?? 0n) - (100n - stuck)
      return left > 0n ? left : 0n
    },
  }
}

const left = async (stuck: bigint) => {
  const eventLog = uneven(stuck) as EventLog
  const { events } = await untilProcessed(
    { eventLog, jobQueue: { pending: async () => 0 } },
    { wait: true, waitMsMax: 600, signal: never },
  )
  return [...events]
}

test('what waits in one partition is not processed, however much of another one is', async () => {
  expect(await left(5n)).toEqual([[TOPIC, 5]])
})

test('all is processed where nothing waits in any partition', async () => {
  expect(await left(0n)).toEqual([])
})

test('a group that stands still in one partition is seen, however far it comes in another one', async () => {
  const watch = new LagWatch()
  const eventLog = uneven(5n) as EventLog
  const look = (nowSec: number, events: number) =>
    watch.waitingSec({ eventLog, group: 'g', topic: TOPIC, events }, nowSec)
  expect(await look(100, 5)).toBe(0)
  await eventLog.ends(TOPIC)
  expect(await look(140, 5)).toBe(40)
  expect(await look(150, 0)).toBe(0)
})
