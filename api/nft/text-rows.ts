import { type HistoryColumns, type HistoryRows, type Item, keyName, valueName } from './history-rows.ts'

// Rows as the engine tells them as text: few of them, which are looked up together with those of others.

/** Beside the columns of the block: bytes in hex; wider integers come as text anyway. */
export function textColumns({ keys, amounts, values }: HistoryColumns): string {
  const ofKeys = keys.map((key) => `${key.kind === 'bytes' ? `hex(${key.name})` : key.name} AS ${keyName(key)}`)
  const others = [...amounts, ...values].map((value) =>
    value.kind === 'time' ? `toString(toUnixTimestamp(${value.name})) AS ${valueName(value)}` : value.name,
  )
  return [...ofKeys, ...others].join(', ')
}

/** With the hash of its block. */
export type TextRow = Item & { readonly of_block: string }

export function textRows(columns: HistoryColumns, rows: readonly TextRow[]): HistoryRows {
  const names = columns.keys.map(keyName)
  const at = (row: number) => rows[row] as TextRow
  return {
    count: rows.length,
    beginsKey: (row) => names.some((name) => at(row)[name] !== at(row - 1)[name]),
    numberOf: (row) => Number(at(row).block_number),
    hashOf: (row) => at(row).of_block,
    keyOf: (row) => {
      const item = toItem(columns, at(row))
      return names.map((name) => item[name] as string)
    },
    itemOf: (row) => toHeld(columns, at(row)),
  }
}

/** Undefined where the row holds nothing. */
export function toHeld(columns: HistoryColumns, row: Item): Item | undefined {
  const item = toItem(columns, row)
  return columns.holds(item) ? item : undefined
}

function toItem({ keys }: HistoryColumns, row: Item): Item {
  const item: Record<string, string> & { block_number: string } = { ...row }
  for (const key of keys)
    if (key.kind === 'bytes') item[keyName(key)] = `0x${(row[keyName(key)] as string).toLowerCase()}`
  return item
}
