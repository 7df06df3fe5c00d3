import { expect, test } from 'vitest'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { areAccountsKnown } from '../../processors/accounts/accounts-known.ts'

const PARTITION = 3

/** A topic that grows by one event with each look at its end, and a group that has come to another place each time it is asked. */
function topic(places: readonly number[], ends: readonly number[]): Pick<EventLog, 'ends' | 'lag'> {
  let [endsAsked, lagAsked, end] = [0, 0, 0]
  return {
    async ends() {
      end = ends[Math.min(endsAsked++, ends.length - 1)] ?? 0
      return new Map([[PARTITION, BigInt(end)]])
    },
    async lag(_topic, _group, until = new Map([[PARTITION, BigInt(end)]])) {
      return (until.get(PARTITION) ?? 0n) - BigInt(places[Math.min(lagAsked++, places.length - 1)] ?? 0)
    },
  }
}

/** Tables that were filled, or that were made anew since. */
function tables({ areFilled = true } = {}): Warehouse {
  const query = async (sql: string) =>
    sql.includes('filled_from')
      ? [{ log_id: 'log', since_sec: 1, tables: '{"access_tokens":"a"}', is_whole: 1 }]
      : [{ name: 'access_tokens', id: areFilled ? 'a' : 'b' }]
  return { query } as unknown as Warehouse
}

test('accounts are known when all facts of the call are in the tables, however many have come since', async () => {
  const eventLog = topic([7, 9, 10], [10, 12, 14, 16])
  expect(await areAccountsKnown({ eventLog, warehouse: tables(), waitMs: 5_000 })).toBe(true)
})

test('accounts are not known where a fact of the call does not come in time', async () => {
  const eventLog = topic([9], [10, 12, 14, 16])
  expect(await areAccountsKnown({ eventLog, warehouse: tables(), waitMs: 250 })).toBe(false)
})

test('accounts are known at once where nothing is on its way', async () => {
  const eventLog = topic([10], [10])
  expect(await areAccountsKnown({ eventLog, warehouse: tables(), waitMs: 0 })).toBe(true)
})

test('accounts are not known by tables that were made anew', async () => {
  const eventLog = topic([10], [10])
  expect(await areAccountsKnown({ eventLog, warehouse: tables({ areFilled: false }), waitMs: 0 })).toBe(false)
})
