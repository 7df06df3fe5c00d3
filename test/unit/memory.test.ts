import { expect, onTestFinished, test, vi } from 'vitest'
import { giveBack, giveBackWhole, keepShared, lend, lendZeros, ownMemory } from '../../schemas/memory.ts'

const LARGE = 200_000

test('what was given back is lent again, and who still has a view of it sees nothing', () => {
  const first = lend(Float64Array, LARGE).fill(7)
  giveBack([first])
  expect(first.length).toBe(0)
  const second = lend(Float64Array, LARGE)
  expect([second.length, second[0], second[LARGE - 1]]).toEqual([LARGE, 7, 7]) // the same memory
  second.fill(8)
  expect(first.length).toBe(0)
  giveBack([second, second])
})

test('of one memory that was given back twice nobody is lent the half', () => {
  const one = lend(Uint32Array, LARGE)
  giveBackWhole([one, one.subarray(1)])
  giveBack([one, one])
  const [a, b] = [lend(Uint32Array, LARGE).fill(1), lend(Uint32Array, LARGE).fill(2)]
  expect([a[0], a[LARGE - 1], b[0]]).toEqual([1, 1, 2])
  giveBack([a, b])
})

test('zeros are zeros in memory that was used, and a shorter column has its own length', () => {
  giveBack([lend(Uint8Array, 4 * LARGE).fill(9)])
  const zeros = lendZeros(Uint8Array, 4 * LARGE - 5)
  expect([zeros.length, zeros.every((value) => value === 0)]).toEqual([4 * LARGE - 5, true])
  giveBack([zeros])
})

test('two that are lent at once lie apart, whatever was given back before', () => {
  giveBack([lend(Float64Array, LARGE), lend(Float64Array, 2 * LARGE)])
  const columns = [1, 2, 3, 4].map((value) => lend(Float64Array, LARGE + value).fill(value))
  expect(columns.map((column) => new Set(column))).toEqual([1, 2, 3, 4].map((value) => new Set([value])))
  expect(new Set(columns.map(({ buffer }) => buffer)).size).toBe(4)
  giveBack(columns)
})

test('memory as a whole goes with all of its views, but what is kept, shared or small stays', () => {
  const whole = new Uint8Array(4 * LARGE)
  const [part, other] = [whole.subarray(8, 16), new Uint32Array(whole.buffer, 16, 2)]
  const kept = new Uint8Array(4 * LARGE)
  const slices = new ArrayBuffer(4 * LARGE)
  keepShared(slices)
  const pooled = Buffer.allocUnsafe(16)
  // An event's data: less than Node's pool has, of which it would be a part, and nobody else's.
  const own = ownMemory(Buffer.poolSize / 4)
  giveBackWhole([part, kept.subarray(4), new Uint8Array(slices, 0, 4), pooled, own], [kept.subarray(0, 1)])
  expect([whole.length, part.length, other.length, own.length]).toEqual([0, 0, 0, 0])
  expect([kept.length, slices.byteLength, pooled.length]).toEqual([4 * LARGE, 4 * LARGE, 16])
})

test('what nobody is lent for a while goes back to the system, and what is lent again and again stays', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  vi.resetModules() // one whose looks are by that clock
  const { giveBack, IDLE_MS, lend } = await import('../../schemas/memory.ts')
  giveBack([lend(Uint32Array, LARGE).fill(1), lend(Uint32Array, 8 * LARGE).fill(2)])
  for (let look = 0; look < 3; look++) {
    vi.advanceTimersByTime(IDLE_MS)
    const again = lend(Uint32Array, LARGE)
    expect([again[0], again[LARGE - 1]]).toEqual([1, 1])
    giveBack([again])
  }
  expect(lend(Uint32Array, 8 * LARGE)[0]).toBe(0)
  vi.advanceTimersByTime(2 * IDLE_MS)
  expect(lend(Uint32Array, LARGE)[0]).toBe(0)
  expect(vi.getTimerCount()).toBe(0)
})
