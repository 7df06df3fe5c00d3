import { expect, test } from 'vitest'
import { ChainPlaces } from '../../commands/validators/chain-places.ts'

/** Work that notes its beginning and ends, or fails, when the test lets it. */
function heldWork(begun: string[], what: string) {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const work = (): Promise<string> => {
    begun.push(what)
    return promise
  }
  return { work, end: () => resolve(what), fail: () => reject(new Error(what)) }
}

test('a chain has its places, which are given in the order of asking, after a failure too', async () => {
  const begun: string[] = []
  const places = new ChainPlaces(2, 4)
  const held = ['first', 'second', 'third', 'fourth'].map((what) => heldWork(begun, what))
  const [first, second, ...later] = held.map(({ work }) => places.take('a', work))
  expect(begun).toEqual(['first', 'second'])
  held[1]?.fail()
  await expect(second).rejects.toThrow('second')
  held[0]?.end()
  await first
  for (const { end } of held.slice(2)) end()
  expect(await Promise.all(later)).toEqual(['third', 'fourth'])
  expect(begun).toEqual(['first', 'second', 'third', 'fourth'])
})

test('another chain has its own places, and what a chain may not have in hand is refused', async () => {
  const places = new ChainPlaces(1, 2)
  const held = heldWork([], 'held')
  const taken = [places.take('a', held.work), places.take('a', async () => 'next')]
  await expect(places.take('a', held.work)).rejects.toMatchObject({ code: 'job_queue' })
  expect(await places.take('b', async () => 'other')).toBe('other')
  held.end()
  expect(await Promise.all(taken)).toEqual(['held', 'next'])
  expect(await places.take('a', async () => 'again')).toBe('again')
})
