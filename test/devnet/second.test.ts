import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keccak256, toHex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COLLECTIBLE_721_ADDRESS, ITEMS_1155_ADDRESS, SCENARIO_MNEMONIC } from '../../infra/devnet/execution/genesis.ts'
import {
  COLLECTIONS as COLLECTIONS_OF_OPENZEPPELIN,
  type CollectionName,
  collectionAddress,
} from '../../infra/devnet/execution/scenario-collections.ts'
import { PUBLISHER } from '../../infra/devnet/execution/scenario-state.ts'
import { openSecondChain, type SecondChain, type SecondChainSetup } from '../../infra/devnet/second/open.ts'
import { FIRST_REORG_BLOCK, reorgDepthAfter } from '../../infra/devnet/second/reorgs.ts'
import { openSchedule, type Schedule } from '../../infra/devnet/second/schedule.ts'
import type { Hex } from '../../schemas/eth/hex.ts'
import { receiptsRoot } from '../../schemas/eth/receipts.ts'
import { encodeTransaction } from '../../schemas/eth/signed-transaction.ts'
import { orderedTrieRoot } from '../../schemas/eth/trie.ts'
import { WALLET } from '../wallets.ts'
import { headerHash, type RpcBlock, type RpcReceipt, toCommitted } from './json-rpc.ts'
import { openShortDevnet } from './short-history.ts'

const GENESIS_TIME_SEC = 1_800_000_000
const COLLECTIONS: readonly string[] = [COLLECTIBLE_721_ADDRESS, ITEMS_1155_ADDRESS]

const publisher = mnemonicToAccount(SCENARIO_MNEMONIC, { addressIndex: PUBLISHER }).address
const collectionOf = (name: CollectionName) => collectionAddress(name, publisher)

const SETUP: SecondChainSetup = {
  seed: 'test',
  host: '127.0.0.1',
  port: 0,
  directory: undefined,
  clock: 'manual',
  now: () => GENESIS_TIME_SEC,
  signal: new AbortController().signal,
}

/** On the manual clock, a free port and no folder unless told otherwise. */
function openChain(changes: Partial<SecondChainSetup> = {}): Promise<SecondChain> {
  return openSecondChain({ ...SETUP, genesisTimeSec: GENESIS_TIME_SEC, ...changes })
}

async function ask(url: string, method: string, params: readonly unknown[] = []): Promise<Record<string, unknown>> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) })
  return (await response.json()) as Record<string, unknown>
}

async function rpc<Result>(url: string, method: string, params: readonly unknown[] = []): Promise<Result> {
  const answer = await ask(url, method, params)
  if (answer.error !== undefined) throw new Error(`${method}: ${JSON.stringify(answer.error)}`)
  return answer.result as Result
}

const blockAt = (url: string, at: number | string) =>
  rpc<RpcBlock>(url, 'eth_getBlockByNumber', [typeof at === 'number' ? toHex(at) : at, true])
const receiptsOf = (url: string, hash: Hex) => rpc<RpcReceipt[]>(url, 'eth_getBlockReceipts', [hash])

async function hashes(url: string, from: number, to: number): Promise<Hex[]> {
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index)
  return Promise.all(numbers.map(async (number) => (await blockAt(url, number)).hash))
}

const tokenLogs = (receipts: readonly RpcReceipt[]) =>
  receipts.flatMap(({ logs }) => logs).filter(({ address }) => COLLECTIONS.includes(address))

describe('the second chain', () => {
  const HEAD = FIRST_REORG_BLOCK + 80
  let chain: SecondChain
  let url: string
  /** Numbers 35 to 40 as they are while block 40 is the head. */
  let announced: Hex[]

  beforeAll(async () => {
    chain = await openChain()
    url = chain.url
    await chain.advanceTo(FIRST_REORG_BLOCK)
    announced = await hashes(url, FIRST_REORG_BLOCK - 5, FIRST_REORG_BLOCK)
    await chain.advanceTo(HEAD)
  })
  afterAll(() => chain[Symbol.asyncDispose]())

  it('has an id of its own, and blocks three seconds apart up to the head that was asked for', async () => {
    expect(await rpc(url, 'eth_chainId')).toBe(toHex(7_534_352))
    expect(await rpc(url, 'eth_blockNumber')).toBe(toHex(HEAD))
    expect((await blockAt(url, 'latest')).timestamp).toBe(toHex(GENESIS_TIME_SEC + 3 * HEAD))
  })

  it('has headers that link up, and whose hash and roots follow from their contents', async () => {
    let parentHash = (await blockAt(url, 0)).hash
    for (let number = 1; number <= HEAD; number++) {
      const block = await blockAt(url, number)
      expect([headerHash(block), block.parentHash], `block ${number}`).toEqual([block.hash, parentHash])
      const raw = block.transactions.map((transaction) => encodeTransaction(transaction))
      expect(raw.map((bytes) => keccak256(bytes))).toEqual(block.transactions.map(({ hash }) => hash))
      expect(toHex(orderedTrieRoot(raw))).toBe(block.transactionsRoot)
      const receipts = await receiptsOf(url, block.hash)
      expect(toHex(receiptsRoot(receipts.map(toCommitted)))).toBe(block.receiptsRoot)
      parentHash = block.hash
    }
  })

  it('moves tokens of both kinds in most blocks, leaves some empty, and pays tips to its sequencer alone', async () => {
    const blocks = await Promise.all(Array.from({ length: HEAD }, (_, index) => blockAt(url, index + 1)))
    const logs = await Promise.all(blocks.map(async ({ hash }) => tokenLogs(await receiptsOf(url, hash))))
    expect(logs.filter(({ length }) => length > 0).length).toBeGreaterThan(HEAD / 2)
    expect(new Set(logs.flat().map(({ address }) => address))).toEqual(new Set(COLLECTIONS))
    expect(blocks.filter(({ transactions }) => transactions.length === 0).length).toBeGreaterThan(0)
    const [sequencer, ...others] = new Set(blocks.map(({ miner }) => miner))
    expect(others).toEqual([])
    expect(BigInt(await rpc<Hex>(url, 'eth_getBalance', [sequencer, 'latest']))).toBeGreaterThan(0n)
    expect(blocks.flatMap(({ transactions }) => transactions).filter(({ type }) => type === '0x3')).toEqual([])
  })

  it('replaces its newest three blocks when block 40 was the head, and still tells of them by hash', async () => {
    const canonical = await hashes(url, FIRST_REORG_BLOCK - 5, FIRST_REORG_BLOCK)
    expect(canonical.slice(0, 3)).toEqual(announced.slice(0, 3))
    for (const [index, orphan] of announced.slice(3).entries()) {
      expect(canonical[3 + index]).not.toBe(orphan)
      const block = await rpc<RpcBlock>(url, 'eth_getBlockByHash', [orphan, true])
      expect([block.hash, headerHash(block)]).toEqual([orphan, orphan])
      const receipts = await receiptsOf(url, orphan)
      expect(toHex(receiptsRoot(receipts.map(toCommitted)))).toBe(block.receiptsRoot)
      expect(block.timestamp).toBe((await blockAt(url, block.number)).timestamp)
    }
  })

  it('leaves token movements behind on the orphaned branch that the new one does not have', async () => {
    const movements = async (branch: readonly Hex[]) =>
      new Set(
        (await Promise.all(branch.map(async (hash) => receiptsOf(url, hash)))).flat().map((one) => one.transactionHash),
      )
    const orphaned = (await Promise.all(announced.slice(3).map((hash) => receiptsOf(url, hash)))).flat()
    const kept = await movements(await hashes(url, FIRST_REORG_BLOCK - 2, FIRST_REORG_BLOCK + 1))
    const gone = orphaned.filter(({ transactionHash }) => !kept.has(transactionHash))
    expect(tokenLogs(gone).length).toBeGreaterThan(0)
    expect(orphaned.length).toBeGreaterThan(gone.length) // others are on both branches, in blocks of other hashes
  })

  it('calls a block finalized that 64 others follow, more than any reorg takes back', async () => {
    expect((await blockAt(url, 'finalized')).number).toBe(toHex(HEAD - 64))
    expect((await blockAt(url, 'safe')).number).toBe(toHex(HEAD - 32))
  })

  it('is made again, hash for hash, from the same seed and times, and is another one with others', async () => {
    const expected = await hashes(url, 0, FIRST_REORG_BLOCK + 5)
    const of = async (changes: Partial<SecondChainSetup>, head: number) => {
      await using again = await openChain(changes)
      await again.advanceTo(head)
      return await hashes(again.url, 0, head)
    }
    expect(await of({}, FIRST_REORG_BLOCK + 5)).toEqual(expected)
    for (const changes of [{ seed: 'other' }, { genesisTimeSec: GENESIS_TIME_SEC + 1 }, { blockTimeSec: 5 }]) {
      const other = await of(changes, 5)
      expect(other.slice(1).filter((hash, index) => hash === expected[index + 1])).toEqual([])
    }
  })
})

describe('a second chain that somebody has taken blocks from', () => {
  const DEPTHS = [1, 7, 60]

  it.each(DEPTHS)('replaces its newest %i blocks, with what their transactions did', async (depth) => {
    await using chain = await openChain({ seed: `reorg ${depth}` })
    const head = 75
    await chain.advanceTo(head)
    const before = await hashes(chain.url, 0, head)
    expect(chain.orphan(depth)).toBe(head)
    await chain.advanceTo(head + 1)
    const after = await hashes(chain.url, 0, head + 1)
    expect(after.slice(0, head + 1 - depth)).toEqual(before.slice(0, head + 1 - depth))
    expect(after.slice(head + 1 - depth).filter((hash) => before.includes(hash))).toEqual([])
    // Nonces, owners and balances are those of the new branch: whatever could not be done there would fail.
    await chain.advanceTo(head + 60)
    const made = await hashes(chain.url, head - depth, head + 60)
    const calls = (await Promise.all(made.map((hash) => receiptsOf(chain.url, hash)))).flat()
    const collections: readonly (string | null)[] = COLLECTIONS_OF_OPENZEPPELIN.map(collectionOf)
    const failed = calls.filter(({ to, status }) => collections.includes(to) && status !== '0x1')
    expect([calls.length > 60, failed]).toEqual([true, []])
    const [orphan = '0x'] = before.slice(-1)
    expect((await rpc<RpcBlock>(chain.url, 'eth_getBlockByHash', [orphan, false])).hash).toBe(orphan)
  })

  it.each([
    { from: 20, depth: 5 },
    { from: 70, depth: 60 },
  ])(
    'may lose $depth blocks three times within four of them, and is the same chain after a restart',
    async ({ from, depth }) => {
      const directory = await mkdtemp(join(tmpdir(), 'devnet-'))
      try {
        const before = await (async () => {
          await using chain = await openChain({ directory })
          await chain.advanceTo(from)
          for (const head of [from, from + 1, from + 2]) {
            expect(chain.orphan(depth)).toBe(head)
            await chain.advanceTo(head + 1)
          }
          return await hashes(chain.url, 0, from + 3)
        })()
        await using again = await openChain({ directory })
        await again.advanceTo(from + 3)
        expect(await hashes(again.url, 0, from + 3)).toEqual(before)
      } finally {
        await rm(directory, { recursive: true })
      }
    },
  )

  it('keeps the checkpoint that a restart goes on from: it waits until none lies among the blocks', {
    timeout: 60_000,
  }, async () => {
    const directory = await mkdtemp(join(tmpdir(), 'devnet-'))
    try {
      const before = await (async () => {
        await using chain = await openChain({ directory })
        await chain.advanceTo(150)
        expect(chain.orphan(60)).toBe(200)
        await chain.advanceTo(203)
        return await hashes(chain.url, 0, 203)
      })()
      await using again = await openChain({ directory })
      expect(again.headNumber).toBe(140)
      await again.advanceTo(203)
      expect(await hashes(again.url, 0, 203)).toEqual(before)
    } finally {
      await rm(directory, { recursive: true })
    }
  })

  it('refuses what is no depth, or more than it can take back', async () => {
    await using chain = await openChain()
    for (const depth of [0, 61, 1.5]) expect(() => chain.orphan(depth)).toThrow('1 to 60 blocks')
  })
})

describe('a second chain without finality', () => {
  it('refuses the tags as a node does that knows of none, and answers everything else', async () => {
    await using chain = await openChain({ finalityTags: false })
    await chain.advanceTo(3)
    for (const tag of ['finalized', 'safe']) {
      expect(await ask(chain.url, 'eth_getBlockByNumber', [tag, false])).toMatchObject({
        error: { code: -32_000, message: `${tag} block not found` },
      })
    }
    expect((await blockAt(chain.url, 'latest')).number).toBe('0x3')
  })
})

describe('a second chain that follows the clock', () => {
  const START_SEC = 1_900_000_000.5

  it('begins with its last hour', async () => {
    await using chain = await openSecondChain({ ...SETUP, clock: 'follow', blockTimeSec: 60, now: () => START_SEC })
    await expect.poll(() => chain.headNumber).toBe(60)
    expect((await blockAt(chain.url, 0)).timestamp).toBe(toHex(1_900_000_000 - 3_600))
  })

  it('catches up, then makes the next block when its time comes', async () => {
    const startedMs = performance.now()
    const now = () => START_SEC + (performance.now() - startedMs) / 1000
    const genesisTimeSec = 1_900_000_001 - 6 * 3 // half a second before block 6
    await using chain = await openSecondChain({ ...SETUP, clock: 'follow', genesisTimeSec, now })
    await expect.poll(() => chain.headNumber).toBe(6)
    expect(now()).toBeGreaterThanOrEqual(1_900_000_001)
  })
})

describe('a second chain that was stopped for a day', () => {
  it('goes on after the blocks that it had, at the time of its restart', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'devnet-'))
    const stopSec = GENESIS_TIME_SEC + 3 * 20
    const options = { ...SETUP, genesisTimeSec: GENESIS_TIME_SEC, directory, clock: 'follow' } as const
    try {
      const before = await (async () => {
        await using chain = await openSecondChain({ ...options, now: () => stopSec })
        await chain.advanceTo(20)
        return await hashes(chain.url, 0, 20)
      })()
      const restartSec = stopSec + 86_400
      await using again = await openSecondChain({ ...options, now: () => restartSec })
      await expect.poll(() => again.headNumber).toBe(102)
      expect(await hashes(again.url, 0, 20)).toEqual(before)
      expect((await blockAt(again.url, 'latest')).timestamp).toBe(toHex(restartSec))
    } finally {
      await rm(directory, { recursive: true })
    }
  })
})

describe('a second chain that is opened again', () => {
  it('goes on from its newest checkpoint, and is the chain that it was', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'devnet-'))
    const head = 150
    try {
      const before = await (async () => {
        await using chain = await openChain({ directory })
        await chain.advanceTo(head)
        return await hashes(chain.url, 0, head)
      })()
      await using again = await openChain({ directory })
      expect(again.headNumber).toBe(140)
      await again.advanceTo(head)
      expect(await hashes(again.url, 0, head)).toEqual(before)
    } finally {
      await rm(directory, { recursive: true })
    }
  })
})

describe('the schedule of the second chain', () => {
  const START_SEC = 1_900_000_000

  async function inFolder(test: (open: (nowSec: number) => Schedule) => void): Promise<void> {
    const directory = await mkdtemp(join(tmpdir(), 'devnet-'))
    const path = join(directory, 'schedule.jsonl')
    test((nowSec) => openSchedule({ genesisTimeSec: START_SEC, blockTimeSec: 3, path, nowSec }))
    await rm(directory, { recursive: true })
  }

  it('has no block for the time that the devnet was away, except what was reserved', () =>
    inFolder((open) => {
      const first = open(START_SEC + 30)
      expect([first.numberAt(START_SEC + 30), first.timeSec(10)]).toEqual([10, START_SEC + 30])
      first.reserve(10)
      const dayLater = START_SEC + 86_400
      const second = open(dayLater + 0.7)
      expect([second.timeSec(110), second.timeSec(111)]).toEqual([START_SEC + 330, dayLater])
      expect([second.numberAt(START_SEC + 330), second.numberAt(dayLater - 1), second.numberAt(dayLater + 3)]).toEqual([
        110, 110, 112,
      ])
    }))

  it('is the same in every later run', () =>
    inFolder((open) => {
      const times = (schedule: Schedule) => Array.from({ length: 400 }, (_, number) => schedule.timeSec(number))
      open(START_SEC).reserve(1)
      const second = open(START_SEC + 9_000)
      second.reserve(120)
      const third = open(START_SEC + 50_000)
      expect(times(third).slice(0, 221)).toEqual(times(second).slice(0, 221))
      expect(times(open(START_SEC + 50_001))).toEqual(times(third))
    }))

  it('goes on without a gap when the devnet was away for no longer than what was reserved', () =>
    inFolder((open) => {
      open(START_SEC + 30).reserve(10)
      expect(open(START_SEC + 300).timeSec(500)).toBe(START_SEC + 1_500)
    }))
})

describe('the reorgs of the second chain', () => {
  it('come at known blocks, three, one, two, seven and sixty deep in turn', () => {
    const heads = Array.from({ length: 2_100 }, (_, number) => number)
    const reorgs = heads.map((number) => [number, reorgDepthAfter(number)]).filter(([, depth]) => depth !== 0)
    expect(reorgs).toEqual([
      [40, 3],
      [440, 1],
      [840, 2],
      [1_240, 7],
      [1_640, 60],
      [2_040, 3],
    ])
  })
})

describe('a devnet with a second chain', () => {
  const second = { port: 0, genesisTimeSec: GENESIS_TIME_SEC }

  it('tells where it listens, and moves each chain by itself', async () => {
    await using devnet = await openShortDevnet({ second })
    const url = devnet.secondUrl ?? ''
    await devnet.advanceSecondTo(5)
    await devnet.advanceTo(2)
    expect([devnet.headSlot, await rpc(url, 'eth_blockNumber')]).toEqual([2, '0x5'])
  })

  it('makes the same second chain again after a restart, with what was sent to it', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'devnet-'))
    const raw = await WALLET.signTransaction({
      chainId: 7_534_352,
      nonce: 0,
      to: WALLET.address,
      value: 1n,
      gas: 21_000n,
      maxFeePerGas: 50_000_000_000n,
      maxPriorityFeePerGas: 1n,
    })
    try {
      const before = await (async () => {
        await using devnet = await openShortDevnet({ directory, second })
        const url = devnet.secondUrl ?? ''
        await devnet.advanceSecondTo(50)
        await rpc(url, 'eth_sendRawTransaction', [raw])
        await devnet.advanceSecondTo(52)
        const sent = await rpc<{ blockNumber: Hex }>(url, 'eth_getTransactionReceipt', [keccak256(raw)])
        expect(sent.blockNumber).toBe('0x33')
        return await hashes(url, 0, 52)
      })()
      await using again = await openShortDevnet({ directory, second: { port: 0 } })
      await again.advanceSecondTo(52)
      expect(await hashes(again.secondUrl ?? '', 0, 52)).toEqual(before)
    } finally {
      await rm(directory, { recursive: true })
    }
  })

  it('names the setting when the port is taken', async () => {
    await using other = await openChain()
    const port = Number(new URL(other.url).port)
    await expect(openShortDevnet({ second: { port } })).rejects.toThrow('choose another DEVNET_SECOND_PORT')
  })
})
