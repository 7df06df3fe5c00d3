import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { PendingDeposit } from '../../infra/ports/beacon-source.ts'
import { creditedToNewValidator, handledDeposits, toCreditedDeposit } from '../../ingest/epochs/credited-deposits.ts'

const G2_INFINITY = `0xc0${'00'.repeat(95)}`

function deposit(changes: Partial<PendingDeposit> = {}): PendingDeposit {
  return { pubkey: '0xaa', withdrawalCredentials: '0x01', amountGwei: 32n, signature: '0xsig', slot: 5, ...changes }
}

const anyDeposit = fc
  .record({
    pubkey: fc.constantFrom('0xaa', '0xbb'),
    amountGwei: fc.constantFrom(1n, 32n),
    slot: fc.constantFrom(0, 5),
  })
  .map(deposit)

test('what was taken from the queue is what is missing, however the rest was moved and whatever was added', () => {
  fc.assert(
    fc.property(fc.array(anyDeposit), fc.array(anyDeposit), fc.infiniteStream(fc.boolean()), (queue, added, kept) => {
      const taken = queue.filter(() => !kept.next().value)
      const left = [...queue]
      for (const entry of taken) left.splice(left.indexOf(entry), 1)
      const fresh = added.map((entry) => ({ ...entry, slot: 99 }))
      const handled = handledDeposits(queue, [...left.toReversed(), ...fresh]).map((entry) => entry.deposit)
      const text = (list: readonly PendingDeposit[]) =>
        list.map(({ pubkey, amountGwei, slot }) => `${pubkey} ${amountGwei} ${slot}`).sort()
      expect(text(handled)).toEqual(text(taken))
    }),
  )
})

test('equal deposits are counted, not merged', () => {
  const queue = [deposit(), deposit(), deposit()]
  expect(handledDeposits(queue, [deposit()])).toHaveLength(2)
})

test('the ordinal is the place in the queue before the transition', () => {
  const queue = [deposit({ pubkey: '0xbb' }), deposit(), deposit({ amountGwei: 1n })]
  expect(handledDeposits(queue, [deposit()]).map(({ ordinal }) => ordinal)).toEqual([0, 2])
})

const handled = (...amounts: bigint[]) =>
  amounts.map((amountGwei, ordinal) => ({ deposit: deposit({ amountGwei }), ordinal }))

test.each<[string, bigint[], bigint, number[]]>([
  ['all, when the first is valid', [32n, 1n], 33n, [0, 1]],
  ['those from the first valid one on', [32n, 5n, 1n], 6n, [1, 2]],
  ['only the last, when it is the first valid one', [32n, 32n], 32n, [1]],
])('a new validator is credited %s', (_, amounts, balance, ordinals) => {
  expect(creditedToNewValidator(handled(...amounts), balance).map(({ ordinal }) => ordinal)).toEqual(ordinals)
})

test('a balance that no deposits explain is inconsistent', () => {
  expect(() => creditedToNewValidator(handled(32n), 31n)).toThrow(
    expect.objectContaining({ code: 'node_inconsistent' }),
  )
})

test.each<[string, Partial<PendingDeposit>, string]>([
  ['of the bridge', { slot: 0 }, 'deposit'],
  ['of a request', { slot: 7 }, 'deposit'],
  ['that the protocol queued itself', { slot: 0, signature: G2_INFINITY }, 'returned_from_queue'],
  ['of a request that copies the infinity signature', { slot: 7, signature: G2_INFINITY }, 'deposit'],
])('an entry %s is told apart', (_, changes, kind) => {
  expect(toCreditedDeposit({ deposit: deposit(changes), ordinal: 4 }, 9, 64)).toEqual({
    slot: 64,
    validatorIndex: 9,
    kind,
    ordinal: 4,
    amountGwei: '32',
  })
})
