import { expect, test } from 'vitest'
import { ListMemory } from '../../infra/beacon/list-memory.ts'

const UNIT_BYTES = 512
const LARGE = 40_000_000

test('a list that is much shorter than one before it has no more memory than it needs, and what it had is compared with', () => {
  const memory = new ListMemory(UNIT_BYTES)
  memory.begin(LARGE, true)
  memory.write(0, Buffer.alloc(LARGE, 1))
  memory.marks.fill(0)
  memory.begin(5 * UNIT_BYTES, true)
  memory.write(0, Buffer.alloc(5 * UNIT_BYTES, 1))
  expect(memory.bytes.buffer.byteLength).toBeLessThan(LARGE / 4)
  expect([memory.bytes.length, memory.marks.indexOf(1)]).toEqual([5 * UNIT_BYTES, -1])
  memory.write(3 * UNIT_BYTES, Buffer.alloc(UNIT_BYTES, 2))
  expect([...memory.marks.subarray(0, 6)]).toEqual([0, 0, 0, 1, 0, 0])
})
