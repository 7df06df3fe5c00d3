import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Gathering } from '../../processors/gathering.ts'
import { AppError } from '../../schemas/errors.ts'

describe('gathered work', () => {
  it('is done of all that is asked for in one breath, and of all that is asked for while it is busy', async () => {
    const runs: (readonly number[])[] = []
    const first = Promise.withResolvers<void>()
    const work = new Gathering<number>(async (items) => {
      runs.push(items)
      if (runs.length === 1) await first.promise
    })
    const asked = [work.do(1), work.do(2)]
    await setImmediate()
    asked.push(work.do(3), work.do(1))
    await setImmediate()
    expect(runs).toEqual([[1, 2]])
    first.resolve()
    await Promise.all(asked)
    await work.do(4)
    expect(runs).toEqual([[1, 2], [3, 1], [4]])
  })

  it('fails for whom it fails alone', async () => {
    const runs: (readonly number[])[] = []
    const work = new Gathering<number>(async (items) => {
      runs.push(items)
      if (items.includes(2)) throw new Error(`not of ${items}`)
    })
    const results = await Promise.allSettled([work.do(1), work.do(2), work.do(3)])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(results[1]).toMatchObject({ reason: new Error('not of 2') })
    expect(runs).toEqual([[1, 2, 3], [1], [2], [3]])
    await work.do(4)
  })

  it('fails for all behind whom it fails for as in an outage', async () => {
    const runs: (readonly number[])[] = []
    const work = new Gathering<number>(async (items) => {
      runs.push(items)
      if (items.includes(2)) throw new AppError('warehouse', 'away', { retryable: true })
    })
    const results = await Promise.allSettled([work.do(1), work.do(2), work.do(3)])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    expect(runs).toEqual([[1, 2, 3], [1], [2]])
    await work.do(3)
  })
})
