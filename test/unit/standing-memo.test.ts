import { expect, test } from 'vitest'
import { StandingMemo } from '../../api/http/standing-memo.ts'
import type { Standing } from '../../api/http/standings.ts'

const standing: Standing = {
  chain: 'mainnet',
  position: '1',
  figures: {},
  tokenOf: () => undefined,
  validatorsOf: () => 0,
  warehouse: { query: () => Promise.resolve([]), queryWords: () => Promise.resolve(new Uint32Array()) },
}

/** A memo of lists, and the names of those that were made. */
function lists(itemsMax: number) {
  const memo = new StandingMemo<readonly number[]>((list) => list.length, itemsMax)
  const made: string[] = []
  const ask = (name: string, length: number, at = standing) =>
    memo.of(at, name, async () => {
      made.push(name)
      return Array.from({ length }, (_, n) => n)
    })
  return { ask, made }
}

test('makes a value once while the tables stand as they do', async () => {
  const { ask, made } = lists(10)
  const [one, other] = await Promise.all([ask('a', 3), ask('a', 3)])
  expect(other).toBe(one)
  expect(await ask('a', 3)).toBe(one)
  await ask('a', 3, { ...standing, position: '2' })
  expect(made).toEqual(['a'])
  await ask('a', 3, { ...standing, position: '2', figures: {} })
  expect(made).toEqual(['a', 'a'])
})

test('forgets what was asked for longest ago when the values hold too much together', async () => {
  const { ask, made } = lists(10)
  for (const name of ['a', 'b', 'a', 'c', 'a', 'b']) await ask(name, 4)
  expect(made).toEqual(['a', 'b', 'c', 'b'])
})

test('keeps a value that alone holds more than all may together', async () => {
  const { ask, made } = lists(10)
  for (const name of ['a', 'large', 'large', 'a']) await ask(name, name === 'large' ? 1_000 : 1)
  expect(made).toEqual(['a', 'large', 'a'])
})

test('keeps no failure', async () => {
  const memo = new StandingMemo<number>(() => 1)
  await expect(memo.of(standing, 'a', () => Promise.reject(new Error('away')))).rejects.toThrow('away')
  expect(await memo.of(standing, 'a', () => Promise.resolve(2))).toBe(2)
})
