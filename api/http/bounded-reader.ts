import type { QueryLimits, QueryParams, WarehouseReader } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'

/**
 * The warehouse with an end for each query: one that hangs, whatever the engine does about it, fails those who wait for it after
 * so many milliseconds, and holds up nobody after them. Rejects with AppError `warehouse` then.
 */
export function boundedReader(warehouse: WarehouseReader, timeMs: number): WarehouseReader {
  return {
    async query<Row>(sql: string, params?: QueryParams, limits: QueryLimits = {}): Promise<Row[]> {
      const late = new AbortController()
      const { promise, reject } = Promise.withResolvers<never>()
      const timer = setTimeout(() => {
        late.abort(
          new AppError('warehouse', `The warehouse has not answered within ${timeMs} ms.`, { retryable: true }),
        )
        reject(late.signal.reason)
      }, timeMs)
      const signal = limits.signal === undefined ? late.signal : AbortSignal.any([limits.signal, late.signal])
      try {
        return await Promise.race([warehouse.query<Row>(sql, params, { ...limits, signal }), promise])
      } finally {
        clearTimeout(timer)
      }
    },
  }
}
