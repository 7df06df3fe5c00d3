import { expect, it } from 'vitest'
import type { QueryParams, Warehouse } from '../../infra/ports/warehouse.ts'
import { Derivation } from '../../processors/derive.ts'
import { pubkeyOf } from './synthetic-chain.ts'

/** What a server takes in one parameter unless it is told otherwise (http_max_field_value_size). */
const PARAMETER_BYTES_MAX = 128 * 1024

it('asks for the accounts of many public keys in questions that a server takes', async () => {
  const pubkeys = Array.from({ length: 12_345 }, (_, index) => pubkeyOf(index))
  const asked: string[] = []
  const warehouse: Pick<Warehouse, 'query'> = {
    async query<Row>(_: string, { pubkeys: some = [] }: QueryParams = {}) {
      expect(JSON.stringify(some).length).toBeLessThan(PARAMETER_BYTES_MAX)
      asked.push(...(some as string[]))
      return [{ account: `of ${asked.length}` }] as Row[]
    },
  }
  const accounts: string[] = []
  const wanted = {
    day: async () => {},
    account: async ({ account }: { account: string }) => void accounts.push(account),
  }
  await new Derivation(warehouse as Warehouse, wanted).derive([{ kind: 'validators', chain: 'mainnet', pubkeys }])
  expect(asked).toEqual(pubkeys)
  expect(accounts.at(-1)).toBe('of 12345')
})
