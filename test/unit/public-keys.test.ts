import { describe, expect, it } from 'vitest'
import { parseKeys } from '../../commands/admin/public-keys.ts'
import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import { hexOf } from '../../schemas/eth/hex.ts'

const [first = '', second = ''] = [0, 1].map((number) => hexOf(pubkeyOf(number)))
const bare = first.slice(2)
/** x = 4: a point of the curve, but not of the subgroup that keys are from. */
const OUTSIDE_SUBGROUP = `8${'0'.repeat(94)}4`
const INFINITY = `c${'0'.repeat(95)}`

describe('public keys', () => {
  it.each([
    ['with 0x and without, in either case, each once', [first, bare, bare.toUpperCase(), `0X${bare}`], [first]],
    ['in a column of a table with headings', ['pubkey,label', `"${first}",one`, `2;${second};two`], [first, second]],
    ['between comments and blank lines', ['# mine', '', `${first} # the first`, '   ', second, '\r'], [first, second]],
  ])('are read %s', (_, lines, expected) => {
    expect(parseKeys(lines, 'line')).toEqual(expected)
  })

  it.each([
    ['that is too short', first.slice(0, -1), /^line 2: "0x[0-9a-f]{18}…" is not a BLS public key/],
    ['that has a digit which is none', `0x${'g'.repeat(96)}`, /^line 2: .* is not a BLS public key/],
    ['that is not on the curve', `0x${'11'.repeat(48)}`, /^line 2: .* no point of BLS12-381/],
    [
      'that has a digit exchanged',
      `${first.slice(0, 50)}${first[50] === '0' ? '1' : '0'}${first.slice(51)}`,
      /no point/,
    ],
    ['that lies outside of the subgroup', OUTSIDE_SUBGROUP, /no point/],
    ['that is the point at infinity', INFINITY, /no point/],
    ['that is a word', 'acme', /^line 2: "acme" is not a BLS public key/],
  ])('with one %s are refused by its line, as a whole', (_, line, sentence) => {
    const parse = () => parseKeys([second, line], 'line')
    expect(parse).toThrow(sentence)
    expect(parse).toThrow(/nothing was changed/)
  })

  it('given as arguments have no headings', () => {
    expect(() => parseKeys(['pubkeys', first], 'argument')).toThrow(/^argument 1: "pubkeys" is not/)
  })
})
