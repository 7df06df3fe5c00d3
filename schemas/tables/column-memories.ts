import { CodedTexts } from './coded-texts.ts'
import { ColumnParts } from './column-parts.ts'

/** Where columns of an insert have their memory, as far as they have any: texts are values of the language. */
export function* memoriesOf(columns: Readonly<Record<string, unknown>>): Generator<ArrayBufferView> {
  for (const column of Object.values(columns)) {
    if (column instanceof CodedTexts) yield column.codes
    else if (column instanceof ColumnParts) yield* column.parts
    else if (ArrayBuffer.isView(column)) yield column
  }
}
