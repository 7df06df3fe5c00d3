import { describe, expect, it } from 'vitest'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { topicsAhead } from '../../processors/loop/ahead-of-log.ts'
import type { Topic } from '../../schemas/events/codec.ts'

const NEWEST = [
  { topic: 'beacon.blocks', version: '7' },
  { topic: 'beacon.epochs', version: '4' },
  { topic: 'execution.blocks', version: '0' },
  { topic: 'execution.logs', version: '9' },
]

const ENDS: Partial<Record<Topic, readonly bigint[]>> = {
  'beacon.blocks': [6n, 6n],
  'beacon.epochs': [2n, 4n],
  'execution.logs': [8n],
}

describe('topics of which tables are ahead of the log', () => {
  // The engine gives the rows of a UNION ALL in the order in which they come to be.
  it.each([
    ['in order', NEWEST],
    ['in another order', NEWEST.toReversed()],
  ])('are told in one order, where rows come %s', async (_, rows) => {
    const warehouse = { query: async () => rows } as unknown as WarehouseReader
    const eventLog: Pick<EventLog, 'ends'> = {
      ends: async (topic) => new Map((ENDS[topic] ?? []).map((end, partition) => [partition, end])),
    }
    expect(await topicsAhead({ eventLog, warehouse })).toEqual(['beacon.blocks', 'execution.logs'])
  })
})
