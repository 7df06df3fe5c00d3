import { expect, it } from 'vitest'
import { project } from '../../processors/loop/consume.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { givenChain } from './given-chain.ts'
import { dumpTables, projecting } from './projecting.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const TEST_MS = 60_000
const never = new AbortController().signal
const given = givenChain()
const stores = storesOfFile()

it('makes equal rows of a batch, however many of them are in memory together', { timeout: TEST_MS }, async () => {
  const { warehouse, openLog, empty } = stores()
  const projector = PROJECTORS.find(({ group }) => group === 'finalized')
  if (projector === undefined) throw new Error('finalized epochs have a projector')
  const dumps: unknown[] = []
  for (const rowsAtOnce of [1, 100, undefined]) {
    await empty()
    await using eventLog = await openLog(given.events)
    const inserts: string[] = []
    const ports = await projecting(eventLog, {
      ...warehouse,
      insert: (table, columns) => {
        inserts.push(table)
        return warehouse.insert(table, columns)
      },
    })
    const batch = await Array.fromAsync(eventLog.read({ topic: projector.topic, signal: never }))
    await project(ports, projector, batch, rowsAtOnce)
    const parts = inserts.filter((table) => table === 'epoch_parts').length
    if (rowsAtOnce === undefined) expect(parts).toBe(1)
    else expect(parts).toBeGreaterThan(batch.length / (10 * rowsAtOnce))
    if (rowsAtOnce === 1) expect(parts).toBe(batch.length)
    dumps.push(await dumpTables(warehouse))
  }
  expect(dumps[0]).toEqual(dumps[2])
  expect(dumps[1]).toEqual(dumps[2])
})
