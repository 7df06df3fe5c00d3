import { SecretKey } from '@chainsafe/blst'
import { expect, test } from 'vitest'
import { signaturesHold, signDeposit } from '../../infra/key-vault/sign-deposit.ts'
import type { DepositTerms, SignedDeposit } from '../../infra/ports/key-vault.ts'

const GENESIS_FORK_VERSION = Uint8Array.of(0x10, 0, 0x09, 0x10)
const TERMS: DepositTerms = {
  chain: 'hoodi',
  genesisForkVersion: GENESIS_FORK_VERSION,
  withdrawalCredentials: new Uint8Array(32).fill(7),
  amountGwei: 32_000_000_000n,
}

function deposit(number: number): SignedDeposit {
  return signDeposit(SecretKey.fromKeygen(new Uint8Array(32).fill(number)), TERMS)
}

test('the signatures of deposits that were signed hold, alone and together', () => {
  expect(signaturesHold([deposit(1)], GENESIS_FORK_VERSION)).toBe(true)
  expect(signaturesHold([deposit(1), deposit(2), deposit(3)], GENESIS_FORK_VERSION)).toBe(true)
})

test.each<readonly [string, (signed: SignedDeposit, other: SignedDeposit) => SignedDeposit]>([
  ['signature', (signed, other) => ({ ...signed, signature: other.signature })],
  ['public key', (signed, other) => ({ ...signed, pubkey: other.pubkey })],
  ['amount', (signed) => ({ ...signed, amountGwei: signed.amountGwei + 1n })],
  ['credentials', (signed) => ({ ...signed, withdrawalCredentials: new Uint8Array(32).fill(8) })],
])('a batch does not hold in which one deposit has another %s', (_, change) => {
  const deposits = [deposit(1), change(deposit(2), deposit(4)), deposit(3)]
  expect(signaturesHold(deposits, GENESIS_FORK_VERSION)).toBe(false)
})

test('signatures hold on their own chain alone', () => {
  expect(signaturesHold([deposit(1)], new Uint8Array(4))).toBe(false)
})
