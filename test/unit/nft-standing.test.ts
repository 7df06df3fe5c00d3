import { expect, test } from 'vitest'
import { type NftStanding, NftStandings } from '../../api/nft/standing.ts'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'

/** Tables of one folded block, that tell of their writes or not. */
function tables({ tellsWrites }: { readonly tellsWrites: boolean }) {
  const state = { reverts: '(0,0)', writes: 0 as number | undefined, statements: 0, looks: 0 }
  const reader: WarehouseReader = {
    query<Row>(sql: string) {
      state.statements++
      const isLook = sql.includes("'start' AS part")
      if (isLook) state.looks++
      const rows = isLook
        ? [
            { part: 'start', value: '1' },
            { part: 'reverts', value: state.reverts },
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
      const isLook = sql.includes("'start' AS part")
      if (isLook && looks++ > 0) {
        // What is asked at the same time is answered before.
        await Promise.resolve()
        isReverted = true
      }
      if (sql.includes('AS hash FROM')) return (isReverted ? [{ hash: 'AB' }] : []) as Row[]
      const rows = await warehouse.query<{ part: string; value: string }>(sql)
      const now = (row: { part: string; value: string }) =>
        row.part === 'reverts' && isReverted ? { ...row, value: '(1,7)' } : row
      return (isLook ? rows.map(now) : rows) as Row[]
    },
  }
  let looks = 0
  const standings = new NftStandings(reverting, OLD_AT_ONCE_MS)
  expect((await standings.of('mainnet'))?.head.number).toBe(2)
  expect(await standings.of('mainnet')).toMatchObject({ head: { number: 1 }, reverts: '(1,7)' })
})
