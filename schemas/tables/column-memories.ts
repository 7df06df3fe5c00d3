import { CodedTexts } from './coded-texts.ts'

/** Where columns of an insert have their memory, as far as they have any: texts are values of the language. */
export function* memoriesOf(columns: Readonly<Record<string, unknown>>): Generator<ArrayBufferView> {
  for (const column of Object.values(columns)) {
    if (column instanceof CodedTexts) yield column.codes
    else if (ArrayBuffer.isView(column)) yield column
  }
}
