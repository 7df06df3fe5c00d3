import { AppError } from '../errors.ts'
import { bytesOfRow } from './columns.ts'
import { ADDRESS_BYTES, HASH_BYTES } from './execution-block.ts'
import type { ExecutionLogsData, LogColumns, LogPartColumns } from './execution-logs.ts'

/** Columns of one part before compression. Beside it an event has its header and what zstd adds to bytes it cannot compress: 1/256. */
const PART_BYTES_MAX = 1_000_000
/** A row without its topics and data: four numbers, two lengths, hash and address. */
const ROW_BYTES = 6 * 4 + HASH_BYTES + ADDRESS_BYTES

/** A row of a part: a log, and which of its data. */
interface Piece {
  readonly log: number
  readonly from: number
  readonly to: number
}

/** Splits a block's logs, in their order, into parts, each below the limit of an event; which log goes where does not depend on compression. */
export function splitLogs(logs: LogColumns): readonly LogPartColumns[] {
  const parts: Piece[][] = []
  let part: Piece[] = []
  let room = 0
  for (let log = 0; log < logs.logIndex.length; log++) {
    const total = dataOf(logs, log).length
    const fixed = ROW_BYTES + (logs.topics[log]?.length ?? 0)
    let from = 0
    do {
      const fits = fixed + total - from <= room
      // Only a log that no part could hold is cut, from the beginning of a part on.
      if (!fits) {
        part = []
        parts.push(part)
        room = PART_BYTES_MAX
      }
      const to = Math.min(total, from + room - fixed)
      part.push({ log, from, to })
      room -= fixed + to - from
      from = to
    } while (from < total)
  }
  return parts.map((pieces) => columnsOf(logs, pieces))
}

function columnsOf(logs: LogColumns, pieces: readonly Piece[]): LogPartColumns {
  const rows = pieces.map(({ log, from, to }) => ({
    columns: logs,
    row: log,
    data: dataOf(logs, log).subarray(from, to),
  }))
  return {
    ...gather(rows),
    dataOffset: Uint32Array.from(pieces, ({ from }) => from),
    dataTotal: Uint32Array.from(pieces, ({ log }) => dataOf(logs, log).length),
  }
}

const NO_BYTES = new Uint8Array(0)

function dataOf(logs: LogColumns, row: number): Uint8Array {
  return logs.data[row] ?? NO_BYTES
}

/** A row of some columns, with data of its own. */
interface SourceRow {
  readonly columns: LogColumns
  readonly row: number
  readonly data: Uint8Array
}

function gather(rows: readonly SourceRow[]): LogColumns {
  const transactionHash = new Uint8Array(rows.length * HASH_BYTES)
  const address = new Uint8Array(rows.length * ADDRESS_BYTES)
  rows.forEach(({ columns, row }, to) => {
    transactionHash.set(bytesOfRow(columns.transactionHash, row, HASH_BYTES), to * HASH_BYTES)
    address.set(bytesOfRow(columns.address, row, ADDRESS_BYTES), to * ADDRESS_BYTES)
  })
  return {
    logIndex: Uint32Array.from(rows, ({ columns, row }) => columns.logIndex[row] ?? 0),
    transactionIndex: Uint32Array.from(rows, ({ columns, row }) => columns.transactionIndex[row] ?? 0),
    transactionHash,
    address,
    topics: rows.map(({ columns, row }) => columns.topics[row] ?? NO_BYTES),
    data: rows.map(({ data }) => data),
  }
}

/**
 * The logs of one block from its parts, which may come in any order and more than once; undefined while one is missing.
 * Throws AppError `undecodable` for parts that are not of one block, or pieces that do not make whole logs.
 */
export function joinLogs(parts: readonly ExecutionLogsData[]): LogColumns | undefined {
  const [first] = parts
  if (first === undefined) return undefined
  const { chain, hash, parts: count } = first.header
  const byPart = new Map<number, LogPartColumns>()
  for (const { header, columns } of parts) {
    if (header.chain !== chain || header.hash !== hash || header.parts !== count || header.part >= count) {
      throw new AppError('undecodable', `part ${header.part} of ${header.hash} is none of the ${count} of ${hash}`)
    }
    byPart.set(header.part, columns)
  }
  if (byPart.size < count) return undefined
  const inOrder = [...byPart].sort(([a], [b]) => a - b).map(([, columns]) => columns)
  const logs = joinPieces(inOrder)
  return gather(logs.sort((a, b) => indexOf(a) - indexOf(b)))
}

function indexOf({ columns, row }: Pick<SourceRow, 'columns' | 'row'>): number {
  return columns.logIndex[row] ?? 0
}

/** The pieces of a log are rows one after the other, over the end of a part too. */
function joinPieces(parts: readonly LogPartColumns[]): SourceRow[] {
  const logs: SourceRow[] = []
  let pieces: Uint8Array[] = []
  let begin: Pick<SourceRow, 'columns' | 'row'> | undefined
  let bytes = 0
  for (const columns of parts) {
    for (let row = 0; row < columns.logIndex.length; row++) {
      begin ??= { columns, row }
      const index = columns.logIndex[row]
      if (columns.dataOffset[row] !== bytes || index !== indexOf(begin)) {
        throw new AppError('undecodable', `log ${index} has no piece at ${bytes}`)
      }
      const piece = dataOf(columns, row)
      pieces.push(piece)
      bytes += piece.length
      if (bytes < (columns.dataTotal[row] ?? 0)) continue
      logs.push({ ...begin, data: pieces.length === 1 ? piece : new Uint8Array(Buffer.concat(pieces)) })
      pieces = []
      begin = undefined
      bytes = 0
    }
  }
  if (begin !== undefined) throw new AppError('undecodable', `log ${indexOf(begin)} has no end`)
  return logs
}
