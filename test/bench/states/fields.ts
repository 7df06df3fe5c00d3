import { ssz } from '@lodestar/types'

const OFFSET_BYTES = 4
const WORD = 2 ** 32

/** A state's fields by their names, serialized one by one. What does not change is shared by states. */
export type StateFields = ReadonlyMap<string, Uint8Array>

const FIELDS: Readonly<
  Record<string, { fixedSize: number | null; defaultValue(): unknown; serialize(value: never): Uint8Array }>
> = ssz.fulu.BeaconState.fields

/** Those of a state in which everything is zero or empty. */
export function emptyFields(): Map<string, Uint8Array> {
  return new Map(Object.entries(FIELDS).map(([name, type]) => [name, type.serialize(type.defaultValue() as never)]))
}

/** The pieces of a serialized state, to be sent one after the other: fields of fixed length, then the others. */
export function piecesOf(fields: StateFields): readonly Uint8Array[] {
  const names = Object.keys(FIELDS)
  const bytesOf = (name: string) => fields.get(name) ?? new Uint8Array(0)
  const isVariable = (name: string) => FIELDS[name]?.fixedSize === null
  const fixedBytes = names.reduce((sum, name) => sum + (isVariable(name) ? OFFSET_BYTES : bytesOf(name).length), 0)
  const fixed = Buffer.alloc(fixedBytes)
  const variable: Uint8Array[] = []
  let [at, offset] = [0, fixedBytes]
  for (const name of names) {
    const bytes = bytesOf(name)
    if (isVariable(name)) {
      at = fixed.writeUInt32LE(offset, at)
      offset += bytes.length
      variable.push(bytes)
    } else {
      if (bytes.length !== FIELDS[name]?.fixedSize) throw new Error(`${name} has ${bytes.length} bytes`)
      fixed.set(bytes, at)
      at += bytes.length
    }
  }
  return [fixed, ...variable]
}

export function uint64(value: number): Uint8Array {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

/** A list of uint64; every number is a whole one below 2^53. */
export function uint64s(values: Float64Array): Uint8Array {
  const words = new Uint32Array(2 * values.length)
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number
    words[2 * i] = value % WORD
    words[2 * i + 1] = value / WORD
  }
  return new Uint8Array(words.buffer)
}
