import { GWEI_PER_ETH } from '../../schemas/eth/units.ts'
import { type ColumnSlot, KIND_BOOL, KIND_ETH, KIND_I64, KIND_U32, KIND_U64 } from './columns.ts'
import { CLOSE_OBJECT, COLON, type JsonReader, OPEN_OBJECT, QUOTE, TWO_32 } from './json-reader.ts'
import { type ReadValue, RowLayout } from './row-layout.ts'
import type { Field, FieldTable } from './table-columns.ts'

const FIELDS_MAX = 30
/** An integer whose upper half is below this is exact in a double. */
const EXACT_HI = 2 ** 21

const latin1 = (text: string): Uint8Array => Buffer.from(text, 'latin1')

/** A key of an object as it is looked for in the bytes. */
type CompiledKey = CompiledField | CompiledNest

interface CompiledField {
  readonly text: string
  readonly bytes: Uint8Array
  readonly nested: undefined
  readonly slot: ColumnSlot
  readonly texts: readonly Uint8Array[]
}

interface CompiledNest {
  readonly text: string
  readonly bytes: Uint8Array
  readonly nested: CompiledObject
}

interface CompiledObject {
  readonly keys: readonly CompiledKey[]
  /** Bit per key; all must have been seen. */
  readonly complete: number
}

/** Reads rows into columns: key by key, or, when a row lies like the one before, by its layout. */
export class RowReader {
  readonly #shape: CompiledObject
  /** How the row lay that was read key by key last. */
  #layout: RowLayout | undefined
  readonly #values: ReadValue[] = []

  constructor(fields: FieldTable, slotOf: (name: string) => ColumnSlot) {
    this.#shape = compile(Object.entries(fields), slotOf)
  }

  /** Reads the row that stands here into `row` of the columns. */
  read(json: JsonReader, row: number): void {
    json.space()
    if (this.#layout?.read(json, row) === true) return
    const start = json.at
    this.#values.length = 0
    this.#object(json, this.#shape, row)
    this.#layout = new RowLayout(json.bytes, { start, end: json.at }, this.#values)
  }

  #object(json: JsonReader, shape: CompiledObject, row: number): void {
    json.expect(OPEN_OBJECT)
    json.space()
    let seen = 0
    let expected = 0 // nodes write the keys of all rows in one order, so the next one is tried first
    if (json.bytes[json.at] === CLOSE_OBJECT) json.fail('a row is empty')
    do {
      const found = findKey(json, shape, expected)
      json.expect(COLON)
      json.space()
      const start = json.at
      if (found === -1) {
        json.skipValue(0)
        this.#values.push({ start, end: json.at })
        continue
      }
      const bit = 1 << found
      if ((seen & bit) !== 0) json.fail(`a row has ${shape.keys[found]?.text} twice`)
      seen |= bit
      expected = found + 1
      const key = shape.keys[found] as CompiledKey
      if (key.nested !== undefined) {
        this.#object(json, key.nested, row)
        continue
      }
      const { slot, texts } = key
      readValue(json, key, row)
      this.#values.push({ start, end: json.at, slot, texts })
    } while (json.another(CLOSE_OBJECT))
    if (seen !== shape.complete) {
      json.fail(`a row has no ${shape.keys.find((_, i) => (seen & (1 << i)) === 0)?.text}`)
    }
  }
}

function compile(
  fields: readonly (readonly [name: string, Field])[],
  slotOf: (name: string) => ColumnSlot,
): CompiledObject {
  const own = fields.filter(([, field]) => field.in === undefined)
  const keys: CompiledKey[] = own.map(([name, { key, texts = [] }]) => {
    return { text: key, bytes: latin1(key), nested: undefined, slot: slotOf(name), texts: texts.map(latin1) }
  })
  for (const text of new Set(fields.flatMap(([, field]) => field.in ?? []))) {
    const inner = fields.filter(([, field]) => field.in === text)
    const nested = compile(
      inner.map(([name, { in: _, ...field }]) => [name, field]),
      slotOf,
    )
    keys.push({ text, bytes: latin1(text), nested })
  }
  if (keys.length > FIELDS_MAX) throw new Error(`a row has at most ${FIELDS_MAX} keys`)
  return { keys, complete: 2 ** keys.length - 1 }
}

/** Position of the key that stands here, -1 for one that nobody asked for. */
function findKey(json: JsonReader, shape: CompiledObject, expected: number): number {
  json.space()
  const bytes = json.bytes
  if (bytes[json.at] !== QUOTE) json.fail('a key is missing')
  const start = json.at + 1
  const guess = shape.keys[expected]
  if (guess !== undefined && json.isTextAt(start, guess.bytes)) {
    json.at = start + guess.bytes.length + 1
    return expected
  }
  for (let i = 0; i < shape.keys.length; i++) {
    const key = (shape.keys[i] as CompiledKey).bytes
    if (json.isTextAt(start, key)) {
      json.at = start + key.length + 1
      return i
    }
  }
  if (!json.skipString()) return -1
  json.at = start - 1
  const text = json.keyText() // may be one of ours, written with escapes
  return shape.keys.findIndex((key) => key.text === text)
}

function readValue(json: JsonReader, key: CompiledField, row: number): void {
  const { slot } = key
  switch (slot.kind) {
    case KIND_U32:
      json.integer(false)
      if (json.hi !== 0) json.fail(`${key.text} is too large`)
      slot.array[row] = json.lo
      return
    case KIND_U64:
      json.integer(false)
      slot.halves[2 * row] = json.lo
      slot.halves[2 * row + 1] = json.hi
      return
    case KIND_I64:
      json.integer(true)
      slot.halves[2 * row] = json.lo
      slot.halves[2 * row + 1] = json.hi
      return
    case KIND_ETH: {
      json.integer(false)
      const eth = (json.hi * TWO_32 + json.lo) / GWEI_PER_ETH
      if (!Number.isInteger(eth) || json.hi >= EXACT_HI) json.fail(`${key.text} is not whole units of 1e9 gwei`)
      slot.array[row] = eth
      return
    }
    case KIND_BOOL:
      slot.array[row] = json.boolean() ? 1 : 0
      return
    default:
      slot.array[row] = oneOf(json, key)
  }
}

function oneOf(json: JsonReader, key: CompiledField): number {
  if (json.bytes[json.at] !== QUOTE) json.fail(`${key.text} is not text`)
  const start = json.at + 1
  for (let i = 0; i < key.texts.length; i++) {
    const text = key.texts[i] as Uint8Array
    if (json.isTextAt(start, text)) {
      json.at = start + text.length + 1
      return i
    }
  }
  return json.fail(`${key.text} has an unknown value`)
}
