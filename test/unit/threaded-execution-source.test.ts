import { beforeAll, describe, expect, it } from 'vitest'
import { openExecutionSource } from '../../infra/execution/source.ts'
import { openThreadedExecutionSource } from '../../infra/execution/threaded-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { pause } from '../../schemas/wait.ts'
import { silentLog } from './silent-log.ts'
import { openSyntheticNode } from './synthetic-node.ts'
import { openRpcNode, Refusal, SyntheticRpcChain } from './synthetic-rpc-chain.ts'

const LIMITS = { retryDelayMs: 1 }
let chain: SyntheticRpcChain

beforeAll(async () => {
  chain = await SyntheticRpcChain.open()
  await chain.extendTo(8)
  chain.finalizedNumber = 3
})

describe('an execution source in a thread of its own', () => {
  it('answers what one in this thread does, and tells how its nodes are', async () => {
    await using node = await openRpcNode(chain)
    const options = { urls: [node.url], log: silentLog, binding: 'ethereum', limits: LIMITS } as const
    await using here = await openExecutionSource(options)
    await using there = await openThreadedExecutionSource(options)
    expect(there.status()).toMatchObject([{ name: 'execution node 1', state: 'unknown' }])
    expect(await there.chainId()).toBe(await here.chainId())
    expect(await there.head()).toEqual(await here.head())
    expect(await there.finalized()).toEqual(await here.finalized())
    // Side by side: each block's columns are its own.
    const numbers = [1, 2, 3, 4, 5, 6, 7, 8]
    const blocks = await Promise.all(numbers.map((number) => there.blockByNumber(number)))
    expect(blocks).toEqual(await Promise.all(numbers.map((number) => here.blockByNumber(number))))
    expect(await there.blockByHash(chain.head.hash)).toEqual(blocks.at(-1))
    expect(await there.blockByNumber(9)).toBeUndefined()
    expect(there.status()).toMatchObject([{ state: 'up' }])
  })

  it('fails with the node’s fault, and tells it to the log', async () => {
    const lines: string[] = []
    const log: Log = { ...silentLog, warn: (_, message) => void lines.push(message) }
    await using node = await openRpcNode(chain, (method, result) =>
      method === 'eth_getBlockReceipts' ? new Refusal(-32_005, 'limit exceeded') : result,
    )
    await using source = await openThreadedExecutionSource({ urls: [node.url], log, binding: 'layer', limits: LIMITS })
    await expect(source.blockByNumber(2)).rejects.toThrow(
      expect.objectContaining({ name: 'AppError', code: 'node_unreachable', retryable: true }),
    )
    expect(lines).toEqual([expect.stringContaining('execution node 1 is lost')])
  })

  it('ends the questions that are being asked, and its thread, when it is closed', async () => {
    await using node = await openSyntheticNode(() => ({ hang: true }))
    const source = await openThreadedExecutionSource({ urls: [node.url], log: silentLog, binding: 'layer' })
    const asked = source.head()
    asked.catch(() => undefined)
    while (node.seen.length === 0) await pause(5, new AbortController().signal)
    await source[Symbol.asyncDispose]()
    await expect(asked).rejects.toThrow(expect.objectContaining({ code: 'usage' }))
    await expect(source.chainId()).rejects.toThrow('closed')
  })

  it('refuses an address that is none before there is a thread', async () => {
    const opened = openThreadedExecutionSource({ urls: ['ftp://x'], log: silentLog, binding: 'layer' })
    await expect(opened).rejects.toThrow(expect.objectContaining({ code: 'config' }))
  })
})
