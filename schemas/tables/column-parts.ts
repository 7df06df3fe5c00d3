/** Numbers of one width, or bytes. */
export type Numbers = Uint8Array | Uint16Array | Uint32Array | Int32Array | BigInt64Array | BigUint64Array

/** A column whose rows lie in several memories, one part after the other, all of one kind: to join them would be as much memory again. */
export class ColumnParts {
  readonly parts: readonly [Numbers, ...Numbers[]]
  /** Of all parts together, as an array of all would have it. */
  readonly length: number

  constructor(parts: readonly [Numbers, ...Numbers[]]) {
    this.parts = parts
    this.length = parts.reduce((sum, { length }) => sum + length, 0)
  }

  slice(from: number, to: number): ColumnParts {
    const [first] = this.parts
    const sliced: Numbers[] = []
    let begin = 0
    for (const part of this.parts) {
      const some = part.subarray(Math.max(0, from - begin), Math.max(0, to - begin))
      if (some.length > 0) sliced.push(some)
      begin += part.length
    }
    return new ColumnParts([sliced[0] ?? first.subarray(0, 0), ...sliced.slice(1)])
  }
}
