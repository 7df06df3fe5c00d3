import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openBudget, STATEMENTS_MAX } from '../../api/http/budget.ts'
import { STATEMENTS_AT_ONCE, STATEMENTS_OF_ACCOUNT, StatementQueue } from '../../api/http/statement-queue.ts'
import type { QueryLimits, WordsReader } from '../../infra/ports/warehouse.ts'
import { noWords } from './no-words.ts'

const STAYS = new AbortController().signal

/** Tasks that begin when the queue lets them and end when they are told. */
class Tasks {
  readonly queue = new StatementQueue()
  readonly begun: string[] = []
  readonly #ends = new Map<string, () => void>()

  run(account: string, name: string, signal = STAYS): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#ends.set(name, resolve)
    return this.queue.run(account, signal, () => {
      this.begun.push(name)
      return promise
    })
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)?.()
    await turn()
  }
}

test('an account that asks much has its share, and others begin beside it', async () => {
  const tasks = new Tasks()
  for (let n = 0; n < 700; n++) void tasks.run('greedy', `greedy ${n}`)
  await turn()
  expect(tasks.begun).toEqual(Array.from({ length: STATEMENTS_OF_ACCOUNT }, (_, n) => `greedy ${n}`))
  void tasks.run('light', 'light')
  await turn()
  expect(tasks.begun).toContain('light')
})

test('accounts that ask much do not keep the next ones waiting', async () => {
  const tasks = new Tasks()
  for (const account of ['a', 'b', 'c']) for (const n of [1, 2, 3]) void tasks.run(account, `${account}${n}`)
  await turn()
  expect(tasks.begun).toEqual(['a1', 'a2', 'b1', 'c1'])
  void tasks.run('d', 'd1')
  await turn()
  expect(tasks.begun).toHaveLength(STATEMENTS_AT_ONCE)
  expect(tasks.begun).toContain('d1')
})

test('accounts take turns when more wait than can run', async () => {
  const tasks = new Tasks()
  const accounts = ['a', 'b', 'c', 'd', 'e', 'f']
  for (const account of accounts) for (const n of [1, 2]) void tasks.run(account, `${account}${n}`)
  await turn()
  expect(tasks.begun).toEqual(['a1', 'a2', 'b1', 'c1', 'd1'])
  // Who has nothing running comes before who has.
  await tasks.end('a1')
  expect(tasks.begun.at(-1)).toBe('e1')
  for (let n = 0; n < tasks.begun.length; n++) await tasks.end(tasks.begun[n] ?? '')
  expect(tasks.begun.toSorted()).toEqual(accounts.flatMap((account) => [`${account}1`, `${account}2`]))
})

test('what is abandoned while it waits never begins, and holds up nobody', async () => {
  const tasks = new Tasks()
  const running = [tasks.run('a', 'a1'), tasks.run('a', 'a2')]
  const gone = new AbortController()
  const abandoned = tasks.run('a', 'a3', gone.signal)
  const last = tasks.run('a', 'a4')
  gone.abort(new Error('gone'))
  await expect(abandoned).rejects.toBe(gone.signal.reason)
  await tasks.end('a1')
  await tasks.end('a2')
  await tasks.end('a4')
  await Promise.all([...running, last])
  expect(tasks.begun).toEqual(['a1', 'a2', 'a4'])
})

test('a failed task lets the next one begin', async () => {
  const queue = new StatementQueue()
  const fail = () => Promise.reject(new Error('failed'))
  for (let n = 0; n < 10; n++) await expect(queue.run('a', STAYS, fail)).rejects.toThrow('failed')
  expect(await queue.run('a', STAYS, () => Promise.resolve('ran'))).toBe('ran')
})

test('a request that takes more statements than one may is refused the next one', async () => {
  const given: (QueryLimits | undefined)[] = []
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => void vi.restoreAllMocks())
  const warehouse: WordsReader = {
    ...noWords,
    query(_sql, _params, limits) {
      given.push(limits)
      now += 200
      return Promise.resolve([])
    },
  }
  const budget = openBudget({ warehouse, queue: new StatementQueue(), account: 'a', signal: STAYS })
  for (let n = 0; n < STATEMENTS_MAX; n++) await budget.query('SELECT 1')
  await expect(budget.query('SELECT 1')).rejects.toMatchObject({ code: 'query_limit' })
  expect(given).toHaveLength(STATEMENTS_MAX)
  // Each gets what is left of the request's time, in whole seconds, and ends with it.
  expect(given.map((limits) => limits?.timeMsMax).filter((_, i) => [0, 5, 6, STATEMENTS_MAX - 1].includes(i))).toEqual([
    15_000, 14_000, 14_000, 8_000,
  ])
  expect(given[0]?.signal).toBe(STAYS)
})
