import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../../infra/ports/log.ts'
import type { Completeness } from '../../schemas/routes/rewards/completeness.ts'
import { CSV_MEDIA_TYPE, type CsvForm, TAX_MEDIA_TYPE } from '../../schemas/routes/route.ts'
import { columnsOf, headerLine, rowLine, taxHeaderLine, taxLine } from './csv.ts'
import type { Report } from './operation.ts'

/** Until a report has been read and taken: a client that takes it slowly holds a piece of it, and nothing else. */
export const REPORT_MS_MAX = 20 * 60_000

interface Sending {
  readonly report: Report
  readonly csv: CsvForm
  readonly form: 'csv' | 'tax'
  /** Aborts when the client is gone, the time is over, or the API closes. */
  readonly signal: AbortSignal
  readonly log: Log
}

/** Streams a report: its rows are read as the client takes them. What fails on the way breaks the answer off: it never looks whole. */
export function sendReport(request: FastifyRequest, reply: FastifyReply, sending: Sending): FastifyReply {
  const { report, form, signal } = sending
  if (report.completeness !== undefined) reply.header('x-completeness', coverOf(report.completeness))
  const lines = Readable.from(request.method === 'HEAD' ? [] : told(request, sending), { signal })
  // Whoever writes it out hears of its end, too; until then nobody else does.
  lines.on('error', () => {})
  // A compressor would hold back the first lines, and with them the status: a failure would come as another one, in its coding.
  request.headers['x-no-compression'] = ''
  return reply
    .header('content-type', `${form === 'csv' ? CSV_MEDIA_TYPE : TAX_MEDIA_TYPE}; charset=utf-8; header=present`)
    .header('cache-control', 'private, no-store')
    .send(lines)
}

/** A structured field (RFC 9651). */
function coverOf({ state, final_through, not_final_from }: Completeness): string {
  const through = final_through === null ? '' : `, final_through="${final_through}"`
  return `state=${state}${through}${not_final_from === null ? '' : `, not_final_from="${not_final_from}"`}`
}

async function* told(request: FastifyRequest, sending: Sending): AsyncGenerator<string> {
  try {
    yield* linesOf(sending)
  } catch (error) {
    if (!sending.signal.aborted) {
      // Its status is out already: nothing else tells that we have failed.
      request.bill?.failed(500)
      sending.log.error({ requestId: request.id, route: request.routeOptions.url, err: error }, 'a report broke off')
    }
    throw error
  }
}

async function* linesOf({ report: { rows, toTaxEntries }, csv, form, signal }: Sending): AsyncGenerator<string> {
  const columns = columnsOf(csv.row)
  const lineOf =
    form === 'csv' || toTaxEntries === undefined
      ? (row: object) => rowLine(columns, row)
      : (row: object) => toTaxEntries(row).map(taxLine).join('')
  yield form === 'csv' ? headerLine(columns) : taxHeaderLine()
  const pieces = eachOf(rows)
  const end = endOf(signal)
  for (;;) {
    // What others read as well goes on; nobody here waits for it.
    const { done, value } = await Promise.race([pieces.next(), end])
    if (done === true) return
    yield value.map(lineOf).join('')
  }
}

async function* eachOf(rows: Report['rows']): AsyncGenerator<readonly object[], void> {
  yield* rows
}

/** Rejects with the signal's reason when it aborts. */
function endOf(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  promise.catch(() => {}) // whoever waits hears of it
  return promise
}
