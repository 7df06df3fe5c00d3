import { expect, it } from 'vitest'
import { restMs } from '../../processors/derivation-work.ts'
import { pace } from '../../processors/loop/consume.ts'

it('lets events wait the longer the batch before them took, within bounds, where batches come all the time', () => {
  let now = 0
  const lingerMs = pace(undefined, () => now)
  const after = (handledMs: number): number => {
    now += handledMs
    const waited = lingerMs(handledMs)
    now += waited
    return waited
  }
  const waits = (handledMs: number) => Array.from({ length: 300 }, () => after(handledMs)).at(-1)
  expect(waits(10)).toBe(500)
  expect(waits(50)).toBe(1_000)
  expect(waits(60_000)).toBe(2_000)
})

it('lets no event wait where batches are few, soon after many, too', () => {
  let now = 0
  const lingerMs = pace(undefined, () => now)
  for (let i = 0; i < 100; i++) lingerMs(1_000)
  now += 12_000
  for (let block = 0; block < 10; block++, now += 12_000)
    expect([lingerMs(100), lingerMs(60), lingerMs(20)]).toEqual([0, 0, 0])
})

it('lets events that somebody waits for wait no longer than they may', () => {
  let now = 0
  const lingerMs = pace(200, () => now)
  const waits = Array.from({ length: 300 }, () => {
    const waited = lingerMs(1_000)
    now += 1_000 + waited
    return waited
  })
  expect(Math.max(...waits)).toBe(200)
  expect(pace(200)(0)).toBe(200)
})

it('tells a log that waits by itself the least', () => {
  expect(pace()(0)).toBe(500)
})

it('lets a day that stays open rest the longer it took to derive, within bounds', () => {
  expect(restMs(0)).toBe(0)
  expect(restMs(100)).toBe(1_500)
  expect(restMs(60_000)).toBe(2_500)
})
