import fc from 'fast-check'
import { expect, test } from 'vitest'
import { unexplainedChanges } from '../../ingest/epochs/told-residuals.ts'
import type { BalanceEffect } from '../../schemas/events/balance-effects.ts'
import { tries } from '../long-form.ts'

const INDEX_MAX = 12
const index = fc.integer({ min: 0, max: INDEX_MAX })
const gwei = fc.bigInt({ min: -(2n ** 40n), max: 2n ** 40n })
const row = fc.tuple(index, gwei)
/** At most a row for each validator. */
const table = fc
  .uniqueArray(row, { selector: ([validator]) => validator, maxLength: INDEX_MAX + 1 })
  .map((rows) => rows.toSorted(([one], [other]) => one - other))

const validatorIndex = (rows: readonly (readonly [number, ...unknown[]])[]) => Uint32Array.from(rows, ([one]) => one)
const column = (rows: readonly (readonly [number, bigint])[]) => BigInt64Array.from(rows, ([, amount]) => amount)

test('what is left of a change is the balance less everything that is told of its validator, whoever has rows', () => {
  const figures = fc.record({
    states: table,
    before: table,
    rewards: table,
    sync: fc.array(row),
    effects: fc.array(row),
  })
  fc.assert(
    fc.property(figures, ({ states, before, rewards, sync, effects }) => {
      const part = (times: bigint) => BigInt64Array.from(rewards, ([, amount]) => amount * times)
      const left = unexplainedChanges({
        states: {
          validatorIndex: validatorIndex(states),
          balanceGwei: column(states),
          slashed: new Uint8Array(states.length),
        },
        before: { validatorIndex: validatorIndex(before), balanceGwei: column(before) },
        attestations: {
          validatorIndex: validatorIndex(rewards),
          sourceGwei: part(1n),
          targetGwei: part(10n),
          headGwei: part(100n),
          inactivityGwei: part(-1_000n),
        },
        sync: {
          slotOffset: new Uint8Array(sync.length),
          validatorIndex: validatorIndex(sync),
          syncGwei: column(sync),
        },
        effects: effects.map(([validator, amount]): BalanceEffect => {
          return { kind: 'withdrawal', slot: 1, reference: 1, validatorIndex: validator, amountGwei: String(amount) }
        }),
      })
      const sumOf = (rows: readonly (readonly [number, bigint])[], validator: number) =>
        rows.reduce((sum, [of, amount]) => (of === validator ? sum + amount : sum), 0n)
      expect([...left]).toEqual(
        states.map(([of, after]) => {
          const told = sumOf(before, of) + (1n + 10n + 100n - 1_000n) * sumOf(rewards, of)
          return after - told - sumOf(sync, of) - sumOf(effects, of)
        }),
      )
    }),
    { numRuns: tries(300, 20_000) },
  )
})
