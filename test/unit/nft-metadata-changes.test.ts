import type { Hex } from 'viem'
import { beforeEach, describe, expect, test } from 'vitest'
import { UnreadNoticer } from '../../ingest/metadata/notice-unread.ts'
import { tokensPerRun } from '../../ingest/metadata/read-some.ts'
import { readNftContract, rereadNftContract } from '../../schemas/jobs/read-nft.ts'
import { ART, CHAIN, COINS, changed, MAX, mint, tellBlock, World } from './given-metadata.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const stores = storesOfFile()
let world: World
beforeEach(() => {
  world = new World(() => stores().warehouse)
})

describe('what contracts say has changed', () => {
  test.each<[string, Record<string, unknown>, readonly string[]]>([
    ['MetadataUpdate', { tokenId: 2n }, ['2']],
    ['BatchMetadataUpdate', { fromTokenId: 2n, toTokenId: 3n }, ['2', '3']],
    ['BatchMetadataUpdate', { fromTokenId: 0n, toTokenId: MAX }, ['1', '2', '3']],
    ['BatchMetadataUpdate', { fromTokenId: 3n, toTokenId: 2n }, []],
    ['URI', { value: 'javascript:alert(1)', id: 3n }, ['3']],
    ['ContractURIUpdated', {}, []],
  ])('is read again: %s %s', async (name, args, ids) => {
    await stores().empty()
    await tellBlock(
      stores().warehouse,
      1,
      [1n, 2n, 3n].map((id) => mint(ART, id)),
    )
    await world.run(ART)
    world.called = []
    expect(await world.run(ART, 'changed')).toMatchObject({ read: 0 })
    await tellBlock(stores().warehouse, 11, [changed(ART, name, args)])
    world.block = 12
    expect(await world.run(ART, 'changed')).toEqual({ read: ids.length, isMore: false })
    expect(world.called).toEqual(ids.map((id) => `tokenURI 0x01 ${id}`))
    const own = world.told.filter(({ type }) => type === 'nft.contract-read')
    expect(own).toHaveLength(name === 'ContractURIUpdated' ? 1 : 0)
    expect(await world.run(ART, 'changed')).toMatchObject({ read: 0 })
  })

  test('all the time and of everything waits once for each contract, and every contract has its turn', async () => {
    await stores().empty()
    const contracts = Array.from({ length: 1_000 }, (_, i): Hex => `0x${(i + 1).toString(16).padStart(40, '0')}`)
    const queue = new Map<string, { contract: Hex }>()
    const asked: string[] = []
    const jobQueue = {
      request: async (name: string, id: string, input: unknown) => {
        asked.push(name)
        if (name === rereadNftContract.name) queue.set(id, input as { contract: Hex })
      },
    }
    const noticing = { warehouse: stores().warehouse, jobQueue, nowSec: () => world.nowSec, nowMs: () => world.nowMs }
    const noticer = new UnreadNoticer(noticing, CHAIN)
    await noticer.look()
    const first = mint(ART, 1n).log
    await tellBlock(
      stores().warehouse,
      1,
      contracts.map((contract) => ({ contract, log: first })),
    )
    await noticer.look()
    expect(asked).toEqual(contracts.map(() => readNftContract.name))
    const { log } = changed(ART, 'BatchMetadataUpdate', { fromTokenId: 0n, toTokenId: MAX })
    for (let block = 20; block < 25; block++) {
      await tellBlock(
        stores().warehouse,
        block,
        contracts.map((contract) => ({ contract, log })),
      )
      await noticer.look()
    }
    // Five blocks, each of which changes everything: one job for each contract.
    expect(queue.size).toBe(1_000)
    // A round reads no more than so many tokens, and some of each.
    expect(tokensPerRun(queue.size) * queue.size).toBeLessThanOrEqual(2_000)
    expect(tokensPerRun(queue.size)).toBeGreaterThanOrEqual(1)
    expect(tokensPerRun(100_000)).toBe(1)
    expect(tokensPerRun(1)).toBe(200)
    // Who has something new to be read for the first time waits in another queue.
    asked.length = 0
    await tellBlock(stores().warehouse, 41, [mint(COINS, 1n)])
    await noticer.look()
    expect(asked).toEqual([readNftContract.name])
  })

  test('of more changes than are told apart is everything since the oldest of those', async () => {
    await stores().empty()
    await tellBlock(
      stores().warehouse,
      1,
      [1n, 2n].map((id) => mint(ART, id)),
    )
    await world.run(ART)
    for (let block = 11; block < 16; block++)
      await tellBlock(
        stores().warehouse,
        block,
        Array.from({ length: 30 }, () => changed(ART, 'MetadataUpdate', { tokenId: 1n })),
      )
    world.block = 20
    expect(await world.run(ART, 'changed')).toMatchObject({ read: 2 })
    expect(await world.run(ART, 'changed')).toMatchObject({ read: 0 })
  })

  test('begins with those that were read longest ago', async () => {
    await stores().empty()
    await tellBlock(
      stores().warehouse,
      1,
      [1n, 2n, 3n].map((id) => mint(ART, id)),
    )
    await world.run(ART)
    await tellBlock(stores().warehouse, 11, [changed(ART, 'MetadataUpdate', { tokenId: 1n })])
    world.block = 12
    await world.run(ART, 'changed')
    await tellBlock(stores().warehouse, 13, [changed(ART, 'BatchMetadataUpdate', { fromTokenId: 0n, toTokenId: MAX })])
    world.block = 14
    world.called = []
    await world.run(ART, 'changed', 2_000)
    expect(world.called).toEqual(['tokenURI 0x01 2'])
    await world.run(ART, 'changed', 2_000)
    await world.run(ART, 'changed', 2_000)
    expect(world.called).toEqual(['tokenURI 0x01 2', 'tokenURI 0x01 3', 'tokenURI 0x01 1'])
  })
})

describe('a search of the tables', () => {
  test('finds what nobody told of: unread tokens, those that are due, and changes', async () => {
    await stores().empty()
    const asked: string[] = []
    const jobQueue = { request: async (name: string, id: string) => void asked.push(`${name} ${id.slice(4, 8)}`) }
    const look = () => {
      asked.length = 0
      const noticing = { warehouse: stores().warehouse, jobQueue, nowSec: () => world.nowSec, nowMs: () => 0 }
      return new UnreadNoticer(noticing, CHAIN).look()
    }
    await tellBlock(stores().warehouse, 1, [mint(ART, 1n), mint(COINS, 1n)])
    await look()
    expect(asked.toSorted()).toEqual(['read-nft-contract 0x01', 'read-nft-contract 0x02'])
    await world.run(ART)
    world.answer = () => ({ status: 'failed', isLate: false, reason: '' })
    await world.run(COINS)
    await look()
    expect(asked).toEqual([])
    world.nowSec += 30
    await look()
    expect(asked).toEqual(['read-nft-contract 0x02'])
    world.nowSec -= 30
    await tellBlock(stores().warehouse, 11, [
      changed(ART, 'MetadataUpdate', { tokenId: 1n }),
      changed(COINS, 'ContractURIUpdated', {}),
    ])
    await look()
    expect(asked.toSorted()).toEqual(['reread-nft-contract 0x01', 'reread-nft-contract 0x02'])
  })
})
