import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  HEAD_FIRST_MS,
  LOOK_ANYWAY_MS,
  LOOK_MS,
  LOOK_REST_MS,
  marksWritten,
  untilMarked,
} from '../../commands/metadata/until-marked.ts'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** A warehouse whose marks are written at these milliseconds, each in 20. */
function given(writtenMs: readonly number[]): WarehouseReader {
  const startMs = Date.now()
  const writesOf = (tables: readonly string[]): number | undefined => {
    expect(tables).toEqual(['nft_marks'])
    const ms = Date.now() - startMs
    const isRunning = writtenMs.some((at) => at <= ms && ms < at + 20)
    return isRunning ? undefined : writtenMs.filter((at) => at <= ms).length
  }
  const query = () => Promise.reject(new Error('nobody has to ask'))
  return { query, queryWords: query, writesOf } as unknown as WarehouseReader
}

async function looksAfterMs(warehouse: WarehouseReader, signal = new AbortController().signal): Promise<number> {
  const startMs = Date.now()
  const waited = untilMarked(warehouse, marksWritten(warehouse), signal).then(() => Date.now() - startMs)
  await vi.advanceTimersByTimeAsync(60_000)
  return await waited
}

test('contracts are asked when the fold of the block that marked them has had its time, and before the next second', async () => {
  const tookMs = await looksAfterMs(given([1_000]))
  expect(tookMs).toBeGreaterThanOrEqual(1_000 + HEAD_FIRST_MS)
  expect(tookMs).toBeLessThan(1_000 + 2 * HEAD_FIRST_MS)
})

test('what is written all the time is looked at all the time, with rests', async () => {
  const tookMs = await looksAfterMs(given(Array.from({ length: 300 }, (_, i) => i * 10)))
  expect(tookMs).toBe(LOOK_REST_MS + HEAD_FIRST_MS)
})

test('where nothing is written somebody looks anyway, as where nobody tells', async () => {
  expect(await looksAfterMs(given([]))).toBe(LOOK_REST_MS + LOOK_ANYWAY_MS + HEAD_FIRST_MS)
  const { writesOf: _, ...untold } = given([])
  expect(await looksAfterMs(untold as WarehouseReader)).toBe(LOOK_MS)
})

test('a wait ends at once with its signal', async () => {
  const stop = new AbortController()
  setTimeout(() => stop.abort(), 700)
  expect(await looksAfterMs(given([]), stop.signal)).toBe(700)
})
