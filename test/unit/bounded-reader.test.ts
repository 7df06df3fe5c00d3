import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { boundedReader } from '../../api/http/bounded-reader.ts'
import type { QueryLimits, WarehouseReader } from '../../infra/ports/warehouse.ts'

/** A warehouse that never answers, and what its queries are told. */
function hangingWarehouse() {
  const told: QueryLimits[] = []
  const warehouse: WarehouseReader = {
    query: (_sql, _params, limits = {}) => {
      told.push(limits)
      const { promise, reject } = Promise.withResolvers<never>()
      limits.signal?.addEventListener('abort', () => reject(limits.signal?.reason), { once: true })
      return promise
    },
  }
  return { warehouse, told }
}

test('a query that hangs fails, and is told to end', async () => {
  const { warehouse, told } = hangingWarehouse()
  const asked = boundedReader(warehouse, 20).query('SELECT 1', {}, { rowsReadMax: 7 })
  await expect(asked).rejects.toMatchObject({ code: 'warehouse', retryable: true })
  expect(told).toMatchObject([{ rowsReadMax: 7, signal: { aborted: true } }])
})

test('a query ends when its asker is gone, before it begins and while it runs', async () => {
  const { warehouse, told } = hangingWarehouse()
  const bounded = boundedReader(warehouse, 60_000)
  const gone = new AbortController()
  const asked = bounded.query('SELECT 1', {}, { signal: gone.signal })
  gone.abort(new Error('gone'))
  await expect(asked).rejects.toThrow('gone')
  expect(told[0]?.signal?.reason).toBe(gone.signal.reason)
  bounded.query('SELECT 2', {}, { signal: gone.signal }).catch(() => {})
  expect(told[1]?.signal?.aborted).toBe(true)
})

test('nothing is left on the signal of an asker who asks much', async () => {
  const { signal } = new AbortController()
  const bounded = boundedReader({ query: async () => [] }, 60_000)
  for (let time = 0; time < 20; time++) await bounded.query('SELECT 1', {}, { signal })
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})
