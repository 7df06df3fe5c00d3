import { expect, test } from 'vitest'
import { type NftStanding, NftStandings } from '../../api/nft/standing.ts'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'

/** Tables of one folded block, that tell of their writes or not. */
function tables({ tellsWrites }: { readonly tellsWrites: boolean }) {
  const state = { reverts: '(0,0)', writes: 0 as number | undefined, statements: 0, looks: 0 }
  const reader: WarehouseReader = {
    query<Row>(sql: string) {
      state.statements++
      const isLook = sql.includes("'starts' AS fact")
      if (isLook) state.looks++
      const rows = isLook
        ? [
            { fact: 'starts', part: '', value: '1' },
            { fact: 'reverts', part: '', value: state.reverts },
          ]
        : sql.includes('AS parent')
          ? [{ number: '1', hash: '0x01', parent: '0x00', time_sec: 12 }]
          : sql.includes('AS reverts')
            ? [{ reverts: state.reverts }]
            : []
      return Promise.resolve(rows as Row[])
    },
  }
  const warehouse = tellsWrites ? { ...reader, writesOf: () => state.writes } : reader
  return { state, warehouse }
}

const OLD_AT_ONCE_MS = 0

test('where nothing was written nobody looks again, and nobody asks whether anything was reverted', async () => {
  const { state, warehouse } = tables({ tellsWrites: true })
  const standings = new NftStandings(warehouse, OLD_AT_ONCE_MS)
  const first = (await standings.of('mainnet')) as NftStanding
  const asked = state.statements
  expect(await standings.of('mainnet')).toBe(first)
  expect(await standings.isUnreverted('mainnet', first)).toBe(true)
  expect(state.statements).toBe(asked)
})

test('where something was written it is looked at, and what has changed is found', async () => {
  const { state, warehouse } = tables({ tellsWrites: true })
  const standings = new NftStandings(warehouse, OLD_AT_ONCE_MS)
  const first = (await standings.of('mainnet')) as NftStanding
  state.writes = 1
  expect(await standings.isUnreverted('mainnet', first)).toBe(true)
  state.reverts = '(1,7)'
  expect(await standings.isUnreverted('mainnet', first)).toBe(false)
  expect((await standings.of('mainnet'))?.reverts).toBe('(1,7)')
})

test('what was seen while something was being written is looked at again', async () => {
  const { state, warehouse } = tables({ tellsWrites: true })
  const standings = new NftStandings(warehouse, OLD_AT_ONCE_MS)
  state.writes = undefined
  const first = (await standings.of('mainnet')) as NftStanding
  state.reverts = '(1,7)'
  // It has come to its end, and nobody has begun another.
  expect(await standings.isUnreverted('mainnet', first)).toBe(false)
  state.writes = 1
  expect(await standings.isUnreverted('mainnet', first)).toBe(false)
  expect((await standings.of('mainnet'))?.reverts).toBe('(1,7)')
})

test('where others may write it is looked at, and asked', async () => {
  const { state, warehouse } = tables({ tellsWrites: false })
  const standings = new NftStandings(warehouse, OLD_AT_ONCE_MS)
  const first = (await standings.of('mainnet')) as NftStanding
  expect(await standings.isUnreverted('mainnet', first)).toBe(true)
  state.reverts = '(1,7)'
  expect(await standings.isUnreverted('mainnet', first)).toBe(false)
  await standings.of('mainnet')
  expect(state.looks).toBe(2)
})

test('who asks all the time waits for no look: the next one begins before the last is too old', async () => {
  const { state, warehouse } = tables({ tellsWrites: false })
  const ended = Promise.withResolvers<void>()
  let isSlow = false
  const slow: WarehouseReader = {
    async query(sql, params) {
      if (isSlow) await ended.promise
      return await warehouse.query(sql, params)
    },
  }
  let nowMs = 0
  const standings = new NftStandings(slow, 100, () => nowMs)
  const first = await standings.of('mainnet')
  isSlow = true
  nowMs = 50
  expect([await standings.of('mainnet'), state.looks]).toEqual([first, 1])
  nowMs = 90
  state.reverts = '(1,7)'
  expect(await standings.of('mainnet')).toBe(first)
  nowMs = 110
  const waiting = standings.of('mainnet')
  ended.resolve()
  expect([(await waiting)?.reverts, state.looks]).toEqual(['(1,7)', 2])
})

test('a block that is reverted while it is looked at is no head', async () => {
  const { warehouse } = tables({ tellsWrites: false })
  const blocks = [
    { number: '2', hash: '0xab', parent: '0x01', time_sec: 24 },
    { number: '1', hash: '0x01', parent: '0x00', time_sec: 12 },
  ]
  let isReverted = false
  const reverting: WarehouseReader = {
    async query<Row>(sql: string) {
      if (sql.includes('AS parent')) return (isReverted ? blocks.slice(1) : blocks) as Row[]
      const isLook = sql.includes("'starts' AS fact")
      if (isLook && looks++ > 0) {
        // What is asked at the same time is answered before.
        await Promise.resolve()
        isReverted = true
      }
      if (sql.includes('AS hash FROM')) return (isReverted ? [{ hash: 'AB' }] : []) as Row[]
      const rows = await warehouse.query<{ fact: string; value: string }>(sql)
      const now = (row: { fact: string; value: string }) =>
        row.fact === 'reverts' && isReverted ? { ...row, value: '(1,7)' } : row
      return (isLook ? rows.map(now) : rows) as Row[]
    },
  }
  let looks = 0
  const standings = new NftStandings(reverting, OLD_AT_ONCE_MS)
  expect((await standings.of('mainnet'))?.head.number).toBe(2)
  expect(await standings.of('mainnet')).toMatchObject({ head: { number: 1 }, reverts: '(1,7)' })
})

/** Facts of one folded block, each of which tells what was written to its tables. */
function factTables() {
  const asked: string[] = []
  const written = new Map<string, number>()
  const facts: Record<string, string> = { starts: '1 a', reverts: '(0,0)', odd: '0', weak: '0' }
  let onRecent = (): void => {}
  const warehouse: WarehouseReader = {
    async query<Row>(sql: string) {
      const named = [...sql.matchAll(/'(\w+)' AS fact/g)].map(([, fact = '']) => fact)
      if (named.length > 0) {
        asked.push(...named)
        const told = named.filter((fact) => facts[fact] !== undefined)
        return told.map((fact) => ({ fact, part: '', value: facts[fact] })) as Row[]
      }
      if (sql.includes('AS parent')) {
        onRecent()
        return [{ number: '1', hash: '0x01', parent: '0x00', time_sec: 12 }] as Row[]
      }
      if (sql.includes('AS logs_check')) asked.push('check')
      return (sql.includes('AS logs_check') && facts.weak !== '0' ? [{ logs_check: 'bloom' }] : []) as Row[]
    },
    writesOf: (tables) => tables.reduce((sum, table) => sum + (written.get(table) ?? 0), 0),
  }
  const write = (table: string): void => void written.set(table, (written.get(table) ?? 0) + 1)
  const onNextRecent = (then: () => void): void => {
    onRecent = () => {
      onRecent = () => {}
      then()
    }
  }
  return { asked, facts, warehouse, write, onNextRecent }
}

test('of the facts those are asked for again whose tables were written to', async () => {
  const { asked, facts, warehouse, write } = factTables()
  const standings = new NftStandings(warehouse, OLD_AT_ONCE_MS)
  await standings.of('mainnet')
  expect(asked).toEqual(expect.arrayContaining(['starts', 'final', 'reverts', 'odd', 'metadata', 'weak']))
  expect(asked).not.toContain('check')
  asked.length = 0
  write('nft_blocks')
  await standings.of('mainnet')
  expect(asked).toEqual(['starts'])
  asked.length = 0
  write('nft_odd_logs')
  facts.odd = '1'
  expect(await standings.of('mainnet')).toMatchObject({ hasOddLogs: true })
  expect(asked).toEqual(['odd'])
})

test('a weakly checked block that comes while the head is looked for is found', async () => {
  const { facts, warehouse, write, onNextRecent } = factTables()
  const standings = new NftStandings(warehouse, OLD_AT_ONCE_MS)
  onNextRecent(() => {
    write('weak_blocks')
    facts.weak = '1'
  })
  expect(await standings.of('mainnet')).toMatchObject({ check: 'bloom' })
})

test('a look that ends behind another one, and finds the same, has found its object', async () => {
  const state = { writes: 0, looks: 0 }
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const warehouse: WarehouseReader = {
    async query<Row>(sql: string) {
      if (!sql.includes("'starts' AS fact"))
        return (sql.includes('AS parent') ? [{ number: '1', hash: '0x01', parent: '0x00', time_sec: 12 }] : []) as Row[]
      if (++state.looks === 3) await held
      return [
        { fact: 'starts', part: '', value: '1 a' },
        { fact: 'metadata', part: 'contracts', value: String(state.writes) },
      ] as Row[]
    },
    writesOf: () => state.writes,
  }
  const standings = new NftStandings(warehouse, OLD_AT_ONCE_MS)
  await standings.of('mainnet')
  state.writes = 2
  const [first, second] = [standings.of('mainnet'), standings.of('mainnet')]
  const found = await first
  release()
  expect(await second).toBe(found)
})
