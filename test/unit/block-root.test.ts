import type { ForkName } from '@lodestar/params'
import { type BeaconBlock, type ExecutionPayload, ssz } from '@lodestar/types'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { blockRoot, FORKS, rootOfTransactions } from '../../infra/beacon/block-root.ts'
import { tries } from '../long-form.ts'

const CHUNK_BYTES = 32
/** Lengths around the places where a tree gets another chunk, and another level. */
const length = fc.oneof(
  fc.integer({ min: 0, max: 200 }),
  fc.tuple(fc.integer({ min: 0, max: 6 }), fc.integer({ min: -1, max: 1 })).map(([power, more]) => {
    return CHUNK_BYTES * 2 ** power + more
  }),
)
const transaction = fc.tuple(length, fc.integer({ min: 1, max: 255 })).map(([bytes, fill]) => {
  return new Uint8Array(bytes).fill(fill)
})
const transactions = fc.array(transaction, { maxLength: 12 })

test('the root of transactions is that of the SSZ type', () => {
  fc.assert(
    fc.property(transactions, (list) => {
      expect(rootOfTransactions(list)).toEqual(ssz.bellatrix.Transactions.hashTreeRoot(list))
    }),
  )
})

test.each(FORKS)('the root of a block of %s is that of the SSZ type', (fork) => {
  fc.assert(
    fc.property(
      transactions,
      fc.integer({ min: 0, max: 2 ** 31 }),
      fc.integer({ min: 0, max: 3 }),
      (list, slot, some) => {
        const block: BeaconBlock = ssz[fork].BeaconBlock.defaultValue()
        block.slot = slot
        if ('executionPayload' in block.body) {
          const payload = block.body.executionPayload as ExecutionPayload<ForkName.fulu>
          payload.transactions = list
          payload.baseFeePerGas = BigInt(slot)
          if ('withdrawals' in payload) {
            payload.withdrawals = Array.from({ length: some }, () => ssz.capella.Withdrawal.defaultValue())
          }
        }
        expect(blockRoot(fork, block)).toEqual(ssz[fork].BeaconBlock.hashTreeRoot(block as never))
      },
    ),
    { numRuns: tries(20, 1_000) },
  )
})
