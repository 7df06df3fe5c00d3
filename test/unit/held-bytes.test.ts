import { expect, test } from 'vitest'
import { HeldBytes } from '../../api/gateway/held-bytes.ts'
import type { MessageSink } from '../../api/gateway/message-sink.ts'

// What one socket may hold: ten bytes.

const HALF = Buffer.from('12345')

/** An answer that is under way until `end` is called. */
function open(held: HeldBytes) {
  const { promise, resolve } = Promise.withResolvers<void>()
  let sink: MessageSink | undefined
  const ended = held.withSink((opened) => {
    sink = opened
    return promise
  })
  const opened = sink as unknown as MessageSink
  let drained = 0
  opened.on('drain', () => {
    drained++
  })
  const end = async (): Promise<void> => {
    resolve()
    await ended
  }
  return { sink: opened, end, drained: () => drained }
}

test('answers are held back where they are too much together, but for the oldest one that has begun', async () => {
  const held = new HeldBytes(10)
  const [silent, older, younger] = [open(held), open(held), open(held)]
  expect([older.sink.write(HALF), younger.sink.write(HALF)]).toEqual([true, false])
  expect(held.isFull).toBe(true)
  expect(older.sink.write(HALF), 'it would never end').toBe(true)
  expect(younger.drained()).toBe(0)
  older.sink.end()
  expect(await older.sink.answer).toEqual(Buffer.concat([HALF, HALF]))
  await older.end()
  expect([held.isFull, younger.drained()]).toEqual([false, 1])
  expect(younger.sink.write(HALF), 'it is the oldest now').toBe(true)
  expect(silent.sink.write(HALF), 'and this one, since it has begun').toBe(true)
  expect(younger.sink.write(HALF)).toBe(false)
  await younger.end()
  await silent.end()
  expect(held.isFull).toBe(false)
})

test('requests take of the same bytes, and what fails gives its own back', async () => {
  const held = new HeldBytes(10)
  held.hold(10)
  const failing = held.withSink(async (sink) => {
    sink.write(HALF)
    throw new Error('failed')
  })
  await expect(failing).rejects.toThrow('failed')
  expect(held.isFull).toBe(true)
  held.release(10)
  expect(held.isFull).toBe(false)
  held.hold(9)
  expect(held.isFull).toBe(false)
})
