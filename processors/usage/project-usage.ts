import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { AppError } from '../../schemas/errors.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { usageCounted } from '../../schemas/events/usage.ts'
import { TIME_BUCKETS } from '../../schemas/usage-times.ts'
import { constantColumn, type Projected, textColumn, versionOf } from '../loop/rows.ts'

const TIMES_BYTES = TIME_BUCKETS * Uint32Array.BYTES_PER_ELEMENT
const HASH_BYTES = 32

/** What a process has counted of a minute becomes that process's rows of it: told again, they replace the former ones. */
export function projectUsage({ event, position }: StoredEvent): Projected {
  const { header, columns } = decodeEvent(usageCounted, event)
  const { account, tokenHash, place, method, status, times, ...counts } = columns
  const rows = status.length
  const texts = (column: readonly Uint8Array[]) => column.map((bytes) => Buffer.from(bytes).toString())
  const places = texts(place).map((text) => text.split('/'))
  if (times.some(({ length }) => length !== TIMES_BYTES))
    throw new AppError('undecodable', `times of usage are not of ${TIME_BUCKETS} buckets`)
  return {
    rows: [
      {
        table: 'usage_minutes',
        columns: {
          account: texts(account),
          minute: new Uint32Array(rows).fill(header.minuteSec),
          token_hash: Array.from({ length: rows }, (_, row) =>
            Buffer.from(tokenHash.subarray(row * HASH_BYTES, (row + 1) * HASH_BYTES)).toString('hex'),
          ),
          protocol: places.map(([protocol = '']) => protocol),
          network: places.map(([, network = '']) => network),
          method: texts(method),
          status: Uint16Array.from(status),
          writer: textColumn(rows, header.writer),
          calls: counts.calls,
          billed: counts.billed,
          request_bytes: counts.requestBytes,
          answer_bytes: counts.answerBytes,
          pushes: counts.pushes,
          time_us: counts.timeUs,
          times: Buffer.concat(times),
          version: constantColumn(rows, versionOf(position)),
        },
      },
    ],
  }
}
