import { earlyFormOf } from '../../schemas/eth/early-nfts.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import {
  decodeTransfers,
  type LogOrigin,
  type RawLog,
  TOKEN_STANDARDS,
  type TokenTransfer,
  TRANSFER_EVENTS,
  type TransferLog,
} from '../../schemas/eth/nft-transfers.ts'
import { toBigInt, WORD_BYTES } from '../../schemas/eth/words.ts'
import { bytesOfRow } from '../../schemas/events/columns.ts'
import { ADDRESS_BYTES, HASH_BYTES } from '../../schemas/events/execution-block.ts'
import type { ExecutionLogsData } from '../../schemas/events/execution-logs.ts'
import { CodedTexts } from '../../schemas/tables/coded-texts.ts'
import { bytesColumn, uint32Column } from '../loop/column-memory.ts'
import { constantColumn, noRows, type TableRows, textColumn } from '../loop/rows.ts'

/**
 * Tokens of one range (ERC-2309) that are told one by one: what OpenZeppelin lets a contract make at once, and a good deal more. A log
 * costs its sender the same for three tokens and for 2^255.
 */
export const RANGE_TOKENS_MAX = 10_000
/**
 * The same of all ranges of an event, which has room for thousands of such logs: those of contracts with the fewest tokens first. An event
 * becomes rows at one go, for which nobody has to wait long.
 */
export const RANGES_TOKENS_MAX = 200_000

const RANGE = 'ConsecutiveTransfer'

type OddReason =
  /** Not the form that its event has. */
  | 'malformed'
  /** In several pieces: longer than an event of the log. */
  | 'too_long'
  /** A range of more tokens than are told. */
  | 'long_range'

/** Rows of `nft_transfers`, and of logs of which nothing could be made, among a part's logs. */
export function transferRows(part: ExecutionLogsData, version: bigint): readonly TableRows[] {
  const moves: Move[] = []
  const odd: Odd[] = []
  const reads = Array.from(part.columns.logIndex, (_, row) => readRow(part, row))
  const tokensOf = toldRanges(part, reads)
  for (const [row, read] of reads.entries()) {
    if (read.kind === 'other') continue
    if (read.kind === 'odd') {
      odd.push({ row, event: read.event, reason: read.reason })
      continue
    }
    const tokens = read.event === RANGE ? tokensOf.get(row) : 1
    if (tokens === undefined) {
      odd.push({ row, event: read.event, reason: 'long_range' })
      continue
    }
    for (let place = 0; place < read.transfers.length; place++) {
      const transfer = read.transfers[place] as TokenTransfer
      for (let i = 0; i < tokens; i++) moves.push({ row, log: read, transfer, batchIndex: place + i, inRange: i })
    }
  }
  return [moveColumns(part, moves, version), oddColumns(part, odd, version)]
}

interface RangesOfContract {
  tokens: number
  readonly ranges: { readonly row: number; readonly tokens: number }[]
}

/** How many tokens each range is of that is told, by its row: a contract that makes many takes no place of those that make few. */
function toldRanges(part: ExecutionLogsData, reads: readonly Read[]): ReadonlyMap<number, number> {
  const ofContracts = new Map<string, RangesOfContract>()
  for (const [row, read] of reads.entries()) {
    if (read.kind !== 'transfers' || read.event !== RANGE) continue
    const tokens = rangeLength(read.transfers[0])
    if (tokens > RANGE_TOKENS_MAX) continue
    const contract = Buffer.from(addressOf(part, row)).toString('hex')
    const made = ofContracts.get(contract) ?? { tokens: 0, ranges: [] }
    ofContracts.set(contract, made)
    made.tokens += tokens
    made.ranges.push({ row, tokens })
  }
  const told = new Map<number, number>()
  let left = RANGES_TOKENS_MAX
  for (const { ranges } of [...ofContracts.values()].sort((one, other) => one.tokens - other.tokens)) {
    for (const { row, tokens } of ranges) {
      if (tokens > left) continue
      told.set(row, tokens)
      left -= tokens
    }
  }
  return told
}

type Transfers = Extract<TransferLog, { kind: 'transfers' }>

/** One token that went from one address to another. */
interface Move {
  /** Of the part. */
  readonly row: number
  readonly log: Transfers
  readonly transfer: TokenTransfer
  readonly batchIndex: number
  /** Which one of a range, from 0 on. */
  readonly inRange: number
}

interface Odd {
  readonly row: number
  readonly event: string
  readonly reason: OddReason
}

type Read =
  | Transfers
  | { readonly kind: 'odd'; readonly event: string; readonly reason: OddReason }
  | { readonly kind: 'other' }

function readRow(part: ExecutionLogsData, row: number): Read {
  const { dataOffset, dataTotal } = part.columns
  const log = rawLog(part, row)
  const read = decodeTransfers(log, originOf(part, row))
  if (read.kind === 'other') return read
  if (dataTotal[row] === log.data.length)
    return read.kind === 'malformed' ? { kind: 'odd', event: read.event, reason: 'malformed' } : read
  // Its first piece tells of it.
  return dataOffset[row] === 0 ? { kind: 'odd', event: read.event, reason: 'too_long' } : { kind: 'other' }
}

function rawLog({ columns }: ExecutionLogsData, row: number): RawLog {
  return { topics: columns.topics[row] as Uint8Array, data: columns.data[row] as Uint8Array }
}

function addressOf({ columns }: ExecutionLogsData, row: number): Uint8Array {
  return bytesOfRow(columns.address, row, ADDRESS_BYTES)
}

const OF_STANDARD: LogOrigin = { early: undefined, before: undefined, isCutOff: false }

function originOf(part: ExecutionLogsData, row: number): LogOrigin {
  const early = earlyFormOf(addressOf(part, row))
  if (early === undefined) return OF_STANDARD
  const { header, columns } = part
  const { transactionIndex } = columns
  const isOfSame = (other: number) => transactionIndex[other] === transactionIndex[row]
  const [before, behind] = [neighbour(part, row, -1), neighbour(part, row, 1)]
  // A transaction goes on from part to part where it is that of the first row, or of the last one.
  const beginsElsewhere = header.part > 0 && isOfSame(0)
  return {
    early,
    before: before === undefined && beginsElsewhere ? 'elsewhere' : before,
    isCutOff: behind === undefined && header.part + 1 < header.parts && isOfSame(transactionIndex.length - 1),
  }
}

/** What the same contract logged last before it (`step` -1), or first behind it (1), in the same transaction, of what the part has. */
function neighbour(part: ExecutionLogsData, row: number, step: -1 | 1): RawLog | undefined {
  const { transactionIndex } = part.columns
  for (let other = row + step; transactionIndex[other] === transactionIndex[row]; other += step) {
    if (Buffer.compare(addressOf(part, other), addressOf(part, row)) === 0) return rawLog(part, other)
  }
  return undefined
}

/** How many tokens a range is of, whose last one is none below its first. A float beyond 2^53, far above what is told. */
function rangeLength(range: TokenTransfer | undefined): number {
  return range === undefined ? 0 : Number(toBigInt(range.lastTokenId) - toBigInt(range.tokenId) + 1n)
}

/** Adds to a number of a range, which is below the last one: what is carried ends within its word. */
function addToWord(words: Uint8Array, row: number, add: number): void {
  let carried = add
  for (let at = (row + 1) * WORD_BYTES - 1; carried > 0; at--) {
    carried += words[at] as number
    words[at] = carried & 0xff
    carried >>>= 8
  }
}

function moveColumns(part: ExecutionLogsData, moves: readonly Move[], version: bigint): TableRows {
  const rows = moves.length
  if (rows === 0) return noRows('nft_transfers')
  const { header, columns } = part
  const bytes = (width: number) => bytesColumn(rows * width)
  const [logIndex, batchIndex, transactionIndex] = [uint32Column(rows), uint32Column(rows), uint32Column(rows)]
  const [contract, from, to] = [bytes(ADDRESS_BYTES), bytes(ADDRESS_BYTES), bytes(ADDRESS_BYTES)]
  const [transactionHash, tokenId, amount] = [bytes(HASH_BYTES), bytes(WORD_BYTES), bytes(WORD_BYTES)]
  const [standard, event] = [bytes(1), bytes(1)]
  for (let i = 0; i < rows; i++) {
    const { row, log, transfer, batchIndex: place, inRange } = moves[i] as Move
    logIndex[i] = columns.logIndex[row] as number
    batchIndex[i] = place
    transactionIndex[i] = columns.transactionIndex[row] as number
    copyRow(columns.transactionHash, row * HASH_BYTES, transactionHash, i * HASH_BYTES, HASH_BYTES)
    copyRow(columns.address, row * ADDRESS_BYTES, contract, i * ADDRESS_BYTES, ADDRESS_BYTES)
    copyRow(transfer.from, 0, from, i * ADDRESS_BYTES, ADDRESS_BYTES)
    copyRow(transfer.to, 0, to, i * ADDRESS_BYTES, ADDRESS_BYTES)
    copyRow(transfer.tokenId, 0, tokenId, i * WORD_BYTES, WORD_BYTES)
    if (inRange > 0) addToWord(tokenId, i, inRange)
    // The warehouse has its numbers little-endian.
    for (let byte = 0, last = (i + 1) * WORD_BYTES - 1; byte < WORD_BYTES; byte++)
      amount[last - byte] = transfer.amount[byte] as number
    standard[i] = TOKEN_STANDARDS.indexOf(log.standard)
    event[i] = TRANSFER_EVENTS.indexOf(log.event)
  }
  return {
    table: 'nft_transfers',
    columns: {
      chain: textColumn(rows, header.chain),
      block_number: constantColumn(rows, BigInt(header.number)),
      block_hash: repeated(bytesOf(header.hash), rows),
      log_index: logIndex,
      batch_index: batchIndex,
      time: uint32Column(rows).fill(header.timestampSec),
      transaction_index: transactionIndex,
      transaction_hash: transactionHash,
      contract,
      standard: new CodedTexts(TOKEN_STANDARDS, standard),
      event: new CodedTexts(TRANSFER_EVENTS, event),
      from_address: from,
      to_address: to,
      token_id: tokenId,
      amount,
      version: constantColumn(rows, version),
    },
  }
}

/** So few bytes are copied faster one by one than by a view. */
function copyRow(source: Uint8Array, at: number, target: Uint8Array, to: number, bytes: number): void {
  for (let i = 0; i < bytes; i++) target[to + i] = source[at + i] as number
}

function oddColumns(part: ExecutionLogsData, odd: readonly Odd[], version: bigint): TableRows {
  const { header, columns } = part
  const rows = odd.length
  if (rows === 0) return noRows('nft_odd_logs')
  const contract = new Uint8Array(rows * ADDRESS_BYTES)
  for (const [i, { row }] of odd.entries())
    copyRow(columns.address, row * ADDRESS_BYTES, contract, i * ADDRESS_BYTES, ADDRESS_BYTES)
  return {
    table: 'nft_odd_logs',
    columns: {
      chain: textColumn(rows, header.chain),
      block_number: constantColumn(rows, BigInt(header.number)),
      block_hash: repeated(bytesOf(header.hash), rows),
      log_index: Uint32Array.from(odd, ({ row }) => columns.logIndex[row] as number),
      contract,
      event: odd.map(({ event }) => event),
      reason: odd.map(({ reason }) => reason),
      version: constantColumn(rows, version),
    },
  }
}

function repeated(bytes: Uint8Array, rows: number): Uint8Array {
  const column = bytesColumn(rows * bytes.length)
  for (let row = 0; row < rows; row++) column.set(bytes, row * bytes.length)
  return column
}
