import type { QueryLimits, QueryParams, WarehouseReader, WordsReader } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'

/**
 * The warehouse with an end for each query: one that hangs, whatever the engine does about it, fails those who wait for it after
 * so many milliseconds, and holds up nobody after them. Rejects with AppError `warehouse` then.
 */
export function boundedReader(warehouse: WarehouseReader, timeMs: number): WarehouseReader {
  return {
    ...warehouse,
    query: <Row>(sql: string, params?: QueryParams, limits: QueryLimits = {}) =>
      bounded(timeMs, limits, (all) => warehouse.query<Row>(sql, params, all)),
  }
}

/** The same where rows are read as words, too. */
export function boundedWordsReader(warehouse: WordsReader, timeMs: number): WordsReader {
  return {
    ...boundedReader(warehouse, timeMs),
    queryWords: (sql, params, limits = {}) => bounded(timeMs, limits, (all) => warehouse.queryWords(sql, params, all)),
  }
}

const bounded = <Result>(timeMs: number, limits: QueryLimits, ask: (limits: QueryLimits) => Promise<Result>) =>
  within(timeMs, (late) => ask({ ...limits, signal: late }), limits.signal)

/**
 * The result of the work, whose signal aborts after so many milliseconds, and with another one. Rejects with AppError `warehouse` where it is
 * late. Not by `AbortSignal.any`: what hangs on such a signal lives until V8 looks through its whole heap.
 */
export async function within<Result>(
  timeMs: number,
  work: (late: AbortSignal) => Promise<Result>,
  other?: AbortSignal,
): Promise<Result> {
  const late = new AbortController()
  const end = (): void => late.abort(other?.reason)
  if (other?.aborted) end()
  other?.addEventListener('abort', end, { once: true })
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.abort(new AppError('warehouse', `What was asked for was not there within ${timeMs} ms.`, { retryable: true }))
    reject(late.signal.reason)
  }, timeMs)
  try {
    return await Promise.race([work(late.signal), promise])
  } finally {
    clearTimeout(timer)
    other?.removeEventListener('abort', end)
  }
}
