import type { Admin } from 'kafkajs'
import { expect, test } from 'vitest'
import { groupLag } from '../../infra/event-log/kafka-admin.ts'

/** A broker whose topic has a hundred events in one partition and sixty in another, of which a group has done all of the first. */
const admin = {
  fetchTopicOffsets: async () => [
    { partition: 0, offset: '100', low: '0', high: '100' },
    { partition: 1, offset: '60', low: '10', high: '60' },
  ],
  fetchOffsets: async () => [{ topic: 't', partitions: [{ partition: 0, offset: '100', metadata: null }] }],
} as unknown as Admin

const lag = (until?: ReadonlyMap<number, bigint>) => groupLag(admin, 't', { groupId: 'g', until })

test('a group lags by what it has not done of each partition', async () => {
  expect(await lag()).toBe(50n)
})

test('what a group has done of one partition makes up for nothing of another', async () => {
  const before = new Map([
    [0, 40n],
    [1, 15n],
  ])
  expect(await lag(before)).toBe(5n)
})

test('up to offsets that are all done a group does not lag, and neither by a partition that had no events then', async () => {
  expect(await lag(new Map([[0, 80n]]))).toBe(0n)
  expect(await lag(new Map())).toBe(0n)
})
