import fc from 'fast-check'
import { expect, test } from 'vitest'
import { tokenHex, tokenText } from '../../api/nft/amounts.ts'

const MAX = 2n ** 256n - 1n
const aToken = fc.oneof(
  fc.bigInt({ min: 0n, max: MAX }),
  fc.bigInt({ min: 0n, max: 2n ** 54n }),
  fc.constantFrom(
    0n,
    2n ** 52n - 1n,
    2n ** 52n,
    2n ** 53n - 1n,
    2n ** 53n,
    2n ** 53n + 1n,
    10n ** 15n - 1n,
    10n ** 15n,
    MAX,
  ),
)

test('ids are the same in tables and in answers, however large', () => {
  fc.assert(
    fc.property(aToken, (token) => {
      const hex = token.toString(16).padStart(64, '0')
      expect(tokenHex(token.toString())).toBe(hex)
      expect(tokenText(`0x${hex}`)).toBe(token.toString())
    }),
  )
})
