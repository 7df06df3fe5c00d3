import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { WakeUps } from '../../infra/wake-ups.ts'
import { Waker } from '../../ingest/waker.ts'
import { pause } from '../../schemas/wait.ts'

const LONG_MS = 600_000

test('a pause ends with its signal, and leaves no listener behind', async () => {
  const stop = new AbortController()
  const pausing = pause(LONG_MS, stop.signal)
  await pause(0, stop.signal)
  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1)
  stop.abort()
  await pausing
  expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0)
  await pause(LONG_MS, stop.signal)
})

test('a wake while nobody sleeps is kept for the next sleep, once', async () => {
  const waker = new Waker()
  const { signal } = new AbortController()
  waker.wake()
  waker.wake()
  await waker.wait(LONG_MS, signal)
  let isOver = false
  const sleeping = waker.wait(LONG_MS, signal).then(() => {
    isOver = true
  })
  await pause(0, signal)
  expect(isOver).toBe(false)
  waker.wake()
  await sleeping
  // The wake that ended a sleep is not kept.
  await waker.wait(0, signal)
})

test('a change wakes all who wait for it by its name, and nobody else', async () => {
  const changes = new WakeUps()
  const stop = new AbortController()
  const woken: string[] = []
  const wait = (name: string) => changes.wait(name, LONG_MS, stop.signal).then(() => woken.push(name))
  const waiting = [wait('a'), wait('a'), wait('b')]
  changes.wake('a')
  await Promise.all(waiting.slice(0, 2))
  expect(woken).toEqual(['a', 'a'])
  stop.abort()
  await Promise.all(waiting)
  expect(woken).toHaveLength(3)
})
