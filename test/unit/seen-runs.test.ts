import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SEEN_BY_INDICES, SEEN_BY_RELATION, type SeenDays, seenByParams } from '../../api/http/small-accounts.ts'
import { FAR_FUTURE_EPOCH } from '../../schemas/eth/far-future.ts'
import { indicesSql } from '../../schemas/tables/literals.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const stores = storesOfFile()
const warehouse = () => stores().warehouse

/** Ascending, each once: runs and gaps. */
const indices = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 60 }).map((steps) => {
  let index = -1
  return steps.map((step) => {
    index += step === 4 ? 3 : 1
    return index
  })
})

describe('validators of accounts as a relation', () => {
  it('are those that were given, with their days and what was told of each', async () => {
    const days = fc.constantFrom(
      [{ fromDay: 0, toDay: 9 }],
      [{ fromDay: 5, toDay: 9 }],
      [
        { fromDay: 0, toDay: 3 },
        { fromDay: 5, toDay: 9 },
      ],
    )
    const account = indices.chain((own) =>
      fc.tuple(...own.map((index) => days.map((intervals): SeenDays => ({ index, intervals })))),
    )
    const accounts = fc.array(account, { maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(accounts, async (given) => {
        const isOfFarFuture = (index: number) => index % 3 === 0
        const activeOf = (index: number, nth: number) => (isOfFarFuture(index) ? FAR_FUTURE_EPOCH : BigInt(nth))
        const params = seenByParams(given, activeOf)
        const order = 'ORDER BY nth, validator_index, from_day'
        const rows = await warehouse().query<object>(`SELECT * FROM ${SEEN_BY_RELATION} ${order}`, params)
        const expected = given.flatMap((own, nth) =>
          own.flatMap(({ index, intervals }) =>
            intervals.map(({ fromDay, toDay }) => {
              return {
                nth,
                validator_index: index,
                from_day: fromDay,
                to_day: toDay,
                active: isOfFarFuture(index) ? `${2 ** 32 - 1}` : `${nth}`,
              }
            }),
          ),
        )
        expect(rows).toEqual(expected)
        const set = await warehouse().query<{ i: number }>(
          `SELECT toUInt32(number) AS i FROM numbers(300) WHERE i IN ${SEEN_BY_INDICES} ORDER BY i`,
          params,
        )
        const all = new Set(given.flat().map(({ index }) => index))
        expect(set.map(({ i }) => i)).toEqual([...all].sort((one, other) => one - other))
      }),
      { numRuns: 30 },
    )
  })

  it('that follow on each other are one run', () => {
    const intervals = [{ fromDay: 0, toDay: 9 }]
    const own = [3, 4, 5, 9].map((index) => ({ index, intervals }))
    expect(seenByParams([own, own])).toMatchObject({
      seenNth: [0, 0, 1, 1],
      seenFirst: [3, 9, 3, 9],
      seenLast: [5, 9, 5, 9],
    })
  })
})

describe('a condition on indices', () => {
  it('holds for those that were given, of few runs and of many', async () => {
    await fc.assert(
      fc.asyncProperty(indices, async (given) => {
        const rows = await warehouse().query<{ i: number }>(
          `SELECT toUInt32(number) AS i FROM numbers(300) WHERE ${indicesSql('i', given)} ORDER BY i`,
        )
        expect(rows.map(({ i }) => i)).toEqual(given)
      }),
      { numRuns: 30 },
    )
  })

  it('is made of indices alone', () => {
    for (const index of [-1, 0.5, Number.NaN]) expect(() => indicesSql('i', [index])).toThrow(/not an index/)
  })
})
