import { expect, test } from 'vitest'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { ExecutionSource } from '../../infra/ports/execution-source.ts'
import { backfillBlocks } from '../../ingest/execution/block-backfill.ts'
import type { LogsCheck } from '../../schemas/events/execution-block.ts'
import { answeringFold, askCoverage, weakestCheck } from '../../schemas/tables/block-coverage.ts'
import { EXECUTION_CHAIN, followExecution, ofChain, until } from './follow-synthetic.ts'
import { projectEverything, projecting } from './projecting.ts'
import { hashOf, SyntheticExecutionChain } from './synthetic-execution-chain.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const never = new AbortController().signal
const stores = storesOfFile()

/** The chain's blocks, as if those from a number on were checked by less. */
function checkedBy(source: ExecutionSource, checkOf: (number: number) => LogsCheck): ExecutionSource {
  const checked = <Block extends { readonly header: { readonly number: number } }>(block: Block): Block => ({
    ...block,
    logsCheck: checkOf(block.header.number),
  })
  return {
    ...source,
    blockByHash: async (hash) => checked(await source.blockByHash(hash)),
    blockByNumber: async (number) => {
      const block = await source.blockByNumber(number)
      return block && checked(block)
    },
  }
}

test('a chain is covered from where its blocks are there without a gap, and by the weakest check that any has passed', async () => {
  const { warehouse, empty, openLog } = stores()
  await empty()
  await using eventLog = await openLog()
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 60, 'genesis')
  chain.finalizedNumber = 55
  const coverage = async (log: EventLog = eventLog) => {
    await projectEverything(await projecting(log, warehouse))
    return await askCoverage(warehouse, EXECUTION_CHAIN)
  }
  const fill = (fromBlock: number, toBlock: number, check: LogsCheck) =>
    backfillBlocks(
      { ...ofChain(EXECUTION_CHAIN, eventLog), execution: checkedBy(chain.source, () => check) },
      { fromBlock, toBlock },
      never,
    )
  expect(await coverage()).toBeUndefined()

  await followExecution(eventLog, chain, until(60), { startBlock: 41 })
  const through = { number: 60, hash: hashOf('b60'), timeSec: 1_600_000_000 + 3 * 60 }
  expect(await coverage()).toEqual({ from: 41, through, sinceGenesis: false, check: 'receipts' })

  await fill(11, 30, 'bloom') // behind a gap, nobody knows what became of it
  expect(await coverage()).toEqual({ from: 41, through, sinceGenesis: false, check: 'receipts' })

  await fill(31, 40, 'receipts')
  expect(await coverage()).toEqual({ from: 11, through, sinceGenesis: false, check: 'bloom' })

  await fill(1, 10, 'none')
  expect(await coverage()).toEqual({ from: 1, through, sinceGenesis: true, check: 'none' })
})

test('a weak block that was reverted weakens nothing', async () => {
  const { warehouse, empty, openLog } = stores()
  await empty()
  await using eventLog = await openLog()
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, 6, 'genesis')
  const weak = checkedBy(chain.source, (number) => (number === 6 ? 'none' : 'receipts'))
  await followExecution(eventLog, chain, until(6), { execution: weak })
  chain.extendRange(6, 7, 'b5', 'c')
  await followExecution(eventLog, chain, until(7))
  await projectEverything(await projecting(eventLog, warehouse))
  expect(await askCoverage(warehouse, EXECUTION_CHAIN)).toMatchObject({ from: 1, check: 'receipts' })
  const rows = await warehouse.query<{ rows: string }>('SELECT count() AS rows FROM weak_blocks FINAL')
  expect(rows).toEqual([{ rows: '0' }])
})

test('of several folds the furthest answers, of those the one that has most', () => {
  const fold = (from: number, number: number) => ({ from, through: { number } })
  expect(answeringFold([fold(1, 5), fold(9, 12), fold(7, 12), fold(8, 12)])).toEqual(fold(7, 12))
  expect(answeringFold([])).toBeUndefined()
})

test('the weakest check is what covers all', () => {
  expect(weakestCheck([])).toBe('receipts')
  expect(weakestCheck([{ logs_check: 'none' }, { logs_check: 'bloom' }])).toBe('none')
  expect(weakestCheck([{ logs_check: 'bloom' }])).toBe('bloom')
})
