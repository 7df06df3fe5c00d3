import { type Column, type HistoryColumns, type HistoryRows, type Item, keyName, valueName } from './history-rows.ts'

// Rows as 32-bit words, as `queryWords` has them: thousands of them, of which few are told.

const WORD = 4
const LONG = 8
const HASH = 32
const BLOCK_NUMBER: Column = { name: 'block_number', kind: 'unsigned', bytes: LONG }

/** All columns of a row. */
export function wordColumns({ keys, amounts, values }: HistoryColumns): string {
  const ofKeys = keys.map(({ name, kind, bytes }) => (kind === 'text' ? `toFixedString(${name}, ${bytes})` : name))
  return [...ofKeys, BLOCK_NUMBER.name, 'block_hash', ...[...amounts, ...values].map(({ name }) => name)].join(', ')
}

interface WordRows extends HistoryRows {
  /** Bytes of a row. */
  readonly width: number
}

/** `before`: bytes of a row that come before these columns. */
export function wordRows(columns: HistoryColumns, words: Uint32Array, before = 0): WordRows {
  const bytes = Buffer.from(words.buffer, words.byteOffset, words.byteLength)
  const { keys, amounts, values } = columns
  // Where they begin in a row.
  const number = before + widthOf(keys)
  const hash = number + BLOCK_NUMBER.bytes
  const amount = hash + HASH
  const value = amount + widthOf(amounts)
  const width = value + widthOf(values)
  const ofKeys = placed(before, keys, keyName)
  const told = [
    ...ofKeys,
    ...placed(number, [BLOCK_NUMBER], valueName),
    ...placed(amount, [...amounts, ...values], valueName),
  ]
  return {
    width,
    count: bytes.length / width,
    beginsKey: (row) => {
      const [from, to] = [(row * width + before) / WORD, (row * width + number) / WORD]
      for (let at = from; at < to; at++) if (words[at] !== words[at - width / WORD]) return true
      return false
    },
    numberOf: (row) => Number(bytes.readBigUInt64LE(row * width + number)),
    hashOf: (row) => bytes.toString('hex', row * width + hash, row * width + amount).toUpperCase(),
    keyOf: (row) => ofKeys.map(({ column, at }) => textOf(column, bytes, row * width + at)),
    itemOf: (row) => {
      const amountWords = words.subarray((row * width + amount) / WORD, (row * width + value) / WORD)
      if (amountWords.every((word) => word === 0)) return undefined
      const item: Record<string, string> = {}
      for (const { name, column, at } of told) item[name] = textOf(column, bytes, row * width + at)
      return columns.holds(item as Item) ? (item as Item) : undefined
    },
  }
}

/** Values of the first columns of a sort key, bytes as hex with 0x, as rows have them: of bytes and texts these are in the order of the values. */
export function keyBytes(keys: readonly Column[], key: readonly string[]): Buffer {
  const pieces = keys.map(({ kind, bytes }, i) => {
    const value = key[i] ?? ''
    const own = kind === 'text' ? Buffer.from(value, 'latin1') : Buffer.from(value.slice(2), 'hex')
    return Buffer.concat([own], bytes)
  })
  return Buffer.concat(pieces)
}

const widthOf = (columns: readonly Column[]): number => columns.reduce((sum, { bytes }) => sum + bytes, 0)

interface Placed {
  /** In an item. */
  readonly name: string
  readonly column: Column
  /** Bytes from the beginning of a row. */
  readonly at: number
}

function placed(from: number, columns: readonly Column[], nameOf: (column: Column) => string): readonly Placed[] {
  return columns.map((column, i) => ({ name: nameOf(column), column, at: from + widthOf(columns.slice(0, i)) }))
}

function textOf({ kind, bytes: width }: Column, bytes: Buffer, at: number): string {
  switch (kind) {
    case 'bytes':
      return `0x${bytes.toString('hex', at, at + width)}`
    case 'text':
      return bytes.toString('latin1', at, at + width).replace(/\0+$/, '')
    case 'time':
      return String(bytes.readUInt32LE(at))
    case 'signed':
      return String(bytes.readBigInt64LE(at))
    case 'unsigned': {
      let value = 0n
      for (let long = at + width - LONG; long >= at; long -= LONG) value = (value << 64n) | bytes.readBigUInt64LE(long)
      return String(value)
    }
  }
}
