type Numbers = Uint8Array | Uint32Array | BigInt64Array | BigUint64Array

/**
 * Rows of numbers in several parts, one at least, as one: the columns of the layout, by ascending values of those that `order` names, which are
 * validators where it is not given.
 */
export function joinRows<Columns extends object>(
  layout: Readonly<Record<keyof Columns & string, unknown>>,
  parts: readonly Columns[],
  order: readonly (keyof Columns & string)[] = ['validatorIndex' as keyof Columns & string],
): Columns {
  const columnOf = (name: string) =>
    concatenated(parts.map((part) => (part as Record<string, Numbers>)[name] as Numbers))
  const whole = new Map(Object.keys(layout).map((name) => [name, columnOf(name)]))
  const keys = order.map((name) => whole.get(name) as Numbers)
  const rows = Uint32Array.from({ length: keys[0]?.length ?? 0 }, (_, row) => row).sort((some, other) => {
    const key = keys.find((column) => column[some] !== column[other])
    return key === undefined ? 0 : Number(key[some]) - Number(key[other])
  })
  return Object.fromEntries([...whole].map(([name, column]) => [name, pickedFrom(column, rows)])) as Columns
}

function concatenated(parts: readonly Numbers[]): Numbers {
  const [first] = parts
  if (first === undefined) throw new RangeError('rows of no part have no columns')
  const joined = new (first.constructor as new (rows: number) => Numbers)(
    parts.reduce((sum, { length }) => sum + length, 0),
  )
  let at = 0
  for (const part of parts) {
    joined.set(part as never, at)
    at += part.length
  }
  return joined
}

function pickedFrom(column: Numbers, rows: Uint32Array): Numbers {
  const picked = column.slice()
  rows.forEach((row, at) => {
    picked[at] = column[row] as never
  })
  return picked
}
