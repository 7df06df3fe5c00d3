import { expect, test } from 'vitest'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { insertAll } from '../../processors/loop/rows.ts'

test('inserts into several tables at once; one that fails is told when the others have ended', async () => {
  const slow = Promise.withResolvers<void>()
  const begun: string[] = []
  let isTold = false
  const warehouse = {
    insert(table: string) {
      begun.push(table)
      return table === 'validators' ? Promise.reject(new Error('away')) : slow.promise
    },
  } as unknown as Warehouse
  const inserting = insertAll(warehouse, [
    { table: 'validators', columns: {} },
    { table: 'epochs', columns: {} },
  ]).catch((error: unknown) => {
    isTold = true
    return error
  })
  await new Promise(setImmediate)
  expect(begun).toEqual(['validators', 'epochs'])
  expect(isTold).toBe(false)
  slow.resolve()
  expect(await inserting).toEqual(new Error('away'))
})
