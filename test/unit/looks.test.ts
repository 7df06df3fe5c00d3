import { expect, test } from 'vitest'
import { Looks } from '../../api/http/looks.ts'

/** Looks that tell how many of them there were before. */
function looks() {
  const state = { nowMs: 0, writes: 0 as number | undefined, news: 0 as number | undefined, looks: 0 }
  const counted = new Looks({
    look: () => Promise.resolve(state.looks++),
    writes: () => state.writes,
    news: () => state.news,
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
