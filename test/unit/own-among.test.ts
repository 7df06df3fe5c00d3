import { describe, expect, test } from 'vitest'
import { listOf, type OwnAnswer, ownAmong, ownFirst } from '../../api/gateway/own-among.ts'

const own = (...befores: readonly number[]): readonly OwnAnswer[] =>
  befores.map((before, i) => ({ text: `"own-${i}"`, before }))
const among = (answer: string, ...befores: readonly number[]) =>
  ownAmong(Buffer.from(answer), own(...befores)).toString()

describe('answers of ours', () => {
  test.each([
    ['first', '[{"a":1},{"b":2}]', [0], '["own-0",{"a":1},{"b":2}]'],
    ['amid', '[{"a":1},{"b":2}]', [1], '[{"a":1},"own-0",{"b":2}]'],
    ['last', '[{"a":1},{"b":2}]', [2], '[{"a":1},{"b":2},"own-0"]'],
    ['everywhere', '[{"a":1},{"b":2}]', [0, 0, 1, 2, 2], '["own-0","own-1",{"a":1},"own-2",{"b":2},"own-3","own-4"]'],
    ['behind fewer than are owed', '[{"a":1}]', [1, 3], '[{"a":1},"own-0","own-1"]'],
    ['in a list of none', ' [ ] ', [0, 2], ' ["own-0","own-1" ] '],
  ])('stand in their places: %s', (_where, answer, befores, told) => {
    expect(among(answer, ...befores)).toBe(told)
    expect(() => JSON.parse(told)).not.toThrow()
  })

  test('leave the bytes of a node as they are', () => {
    expect(among('\n[ {"a" : "],\\""} ,\t{"b":[1, 2]} ]\r\n', 0, 1, 2)).toBe(
      '\n[ "own-0",{"a" : "],\\""} ,\t"own-1",{"b":[1, 2]},"own-2" ]\r\n',
    )
  })

  test.each([
    ['an object', '{"error":1}', '["own-0","own-1",{"error":1}]'],
    ['nothing', '', '["own-0","own-1"]'],
    ['a list that has no end', '[{"a":"', '["own-0","own-1",{"a":"'],
  ])('come first in what is no list: %s', (_what, answer, told) => {
    expect(among(answer, 1, 1)).toBe(told)
    expect(ownFirst(Buffer.from(answer), own(1, 1)).toString()).toBe(told)
  })

  test('are a list where there is nothing else', () => {
    expect(listOf(own(0, 0))).toBe('["own-0","own-1"]')
  })
})
