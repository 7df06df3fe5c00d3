import { expect, test } from 'vitest'
import { openBudget } from '../../api/http/budget.ts'
import { ALTERNATIVES, KEYS, rowsEach } from '../../api/http/lookups.ts'
import { GATHERED_MAX, STATEMENTS_OF_ACCOUNT, StatementQueue } from '../../api/http/statement-queue.ts'
import type { WordsReader } from '../../infra/ports/warehouse.ts'
import { noWords } from './no-words.ts'

/** A warehouse whose statements end when the test says so. */
function heldWarehouse(answer: (sql: string) => readonly object[] = () => []) {
  const statements: string[] = []
  const ends: (() => void)[] = []
  const warehouse: WordsReader = {
    ...noWords,
    async query<Row>(sql: string) {
      statements.push(sql)
      const { promise, resolve } = Promise.withResolvers<void>()
      ends.push(resolve)
      await promise
      return answer(sql) as Row[]
    },
  }
  const endAll = (): void => {
    for (const end of ends.splice(0)) end()
  }
  return { statements, ends, warehouse, endAll }
}

const turns = () => new Promise((resolve) => setImmediate(resolve))
const NAMES = Array.from({ length: STATEMENTS_OF_ACCOUNT }, (_, i) => `busy ${i}`)

test('lookups that wait for a turn are one statement, and each gets its rows in their order', async () => {
  const rows = [
    { nth: 1, a: 'second' },
    { nth: 0, a: 'first' },
    { nth: 1, a: 'third' },
  ]
  const { statements, warehouse, endAll } = heldWarehouse((sql) => (sql.includes('UNION ALL') ? rows : []))
  const budget = openBudget({ warehouse, queue: new StatementQueue(), account: 'one' })
  const busy = NAMES.map((sql) => budget.query(sql))
  const lookups = ['SELECT a FROM x', 'SELECT a FROM y'].map((sql) => budget.lookUp?.('kind', sql))
  await turns()
  expect(statements).toEqual(NAMES)
  endAll()
  await turns()
  endAll()
  await Promise.all(busy)
  expect((await Promise.all(lookups)).map((found) => found?.map((row) => (row as { a: string }).a))).toEqual([
    ['first'],
    ['second', 'third'],
  ])
  expect(statements[NAMES.length]).toMatch(/^SELECT 0 AS nth, a FROM x UNION ALL SELECT 1 AS nth, a FROM y SETTINGS /)
  expect(statements).toHaveLength(NAMES.length + 1)
})

test('lookups of other kinds and of other accounts are others, and so are more than one statement has', async () => {
  const { statements, warehouse, endAll } = heldWarehouse()
  const queue = new StatementQueue()
  const [one, other] = ['one', 'other'].map((account) => openBudget({ warehouse, queue, account }))
  const lookups = [
    ...Array.from({ length: GATHERED_MAX + 1 }, (_, i) => one?.lookUp?.('kind', `SELECT ${i}`)),
    one?.lookUp?.('kind of another', 'SELECT a'),
    other?.lookUp?.('kind', 'SELECT b'),
  ]
  for (let i = 0; i < lookups.length; i++) {
    await turns()
    endAll()
  }
  await Promise.all(lookups)
  expect(statements.map((sql) => sql.split('UNION ALL').length).sort()).toEqual([1, 1, 1, GATHERED_MAX])
})

test('what fails fails for all that were gathered, and for nobody after them', async () => {
  let isAway = true
  const warehouse: WordsReader = {
    ...noWords,
    query: () => (isAway ? Promise.reject(new Error('away')) : Promise.resolve([])),
  }
  const budget = openBudget({ warehouse, queue: new StatementQueue(), account: 'one' })
  const failed = await Promise.allSettled([budget.lookUp?.('kind', 'SELECT 1'), budget.lookUp?.('kind', 'SELECT 2')])
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  isAway = false
  expect(await budget.lookUp?.('kind', 'SELECT 3')).toEqual([])
})

test('keys that wait for a turn are looked up in one statement, each once', async () => {
  const { statements, warehouse, endAll } = heldWarehouse(() => [{ a: 1 }])
  const budget = openBudget({ warehouse, queue: new StatementQueue(), account: 'one' })
  const select = `SELECT a FROM x WHERE a IN (${KEYS})`
  const lookups = ['1', '2', '1'].map((key) => budget.lookUpKeys?.(select, key))
  await turns()
  endAll()
  expect(await Promise.all(lookups)).toEqual([[{ a: 1 }], [{ a: 1 }], [{ a: 1 }]])
  expect(statements).toEqual([expect.stringMatching(/^SELECT a FROM x WHERE a IN \(1, 2\) SETTINGS /)])
})

test('conditions that wait for a turn are one statement, each once, with a limit for all of them', async () => {
  const { warehouse, endAll } = heldWarehouse()
  const asked: string[] = []
  const words = Uint32Array.of(1, 2)
  const queryWords = async (sql: string) => {
    asked.push(sql)
    return words
  }
  const budget = openBudget({ warehouse: { ...warehouse, queryWords }, queue: new StatementQueue(), account: 'one' })
  const busy = NAMES.map((sql) => budget.query(sql))
  const select = `SELECT a FROM x WHERE b AND (${ALTERNATIVES}) LIMIT ${rowsEach(5)}`
  const lookups = ['a = 1', 'a > 2 AND a < 4', 'a = 1'].map((condition) => budget.lookUpWords?.(select, condition))
  await turns()
  expect(asked).toEqual([])
  endAll()
  await Promise.all(busy)
  for (const found of await Promise.all(lookups)) expect(found).toBe(words)
  expect(asked).toEqual([
    expect.stringMatching(/^SELECT a FROM x WHERE b AND \(\(a = 1\) OR \(a > 2 AND a < 4\)\) LIMIT 10 SETTINGS /),
  ])
})

test('while one of its kind runs, what is gathered lets others before it', async () => {
  const { statements, ends, warehouse, endAll } = heldWarehouse()
  const budget = openBudget({ warehouse, queue: new StatementQueue(), account: 'one' })
  const lookUp = (kind: string, sql: string) => budget.lookUp?.(kind, sql)
  const busy = NAMES.slice(1).map((sql) => budget.query(sql))
  const first = lookUp('kind', 'SELECT 1')
  await turns()
  const second = [lookUp('kind', 'SELECT 2'), lookUp('another', 'SELECT 3'), lookUp('kind', 'SELECT 4')]
  await turns()
  expect(statements.map((sql) => sql.split(' SETTINGS')[0])).toEqual([...NAMES.slice(1), 'SELECT 1'])
  // Those that were busy end, and the first of its kind does not.
  for (const end of ends.splice(0, NAMES.length - 1)) end()
  await Promise.all(busy)
  await turns()
  expect(statements.at(-1)).toMatch(/^SELECT 3 SETTINGS/)
  for (let time = 0; time < 3; time++) {
    endAll()
    await turns()
  }
  await Promise.all([first, ...second])
  expect(statements.at(-1)).toMatch(/^SELECT 0 AS nth, 2 UNION ALL SELECT 1 AS nth, 4 SETTINGS/)
  expect(statements).toHaveLength(NAMES.length + 2)
})

test('where nothing else waits, two of a kind run side by side', async () => {
  const { statements, warehouse, endAll } = heldWarehouse()
  const budget = openBudget({ warehouse, queue: new StatementQueue(), account: 'one' })
  const lookups = []
  for (let i = 0; i < STATEMENTS_OF_ACCOUNT; i++) {
    lookups.push(budget.lookUp?.('kind', `SELECT ${i}`))
    await turns()
  }
  expect(statements).toHaveLength(STATEMENTS_OF_ACCOUNT)
  endAll()
  await Promise.all(lookups)
})
