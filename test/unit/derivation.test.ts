import { expect, it } from 'vitest'
import type { QueryParams, Warehouse } from '../../infra/ports/warehouse.ts'
import { Derivation } from '../../processors/derive.ts'
import { pubkeyOf } from './synthetic-chain.ts'

/** What a server takes in one parameter unless it is told otherwise (http_max_field_value_size). */
const PARAMETER_BYTES_MAX = 128 * 1024

it('asks for the accounts and the days of many public keys in questions that a server takes', async () => {
  const pubkeys = Array.from({ length: 12_345 }, (_, index) => pubkeyOf(index))
  const asked: string[] = []
  const askedOfDays: string[] = []
  const warehouse: Pick<Warehouse, 'query'> = {
    async query<Row>(sql: string, { pubkeys: some = [] }: QueryParams = {}) {
      expect(JSON.stringify(some).length).toBeLessThan(PARAMETER_BYTES_MAX)
      if (sql.includes('finalized_blocks')) {
        askedOfDays.push(...(some as string[]))
        return []
      }
      asked.push(...(some as string[]))
      if ((some as string[]).length === 0)
        return [{ genesis_time_sec: '0', seconds_per_slot: 12, slots_per_epoch: 32 }] as Row[]
      return [{ account: `of ${asked.length}` }] as Row[]
    },
  }
  const accounts: string[] = []
  const wanted = {
    day: async () => {},
    fold: async () => {},
    account: async ({ account }: { account: string }) => void accounts.push(account),
  }
  await new Derivation(warehouse as Warehouse, wanted).derive([{ kind: 'proposers', chain: 'mainnet', pubkeys }])
  expect(asked).toEqual(pubkeys)
  expect(askedOfDays).toEqual(pubkeys)
  expect(accounts.at(-1)).toBe('of 12345')
})

it('asks by the rows that name them where public keys are many, and by the keys where rows were taken back', async () => {
  const asked: QueryParams[] = []
  const warehouse: Pick<Warehouse, 'query'> = {
    async query<Row>(_sql: string, { pubkeys, versions }: QueryParams = {}) {
      if (pubkeys !== undefined || versions !== undefined)
        asked.push({ pubkeys: pubkeys ?? [], versions: versions ?? [] })
      return [] as Row[]
    },
  }
  const wanted = { day: async () => {}, fold: async () => {}, account: async () => {} }
  const { derive } = new Derivation(warehouse as Warehouse, wanted)
  const touched = [7n, 8n].map((version, event) => {
    const pubkeys = Array.from({ length: 600 }, (_, index) => pubkeyOf(1_000 * event + index))
    const rows = { table: 'validator_owners', version } as const
    return { kind: 'validators', chain: 'mainnet', pubkeys, rows } as const
  })
  await derive(touched)
  expect(asked).toEqual([{ pubkeys: [], versions: [7n, 8n] }])
  asked.length = 0
  await derive(touched.map((one) => ({ ...one, rows: undefined })))
  expect(asked.flatMap(({ pubkeys }) => pubkeys)).toEqual(touched.flatMap(({ pubkeys }) => pubkeys))
  asked.length = 0
  await derive(touched.slice(0, 1))
  expect(asked).toEqual([{ pubkeys: touched[0]?.pubkeys, versions: [] }])
})

it('asks once for the clock of a chain that has none, until clocks were written', async () => {
  const state = { clocks: 0, writes: 0 as number | undefined, hasClock: false }
  const warehouse: Pick<Warehouse, 'query' | 'writesOf'> = {
    async query<Row>() {
      state.clocks++
      return (state.hasClock ? [{ genesis_time_sec: '0', seconds_per_slot: 12, slots_per_epoch: 32 }] : []) as Row[]
    },
    writesOf: (tables) => (tables.includes('chains') ? state.writes : 0),
  }
  const days: number[] = []
  const wanted = {
    day: async ({ day }: { day: number }) => void days.push(day),
    fold: async () => {},
    account: async () => {},
  }
  const { derive } = new Derivation(warehouse as Warehouse, wanted)
  const touched = [{ kind: 'execution block', chain: 'scroll', unixSec: 0 }] as const
  await derive(touched)
  await derive(touched)
  expect([state.clocks, days]).toEqual([1, []])
  // What comes while it is looked for is not missed.
  state.writes = undefined
  await derive(touched)
  await derive(touched)
  expect([state.clocks, days]).toEqual([3, []])
  Object.assign(state, { writes: 1, hasClock: true })
  await derive(touched)
  expect([state.clocks, days.length]).toEqual([4, 1])
})
