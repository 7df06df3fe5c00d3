import { DOMAIN_VOLUNTARY_EXIT } from '@lodestar/params'
import { computeDomain, computeSigningRoot } from '@lodestar/state-transition'
import { ssz } from '@lodestar/types'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { signingRoot, uint64Chunk } from '../../schemas/eth/signing-root.ts'
import { voluntaryExitDomain, voluntaryExitOf, voluntaryExitRoot } from '../../schemas/eth/voluntary-exit.ts'

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })

test('root, domain and signing root are those of the consensus specification on random exits', () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), fc.maxSafeNat(), bytes(4), bytes(32), (epoch, validatorIndex, version, root) => {
      const exit = { epoch, validatorIndex }
      const domain = computeDomain(DOMAIN_VOLUNTARY_EXIT, version, root)
      expect(hexOf(voluntaryExitRoot(exit))).toBe(hexOf(ssz.phase0.VoluntaryExit.hashTreeRoot(exit)))
      expect(hexOf(voluntaryExitDomain(version, root))).toBe(hexOf(domain))
      expect(hexOf(signingRoot(voluntaryExitRoot(exit), domain))).toBe(
        hexOf(computeSigningRoot(ssz.phase0.VoluntaryExit, exit, domain)),
      )
    }),
    { numRuns: 300 },
  )
})

test('an exit of mainnet is of the fork Capella in every fork', () => {
  const root = bytesOf('0x4b363db94e286120d76eb905340fdd4e54bfe9f06bf33ff6cf5ad27f511bfe95')
  const capella = Uint8Array.of(3, 0, 0, 0)
  expect(hexOf(voluntaryExitDomain(capella, root))).toBe(hexOf(computeDomain(DOMAIN_VOLUNTARY_EXIT, capella, root)))
})

test('is dated with the first epoch in which the validator may leave', () => {
  expect(voluntaryExitOf({ index: 7, activationEpoch: 1_000 }, 256)).toEqual({ epoch: 1_256, validatorIndex: 7 })
})

test.each([
  ['a fork version has 4 bytes, not 3', () => voluntaryExitDomain(new Uint8Array(3), new Uint8Array(32))],
  ['a genesis validators root has 32 bytes, not 4', () => voluntaryExitDomain(new Uint8Array(4), new Uint8Array(4))],
  ['-1 is no uint64', () => voluntaryExitRoot({ epoch: -1, validatorIndex: 0 })],
  ['18446744073709551616 is no uint64', () => uint64Chunk(2n ** 64n)],
])('refuses what no exit has: %s', (message, make) => {
  expect(make).toThrow(new RangeError(message))
})
