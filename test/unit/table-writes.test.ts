import { expect, test } from 'vitest'
import { TableWrites } from '../../infra/warehouse/table-writes.ts'

const done = () => Promise.resolve()

test('what is written to a table is seen of it, and of no other', async () => {
  const writes = new TableWrites()
  const before = { some: writes.of(['some', 'third']), other: writes.of(['other']) }
  await writes.insert('some', done)
  expect(writes.of(['some', 'third'])).not.toBe(before.some)
  expect(writes.of(['other'])).toBe(before.other)
})

test.each([
  ['INSERT INTO some SELECT 1', ['some']],
  ['INSERT INTO here.some (a) SELECT 1', ['some']],
  ["ALTER TABLE some DROP PARTITION ID 'a'", ['some', 'other']],
  ["DELETE FROM some WHERE a = 'INSERT INTO third'", ['some', 'other']],
])('%s may change %s', async (sql, changed) => {
  const writes = new TableWrites()
  const tables = ['some', 'other']
  const before = tables.map((table) => writes.of([table]))
  await writes.command(sql, done)
  expect(tables.filter((table, i) => writes.of([table]) !== before[i])).toEqual(changed)
})

test('while something is written nobody knows whether it is there, also where it fails', async () => {
  const writes = new TableWrites()
  const written = Promise.withResolvers<void>()
  const failing = writes.insert('some', () => written.promise)
  expect([writes.of(['some']), writes.of(['other'])]).toEqual([undefined, 0])
  written.reject(new Error('away'))
  await expect(failing).rejects.toThrow('away')
  expect(writes.of(['some'])).toBe(1)
})

test('of what is being written it is told what was there before, since when, and when it has ended', async () => {
  const writes = new TableWrites()
  await writes.insert('some', done)
  const before = writes.of(['some', 'third'])
  expect(writes.writing(['some'])).toBeUndefined()
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const atMs = performance.now()
  const failing = writes.insert('some', () => first.promise)
  const last = writes.insert('third', () => second.promise)
  const writing = writes.writing(['some', 'third'])
  expect(writing).toMatchObject({ before })
  expect(writing?.sinceMs).toBeGreaterThanOrEqual(atMs)
  expect(writing?.sinceMs).toBeLessThanOrEqual(performance.now())
  expect(writes.writing(['other'])).toBeUndefined()
  let isEnded = false
  const ended = writing?.ended().then(() => {
    isEnded = true
  })
  first.reject(new Error('away'))
  await expect(failing).rejects.toThrow('away')
  expect(isEnded).toBe(false)
  expect(writes.writing(['some', 'third'])?.before).not.toBe(before)
  second.resolve()
  await Promise.all([last, ended])
  expect(writes.writing(['some', 'third'])).toBeUndefined()
})
