import { describe, expect, test } from 'vitest'
import { nameNode } from '../../api/gateway/filters.ts'

const NODE = '0a1b2c3d'
const named = (answer: string, calls?: readonly string[]) => nameNode(Buffer.from(answer), NODE, calls).toString()
const made = (id: string, filter = '0x1') => `{"jsonrpc":"2.0","id":${id},"result":"${filter}"}`

describe("a node's answer to who makes a filter", () => {
  test.each(['[""]', '["', '""', '[["a"],7,null]', '{}', '[]', '{"id":1}', '{"id":1,"result":null}', '[{"result":7}]'])(
    'stays as it is where it has none: %s',
    (answer) => {
      expect(named(answer)).toBe(answer)
      expect(named(answer, ['1'])).toBe(answer)
    },
  )

  test('has its node, whatever the node makes of the id of a call that was sent alone', () => {
    for (const id of ['1', '"7"', 'null', '{}']) expect(named(made(id))).toBe(made(id, `0x1${NODE}`))
    expect(named('{"result":"0x1"}')).toBe(`{"result":"0x1${NODE}"}`)
  })

  test.each([
    ['1.0', '1'],
    ['1', '1.0'],
    ['1e2', '100'],
    ['"a\\/b"', '"a/b"'],
    ['"\\u0061"', '"a"'],
    ['null', 'null'],
    ['9007199254740993', '9007199254740993'],
  ])('has its node in a batch too, where the id %s is written anew as %s', (asked, answered) => {
    expect(named(`[${made(answered)}]`, [asked])).toBe(`[${made(answered, `0x1${NODE}`)}]`)
  })

  test.each([
    ['1', '"1"'],
    ['9007199254740993', '9007199254740992'],
    [`${'['.repeat(50_000)}${']'.repeat(50_000)}`, '1'],
  ])('stays as it is in a batch where it is of another call', (asked, answered) => {
    expect(named(`[${made(answered)}]`, [asked])).toBe(`[${made(answered)}]`)
  })
})
