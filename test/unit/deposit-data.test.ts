import { ByteVectorType, ContainerType, UintBigintType } from '@chainsafe/ssz'
import { DOMAIN_DEPOSIT } from '@lodestar/params'
import { computeDomain, computeSigningRoot } from '@lodestar/state-transition'
import { ssz } from '@lodestar/types'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { depositDataRoot, depositDomain, depositMessageRoot } from '../../schemas/eth/deposit-data.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { signingRoot } from '../../schemas/eth/signing-root.ts'

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const ofAmount = (amountGwei: fc.Arbitrary<bigint>) =>
  fc.record({ pubkey: bytes(48), withdrawalCredentials: bytes(32), amountGwei })
const AMOUNT_GWEI_MAX = 2n ** 64n - 1n
const ZERO = { pubkey: new Uint8Array(48), withdrawalCredentials: new Uint8Array(32), amountGwei: 0n }

/** Lodestar's own types hold amounts as numbers, which end at 2^53: the same containers with whole ones. */
const WIDE_MESSAGE = { ...ssz.phase0.DepositMessage.fields, amount: new UintBigintType(8) }
const WideMessage = new ContainerType(WIDE_MESSAGE)
const WideData = new ContainerType({ ...WIDE_MESSAGE, signature: new ByteVectorType(96) })

test('roots, domain and signing root are those of the consensus specification on random deposits', () => {
  const deposits = ofAmount(fc.bigInt(0n, BigInt(Number.MAX_SAFE_INTEGER)))
  fc.assert(
    fc.property(deposits, bytes(96), bytes(4), (deposit, signature, version) => {
      const { pubkey, withdrawalCredentials } = deposit
      const witness = { pubkey, withdrawalCredentials, amount: Number(deposit.amountGwei) }
      const domain = computeDomain(DOMAIN_DEPOSIT, version, new Uint8Array(32))
      const messageRoot = depositMessageRoot(deposit)
      expect(hexOf(messageRoot)).toBe(hexOf(ssz.phase0.DepositMessage.hashTreeRoot(witness)))
      expect(hexOf(depositDataRoot(deposit, signature))).toBe(
        hexOf(ssz.phase0.DepositData.hashTreeRoot({ ...witness, signature })),
      )
      expect(hexOf(depositDomain(version))).toBe(hexOf(domain))
      expect(hexOf(signingRoot(messageRoot, domain))).toBe(
        hexOf(computeSigningRoot(ssz.phase0.DepositMessage, witness, domain)),
      )
    }),
    { numRuns: 300 },
  )
})

test('amounts up to the largest uint64 have the roots of their containers', () => {
  const amount = fc.oneof(fc.bigInt(0n, AMOUNT_GWEI_MAX), fc.constant(AMOUNT_GWEI_MAX))
  fc.assert(
    fc.property(ofAmount(amount), bytes(96), (deposit, signature) => {
      const { pubkey, withdrawalCredentials, amountGwei } = deposit
      const witness = { pubkey, withdrawalCredentials, amount: amountGwei, signature }
      expect(hexOf(depositMessageRoot(deposit))).toBe(hexOf(WideMessage.hashTreeRoot(witness)))
      expect(hexOf(depositDataRoot(deposit, signature))).toBe(hexOf(WideData.hashTreeRoot(witness)))
    }),
    { numRuns: 100 },
  )
})

test('the domain of mainnet is the known one', () => {
  expect(hexOf(depositDomain(new Uint8Array(4)))).toBe(
    '0x03000000f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a9',
  )
})

test.each<readonly [string, () => unknown]>([
  ['a public key has 48 bytes, not 47', () => depositMessageRoot({ ...ZERO, pubkey: new Uint8Array(47) })],
  [
    'withdrawal credentials has 32 bytes, not 20',
    () => depositMessageRoot({ ...ZERO, withdrawalCredentials: new Uint8Array(20) }),
  ],
  ['a signature has 96 bytes, not 48', () => depositDataRoot(ZERO, new Uint8Array(48))],
  ['-1 is no uint64', () => depositMessageRoot({ ...ZERO, amountGwei: -1n })],
  ['18446744073709551616 is no uint64', () => depositMessageRoot({ ...ZERO, amountGwei: 2n ** 64n })],
  ['a fork version has 4 bytes, not 8', () => depositDomain(new Uint8Array(8))],
  ['an object root has 32 bytes, not 31', () => signingRoot(new Uint8Array(31), new Uint8Array(32))],
  ['a domain has 32 bytes, not 4', () => signingRoot(new Uint8Array(32), new Uint8Array(4))],
])('refuses what no deposit has: %s', (message, make) => {
  expect(make).toThrow(new RangeError(message))
})
