import { expect, test } from 'vitest'
import { saysUnknown, unknownFork } from '../../schemas/eth/unknown-fork.ts'

const FAR_FUTURE = '18446744073709551615'
const KNOWN = { ALTAIR_FORK_EPOCH: '0', ELECTRA_FORK_EPOCH: '364032', FULU_FORK_EPOCH: '411392' }

test.each<readonly [string, Readonly<Record<string, string>>]>([
  ['nothing more', {}],
  ['one that nobody has planned', { GLOAS_FORK_EPOCH: FAR_FUTURE }],
  ['versions alone', { GLOAS_FORK_VERSION: '0x07000000' }],
])('a schedule with %s has no fork that is not known', (_, more) => {
  expect(unknownFork({ ...KNOWN, ...more })).toBeUndefined()
})

test('the first of several forks that are not known is where a chain is followed to', () => {
  const found = unknownFork({
    ...KNOWN,
    HEZE_FORK_EPOCH: '600000',
    GLOAS_FORK_EPOCH: '500000',
    EIP9999_FORK_EPOCH: FAR_FUTURE,
  })
  expect(found).toEqual({ name: 'gloas', epoch: 500_000 })
  expect(found && saysUnknown(found)).toBe(
    'from epoch 500000 on the chain is of the fork gloas, which this version does not know',
  )
})
