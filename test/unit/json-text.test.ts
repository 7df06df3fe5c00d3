import { describe, expect, test } from 'vitest'
import { endOfValue, isDeeper, itemsOf, membersOf, skipBlanks } from '../../api/gateway/json-text.ts'

/** What hostile bytes are made of: what opens, closes, separates, and hides something else. */
const PIECES = ['"', '\\', '{', '}', '[', ']', ',', ':', ' ', '1', 'a']

/** All texts of so many pieces. */
const textsOf = (pieces: number): readonly string[] =>
  pieces === 0 ? [''] : textsOf(pieces - 1).flatMap((text) => PIECES.map((piece) => text + piece))

describe('the parts of a text', () => {
  test('are those of an object only where one begins', () => {
    for (const text of ['["a"]', '""', '["', '7', '', '[{"a":1}]']) expect(membersOf(Buffer.from(text), 0)).toEqual([])
  })

  test('are those of a list only where one begins', () => {
    for (const text of ['{"a":1}', '""', '"a",1', '']) expect(itemsOf(Buffer.from(text), 0)).toEqual([])
  })

  test.each([1, 2, 3, 4])('lie within it whatever it is, and are found to the end: %i pieces', (pieces) => {
    for (const text of textsOf(pieces)) {
      const bytes = Buffer.from(text)
      const places = [
        ...membersOf(bytes, 0).flatMap(({ keyFrom, keyTo, to }) => [keyFrom, keyTo, to]),
        ...itemsOf(bytes, 0),
        ...[endOfValue(bytes, 0), skipBlanks(bytes, 0)],
      ]
      if (places.some((at) => at > bytes.length)) throw new Error(`${JSON.stringify(text)} has no place ${places}`)
    }
  })
})

test.each([
  ['7', 0],
  ['"[[[["', 0],
  ['{"a\\"[":[]}', 2],
  ['[[],[[]],{}]', 3],
  ['['.repeat(9), 9],
])('%s has %i levels', (text, levels) => {
  const isOver = (max: number) => isDeeper(Buffer.from(text), 0, max)
  expect([levels === 0 || isOver(levels - 1), isOver(levels)]).toEqual([true, false])
})
