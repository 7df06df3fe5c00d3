import { expect, test } from 'vitest'
import { Looks } from '../../api/http/looks.ts'

/** Looks that tell how many of them there were before. */
function looks() {
  const state = {
    nowMs: 0,
    writes: 0 as number | undefined,
    news: 0 as number | undefined,
    writing: undefined as { readonly before: number; readonly sinceMs: number } | undefined,
    looks: 0,
  }
  const counted = new Looks({
    look: () => Promise.resolve(state.looks++),
    writes: () => state.writes,
    news: () => state.news,
    writing: () => state.writing,
    ageMsMax: 100,
    nowMs: () => state.nowMs,
  })
  return { state, counted }
}

test('what is written is looked at when the last look is old, news at once', async () => {
  const { state, counted } = looks()
  expect(await counted.of('eth')).toBe(0)
  Object.assign(state, { nowMs: 10, writes: 1 })
  expect(await counted.of('eth')).toBe(0)
  Object.assign(state, { nowMs: 11, news: 1, writes: 2 })
  expect(await counted.of('eth')).toBe(1)
  Object.assign(state, { nowMs: 12, writes: 3 })
  expect(await counted.of('eth')).toBe(1)
  state.nowMs = 200
  expect(await counted.of('eth')).toBe(2)
})

test('news that are being written are no news yet', async () => {
  const { state, counted } = looks()
  Object.assign(state, { news: undefined, writes: undefined })
  expect(await counted.of('eth')).toBe(0)
  state.nowMs = 1
  expect(await counted.of('eth')).toBe(0)
  Object.assign(state, { news: 1, writes: 1 })
  expect(await counted.of('eth')).toBe(1)
})

test('half of what is being written is not looked at, unless that takes long or something else was written', async () => {
  const { state, counted } = looks()
  expect(await counted.of('eth')).toBe(0)
  Object.assign(state, { nowMs: 3_000, writes: undefined, news: undefined, writing: { before: 0, sinceMs: 2_950 } })
  expect(await counted.of('eth')).toBe(0)
  state.nowMs = 3_050
  expect(await counted.of('eth')).toBe(1)
  // That was begun while it was being written, so nothing is known of what was there before.
  Object.assign(state, { nowMs: 3_200, writing: { before: 0, sinceMs: 3_190 } })
  expect(await counted.of('eth')).toBe(2)
  Object.assign(state, { nowMs: 3_400, writes: 2, news: 2, writing: undefined })
  expect(await counted.of('eth')).toBe(3)
  Object.assign(state, { nowMs: 9_000, writes: undefined, news: undefined, writing: { before: 3, sinceMs: 8_990 } })
  expect(await counted.of('eth')).toBe(4)
})

test('who asks behind news does not get what a look before them finds', async () => {
  const { state, counted } = looks()
  const before = counted.of('eth')
  Object.assign(state, { news: 1, writes: 1 })
  const behind = counted.of('eth')
  expect([await before, await behind]).toEqual([0, 1])
  expect(await counted.of('eth')).toBe(1)
})

test('what was looked at before it was forgotten is given to nobody else', async () => {
  const { state, counted } = looks()
  const before = counted.of('eth')
  counted.forget('eth')
  expect(await before).toBe(0)
  state.nowMs = 1
  expect(await counted.of('eth')).toBe(1)
  expect(await counted.of('eth')).toBe(1)
})
