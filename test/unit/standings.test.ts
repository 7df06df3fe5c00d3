import { expect, test, vi } from 'vitest'
import { Standings } from '../../api/http/standings.ts'
import type { QueryLimits, QueryParams, WordsReader } from '../../infra/ports/warehouse.ts'
import { toTokenLimitsRow } from '../../schemas/tables/accounts.ts'

/** Tables of one token, at a position that the test moves. */
function tables() {
  const state = { position: '1', settled: '1', looks: 0, account: 'demo' }
  const warehouse: WordsReader = {
    queryWords: () => Promise.resolve(new Uint32Array()),
    query<Row>(sql: string) {
      const isLook = sql.includes('AS versions')
      if (isLook) state.looks++
      const rows = isLook
        ? [
            { part: 'accounts', table_name: 'access_tokens', versions: state.position },
            { part: 'settled', table_name: 'settlements', versions: state.settled },
          ]
        : sql.includes('FROM access_tokens FINAL')
          ? [{ token_hash: 'hash', account: state.account, ...toTokenLimitsRow({ scopes: ['read'] }) }]
          : []
      return Promise.resolve(rows as Row[])
    },
  }
  return { state, warehouse }
}

test('all who ask at one time share a look, and the next look finds what has changed', async () => {
  const { state, warehouse } = tables()
  const patient = new Standings(warehouse, { ageMsMax: 3_600_000 })
  const [one, other] = await Promise.all([patient.of('mainnet'), patient.of('mainnet')])
  expect(other).toBe(one)
  expect(await patient.of('mainnet')).toBe(one)
  expect(state.looks).toBe(1)
  const eager = new Standings(warehouse, { ageMsMax: 0 })
  const before = await eager.of('mainnet')
  expect(await eager.of('mainnet')).toBe(before)
  Object.assign(state, { position: '2', account: 'other' })
  const after = await eager.of('mainnet')
  expect(after.position).not.toBe(before.position)
  expect([before.tokenOf('hash')?.account, after.tokenOf('hash')?.account]).toEqual(['demo', 'other'])
})

test('who asks all the time waits for no look: the next one begins before the last is too old', async () => {
  const { state, warehouse } = tables()
  const ended = Promise.withResolvers<void>()
  let isSlow = false
  const slow: WordsReader = {
    ...warehouse,
    async query(sql, params, limits) {
      if (isSlow) await ended.promise
      return await warehouse.query(sql, params, limits)
    },
  }
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    const standings = new Standings(slow, { ageMsMax: 1_000 })
    const first = await standings.of('mainnet')
    Object.assign(state, { position: '2' })
    isSlow = true
    vi.advanceTimersByTime(500)
    expect([await standings.of('mainnet'), state.looks]).toEqual([first, 1])
    vi.advanceTimersByTime(400)
    // One begins behind these two.
    expect([await standings.of('mainnet'), await standings.of('mainnet')]).toEqual([first, first])
    vi.advanceTimersByTime(200)
    const late = standings.of('mainnet')
    ended.resolve()
    expect((await late).position).not.toBe(first.position)
    expect(state.looks).toBe(2)
  } finally {
    vi.useRealTimers()
  }
})

test('a look ahead that fails is nobody’s failure until the last one is too old', async () => {
  const { warehouse } = tables()
  let fails = false
  const failing: WordsReader = {
    ...warehouse,
    query: (sql) => (fails ? Promise.reject(new Error('away')) : warehouse.query(sql)),
  }
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    const standings = new Standings(failing, { ageMsMax: 1_000 })
    const first = await standings.of('mainnet')
    fails = true
    vi.advanceTimersByTime(900)
    expect(await standings.of('mainnet')).toBe(first)
    await Promise.resolve()
    expect(await standings.of('mainnet')).toBe(first)
    vi.advanceTimersByTime(200)
    await expect(standings.of('mainnet')).rejects.toThrow('away')
    fails = false
    expect((await standings.of('mainnet')).tokenOf('hash')?.account).toBe('demo')
  } finally {
    vi.useRealTimers()
  }
})

test('what was made of the tables is made again after a while although nothing has moved', async () => {
  const { warehouse } = tables()
  const standings = new Standings(warehouse, { ageMsMax: 0, keptMsMax: 0 })
  const before = await standings.of('mainnet')
  expect((await standings.of('mainnet')).position).not.toBe(before.position)
})

test('a failed look is not kept', async () => {
  const { warehouse } = tables()
  let fails = true
  const failing: WordsReader = {
    ...warehouse,
    query: (sql) => (fails ? Promise.reject(new Error('away')) : warehouse.query(sql)),
  }
  const standings = new Standings(failing, { ageMsMax: 3_600_000 })
  await expect(standings.of('mainnet')).rejects.toThrow('away')
  fails = false
  expect((await standings.of('mainnet')).tokenOf('hash')?.account).toBe('demo')
})

test('a look that hangs fails its askers after a while, and holds up nobody after them', async () => {
  const { warehouse } = tables()
  const signals: (AbortSignal | undefined)[] = []
  let hangs = true
  const hanging: WordsReader = {
    ...warehouse,
    query(sql, params, limits) {
      signals.push(limits?.signal)
      return hangs ? new Promise(() => {}) : warehouse.query(sql, params, limits)
    },
  }
  const standings = new Standings(hanging, { ageMsMax: 0, lookMsMax: 50 })
  const first = standings.of('mainnet')
  first.catch(() => {})
  hangs = false
  // Beside the hung one.
  expect((await standings.of('mainnet')).tokenOf('hash')?.account).toBe('demo')
  await expect(first).rejects.toMatchObject({ code: 'warehouse', retryable: true })
  expect(signals[0]?.aborted).toBe(true)
})

test('accounts whose reading hangs are read again', async () => {
  const { warehouse } = tables()
  let hangs = true
  const hanging: WordsReader = {
    ...warehouse,
    query: (sql) => (hangs && sql.includes('access_tokens FINAL') ? new Promise(() => {}) : warehouse.query(sql)),
  }
  const standings = new Standings(hanging, { ageMsMax: 0, lookMsMax: 50 })
  await expect(standings.of('mainnet')).rejects.toMatchObject({ code: 'warehouse', retryable: true })
  hangs = false
  expect((await standings.of('mainnet')).tokenOf('hash')?.account).toBe('demo')
})

test('what all accounts share may take longer than a look: figures of a busy machine are late, and not refused', async () => {
  const { warehouse } = tables()
  const slow: WordsReader = {
    ...warehouse,
    async query<Row>(sql: string) {
      if (sql !== 'SELECT 1') return await warehouse.query<Row>(sql)
      await new Promise((resolve) => setTimeout(resolve, 4 * 50))
      return [{ figure: 1 }] as Row[]
    },
  }
  const standing = await new Standings(slow, { ageMsMax: 0, lookMsMax: 50 }).of('mainnet')
  expect(await standing.warehouse.query('SELECT 1')).toEqual([{ figure: 1 }])
})

test('what is settled moves the position, and lets figures stay that no settlement is in', async () => {
  const { state, warehouse } = tables()
  const standings = new Standings(warehouse, { ageMsMax: 0, keptMsMax: Number.POSITIVE_INFINITY })
  const before = await standings.of('mainnet')
  state.settled = '2'
  const settled = await standings.of('mainnet')
  expect(settled.position).not.toBe(before.position)
  expect(settled.figures).toBe(before.figures)
  expect(await standings.of('mainnet')).toBe(settled)
  state.position = '2'
  expect((await standings.of('mainnet')).figures).not.toBe(before.figures)
})

test('only tables that were written to are looked at again, where the warehouse tells of writes', async () => {
  const { warehouse } = tables()
  const writes = new Map<string, number>()
  let running: string | undefined
  let looks: string[] = []
  const versions = new Map<string, string>()
  const telling: WordsReader = {
    ...warehouse,
    query<Row>(sql: string, ...rest: [QueryParams?, QueryLimits?]) {
      if (!sql.includes('AS versions')) return warehouse.query<Row>(sql, ...rest)
      const names = [...sql.matchAll(/AS part, '([\w ]+)' AS table_name/g)].map(([, name = '']) => name)
      looks = names
      const rows = names.map((table_name) => ({
        part: table_name === 'access_tokens' ? 'accounts' : 'figures',
        table_name,
        versions: versions.get(table_name) ?? '0',
      }))
      return Promise.resolve(rows as Row[])
    },
    writesOf: (named) =>
      running !== undefined && named.includes(running)
        ? undefined
        : named.reduce((sum, name) => sum + (writes.get(name) ?? 0), 0),
  }
  const write = (table: string, version: string): void => {
    writes.set(table, (writes.get(table) ?? 0) + 1)
    versions.set(table, version)
  }
  const standings = new Standings(telling, { ageMsMax: 0, keptMsMax: Number.POSITIVE_INFINITY })
  const first = await standings.of('mainnet')
  expect(looks.length).toBeGreaterThan(20)
  write('epochs', '1')
  const second = await standings.of('mainnet')
  expect(looks).toEqual(['epochs'])
  expect(second.position).not.toBe(first.position)
  // What is settled of open days goes by which days are closed, too.
  write('closed_days', '1')
  expect(await standings.of('mainnet')).not.toBe(second)
  expect(looks).toEqual(['closed_days', 'open settlements'])
  // Another chain was never looked at.
  await standings.of('hoodi')
  expect(looks.length).toBeGreaterThan(20)
  // A table that is being written to is looked at, and again when that has ended.
  running = 'epochs'
  await standings.of('mainnet')
  expect(looks).toEqual(['epochs'])
  looks = []
  running = undefined
  write('epochs', '2')
  await standings.of('mainnet')
  expect(looks).toEqual(['epochs'])
})
