import { interopSecretKey } from '@lodestar/state-transition'
import { expect, test } from 'vitest'
import { secretKeyOf } from '../../infra/devnet/consensus/keys.ts'

test.each([0, 1, 63, 256, 1_000_003])(
  'the key of validator number %i is the interop key that all clients know',
  (number) => {
    expect(secretKeyOf(number).toHex()).toBe(interopSecretKey(number).toHex())
  },
)
