import { earlyFormOf } from '../../schemas/eth/early-nfts.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { decodeTransfers, type RawLog, type TokenTransfer, type TransferLog } from '../../schemas/eth/nft-transfers.ts'
import { WORD_BYTES } from '../../schemas/eth/words.ts'
import { bytesOfRow } from '../../schemas/events/columns.ts'
import { ADDRESS_BYTES, HASH_BYTES } from '../../schemas/events/execution-block.ts'
import type { ExecutionLogsData } from '../../schemas/events/execution-logs.ts'
import { constantColumn, type TableRows, textColumn } from '../loop/rows.ts'

/**
 * Tokens of one range (ERC-2309) that are told one by one: what OpenZeppelin lets a contract make at once, and a good deal more. A log
 * costs its sender the same for three tokens and for 2^255.
 */
export const RANGE_TOKENS_MAX = 10_000
/** The same of all ranges of an event, which has room for thousands of such logs. */
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
  let rangeTokens = 0
  for (let row = 0; row < part.columns.logIndex.length; row++) {
    const read = readRow(part, row)
    if (read.kind === 'other') continue
    const refuse = (reason: OddReason) => odd.push({ row, event: read.event, reason })
    if (read.kind === 'odd') {
      refuse(read.reason)
      continue
    }
    const range = read.event === RANGE ? rangeLength(read.transfers[0]) : 0
    if (range > RANGE_TOKENS_MAX || rangeTokens + range > RANGES_TOKENS_MAX) {
      refuse('long_range')
      continue
    }
    rangeTokens += range
    for (const [place, transfer] of read.transfers.entries()) {
      const tokens = read.event === RANGE ? range : 1
      for (let i = 0; i < tokens; i++) moves.push({ row, log: read, transfer, batchIndex: place + i, inRange: i })
    }
  }
  return [moveColumns(part, withoutTwiceTold(part, moves), version), oddColumns(part, odd, version)]
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
  const early = earlyFormOf(addressOf(part, row))
  const before = early === undefined ? undefined : logBefore(part, row)
  const read = decodeTransfers(log, { early, before })
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

/** What the same contract logged before it in the same transaction, of what is kept. */
function logBefore(part: ExecutionLogsData, row: number): RawLog | undefined {
  const { transactionIndex } = part.columns
  for (let before = row - 1; before >= 0 && transactionIndex[before] === transactionIndex[row]; before--) {
    if (Buffer.compare(addressOf(part, before), addressOf(part, row)) === 0) return rawLog(part, before)
  }
  return undefined
}

/** How many tokens a range is of, whose last one is none below its first; Infinity where nobody could count them. */
function rangeLength(range: TokenTransfer | undefined): number {
  if (range === undefined) return 0
  const [first, last] = [range.tokenId, range.lastTokenId].map((word) => ({
    above: word.subarray(0, LOW_AT),
    low: lowOf(word, 0),
  })) as [LowAndAbove, LowAndAbove]
  return Buffer.compare(first.above, last.above) === 0 ? last.low - first.low + 1 : Number.POSITIVE_INFINITY
}

interface LowAndAbove {
  readonly above: Uint8Array
  readonly low: number
}

/** Where the lowest 32 bits of a word begin. */
const LOW_AT = WORD_BYTES - 4

function lowOf(words: Uint8Array, row: number): number {
  return new DataView(words.buffer, words.byteOffset).getUint32(row * WORD_BYTES + LOW_AT)
}

/** A number of a range: as it is below the last one, nothing is carried beyond 32 bits. */
function addToLow(words: Uint8Array, row: number, add: number): void {
  const view = new DataView(words.buffer, words.byteOffset)
  view.setUint32(row * WORD_BYTES + LOW_AT, lowOf(words, row) + add)
}

/**
 * A mint that is told token by token and as a range, as some contracts do, is one mint: of the range is left out what the same
 * transaction tells of its own.
 */
function withoutTwiceTold(part: ExecutionLogsData, moves: readonly Move[]): readonly Move[] {
  if (!moves.some(({ log }) => log.event === RANGE)) return moves
  const nameOf = ({ row, transfer, inRange }: Move): string => {
    const token = new Uint8Array(transfer.tokenId)
    addToLow(token, 0, inRange)
    const bytes = [addressOf(part, row), transfer.from, transfer.to, token]
    return `${part.columns.transactionIndex[row]} ${Buffer.concat(bytes).toString('hex')}`
  }
  const single = new Set(moves.filter(({ log }) => log.event === 'Transfer').map(nameOf))
  return single.size === 0 ? moves : moves.filter((move) => move.log.event !== RANGE || !single.has(nameOf(move)))
}

function moveColumns(part: ExecutionLogsData, moves: readonly Move[], version: bigint): TableRows {
  const { header, columns } = part
  const rows = moves.length
  const tokenId = packed(moves, WORD_BYTES, ({ transfer }) => transfer.tokenId)
  for (const [row, { inRange }] of moves.entries()) if (inRange > 0) addToLow(tokenId, row, inRange)
  return {
    table: 'nft_transfers',
    columns: {
      chain: textColumn(rows, header.chain),
      block_number: constantColumn(rows, BigInt(header.number)),
      block_hash: repeated(bytesOf(header.hash), rows),
      log_index: Uint32Array.from(moves, ({ row }) => columns.logIndex[row] as number),
      batch_index: Uint32Array.from(moves, ({ batchIndex }) => batchIndex),
      time: new Uint32Array(rows).fill(header.timestampSec),
      transaction_index: Uint32Array.from(moves, ({ row }) => columns.transactionIndex[row] as number),
      transaction_hash: packed(moves, HASH_BYTES, ({ row }) => bytesOfRow(columns.transactionHash, row, HASH_BYTES)),
      contract: packed(moves, ADDRESS_BYTES, ({ row }) => addressOf(part, row)),
      standard: moves.map(({ log }) => log.standard),
      event: moves.map(({ log }) => log.event),
      from_address: packed(moves, ADDRESS_BYTES, ({ transfer }) => transfer.from),
      to_address: packed(moves, ADDRESS_BYTES, ({ transfer }) => transfer.to),
      token_id: tokenId,
      // The warehouse has its numbers little-endian.
      amount: packed(moves, WORD_BYTES, ({ transfer }) => transfer.amount.toReversed()),
      version: constantColumn(rows, version),
    },
  }
}

function oddColumns(part: ExecutionLogsData, odd: readonly Odd[], version: bigint): TableRows {
  const { header, columns } = part
  const rows = odd.length
  return {
    table: 'nft_odd_logs',
    columns: {
      chain: textColumn(rows, header.chain),
      block_number: constantColumn(rows, BigInt(header.number)),
      block_hash: repeated(bytesOf(header.hash), rows),
      log_index: Uint32Array.from(odd, ({ row }) => columns.logIndex[row] as number),
      contract: packed(odd, ADDRESS_BYTES, ({ row }) => addressOf(part, row)),
      event: odd.map(({ event }) => event),
      reason: odd.map(({ reason }) => reason),
      version: constantColumn(rows, version),
    },
  }
}

/** A column of bytes of one width. */
function packed<Item>(items: readonly Item[], width: number, bytesOf: (item: Item) => Uint8Array): Uint8Array {
  const column = new Uint8Array(items.length * width)
  for (const [row, item] of items.entries()) column.set(bytesOf(item), row * width)
  return column
}

function repeated(bytes: Uint8Array, rows: number): Uint8Array {
  return packed(new Array<null>(rows).fill(null), bytes.length, () => bytes)
}
