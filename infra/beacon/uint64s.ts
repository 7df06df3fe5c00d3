import { malformed } from './serialized-state.ts'

const WORD = 2 ** 32

/** A number of a state, of 64 bits little-endian. Throws AppError `node_malformed` above 2^53, where a double is not exact. */
export function integerAt(view: DataView, at: number, what: string): number {
  const value = view.getUint32(at + 4, true) * WORD + view.getUint32(at, true)
  if (value > Number.MAX_SAFE_INTEGER) throw malformed(`${what} of it is above ${Number.MAX_SAFE_INTEGER}`)
  return value
}
