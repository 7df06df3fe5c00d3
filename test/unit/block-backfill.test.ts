import { describe, expect, test } from 'vitest'
import type { EventWriter } from '../../infra/ports/event-log.ts'
import { type BlockBackfillOptions, backfillBlocks, parseBlockRange } from '../../ingest/execution/block-backfill.ts'
import { AppError } from '../../schemas/errors.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { EXECUTION_CHAIN, followExecution, ofChain, until } from './follow-synthetic.ts'
import { failingAfter, standing, told } from './head-topics.ts'
import { SyntheticExecutionChain } from './synthetic-execution-chain.ts'

const never = new AbortController().signal
const eventLog = eventLogOfEachTest()

function chainTo(number: number, finalizedNumber: number | undefined): SyntheticExecutionChain {
  const chain = new SyntheticExecutionChain()
  chain.extendRange(1, number, 'genesis')
  chain.finalizedNumber = finalizedNumber
  return chain
}

type Options = Partial<BlockBackfillOptions> & { readonly signal?: AbortSignal }

const fill = (
  chain: SyntheticExecutionChain,
  [fromBlock, toBlock]: readonly [number, number],
  { signal = never, ...options }: Options = {},
) =>
  backfillBlocks(
    { ...ofChain(EXECUTION_CHAIN, eventLog()), execution: chain.source, ...options },
    { fromBlock, toBlock },
    signal,
  )

const blocks = (from: number, to: number, prefix = 'b') =>
  Array.from({ length: to - from + 1 }, (_, i) => `${prefix}${from + i}`)
const linesOf = () => told(eventLog(), 'execution.blocks')
const standingBlocks = () => standing(eventLog(), 'execution.blocks')

test('a range is two blocks, both inclusive', () => {
  expect(parseBlockRange({ from: 'block:3', to: 'block:9' })).toEqual({ fromBlock: 3, toBlock: 9 })
  expect(parseBlockRange({ from: 'epoch:3', to: '2026-01-01' })).toBeUndefined()
  expect(() => parseBlockRange({ from: 'block:9', to: 'block:3' })).toThrow('exchange them')
  expect(() => parseBlockRange({ from: 'block:9', to: 'epoch:3' })).toThrow('of one kind')
})

describe('a backfill of blocks', () => {
  test('tells them in order, as the head would have, and nothing of finality', async () => {
    const chain = chainTo(120, 100)
    await followExecution(eventLog(), chain, until(120), { startBlock: 81 })
    const ofHead = await linesOf()
    const progress: number[] = []
    const onProgress = ({ done }: { done: number }) => void progress.push(done)
    expect(await fill(chain, [1, 80], { onProgress })).toEqual({ ingested: 80, skipped: 0 })
    expect((await linesOf()).slice(ofHead.length)).toEqual(blocks(1, 80).map((name) => `block ${name}`))
    expect([progress[0], progress.at(-1)]).toEqual([0, 80])
  })

  test('reads several blocks at once', async () => {
    const chain = chainTo(100, 90)
    let [now, most] = [0, 0]
    const execution = {
      ...chain.source,
      blockByNumber: async (number: number) => {
        most = Math.max(most, ++now)
        await new Promise((resolve) => setImmediate(resolve))
        now--
        return chain.source.blockByNumber(number)
      },
    }
    await fill(chain, [1, 80], { execution, concurrency: 8 })
    expect(most).toBe(8)
  })

  test('that was interrupted goes on where it was; one that is done has nothing to do', async () => {
    const chain = chainTo(200, 150)
    const stop = new AbortController()
    const onProgress = ({ done }: { done: number }) => done >= 32 && stop.abort()
    expect(await fill(chain, [1, 140], { onProgress, signal: stop.signal })).toBeUndefined()
    const before = (await linesOf()).length
    expect(before).toBeLessThan(140)
    expect(await fill(chain, [1, 140])).toEqual({ ingested: 140 - before, skipped: before })
    expect(await linesOf()).toEqual(blocks(1, 140).map((name) => `block ${name}`))
    expect(await fill(chain, [1, 140])).toEqual({ ingested: 0, skipped: 140 })
    expect(await linesOf()).toHaveLength(140)
  })

  test.each([0, 1, 2, 3, 5])('that is killed at append %i leaves nothing out', async (appends) => {
    const chain = chainTo(200, 150)
    const writer: EventWriter = failingAfter(eventLog(), appends, new Error('killed'))
    await expect(fill(chain, [1, 100], { writer })).rejects.toThrow('killed')
    await fill(chain, [1, 100])
    expect(await standingBlocks()).toEqual(blocks(1, 100))
  })

  test('of what is not final is refused, by the tag or by depth', async () => {
    const error = { code: 'usage', message: expect.stringContaining('--to block:50') }
    await expect(fill(chainTo(120, 50), [1, 51])).rejects.toThrow(expect.objectContaining(error))
    const untagged = chainTo(120, undefined)
    await expect(fill(untagged, [1, 51], { finalityDepth: 70 })).rejects.toThrow(expect.objectContaining(error))
    expect(await fill(untagged, [1, 50], { finalityDepth: 70 })).toMatchObject({ ingested: 50 })
  })

  test('takes back what a node told of another branch', async () => {
    const chain = chainTo(200, undefined)
    const stop = new AbortController()
    const onProgress = ({ done }: { done: number }) => done >= 32 && stop.abort()
    await fill(chain, [1, 130], { onProgress, signal: stop.signal })
    const through = (await standingBlocks()).length
    chain.extendRange(through - 2, 210, `b${through - 3}`, 'c')
    await fill(chain, [1, 130])
    expect(await standingBlocks()).toEqual([...blocks(1, through - 3), ...blocks(through - 2, 130, 'c')])
  })

  test('waits for a node that lags, and says when the blocks are gone', async () => {
    const chain = chainTo(100, 90)
    let lagging = 3
    chain.before = (question) => {
      if (question === 'number 40' && lagging-- > 0)
        throw new AppError('node_lagging', 'the node lacks a receipt of block 40', { retryable: true })
    }
    expect(await fill(chain, [1, 80])).toMatchObject({ ingested: 80 })
    chain.prunedBelow = 20
    await expect(fill(chain, [1, 81], { goneAfterMs: 0 })).rejects.toThrow(
      expect.objectContaining({
        code: 'usage',
        message: expect.stringContaining('a node that keeps blocks and receipts'),
      }),
    )
  })

  test('of another chain than the log’s is refused', async () => {
    await fill(chainTo(100, 90), [1, 10])
    const other = chainTo(100, 90)
    other.chainId = 5
    await expect(fill(other, [11, 20])).rejects.toThrow(expect.objectContaining({ code: 'config' }))
  })
})
