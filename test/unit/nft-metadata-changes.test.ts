import { beforeEach, describe, expect, test } from 'vitest'
import { UnreadNoticer } from '../../ingest/metadata/notice-unread.ts'
import { readAsked } from '../../ingest/metadata/read-some.ts'
import { ART, CHAIN, COINS, changed, documentsOf, idOf, MAX, mint, tell, tellBlock, World } from './given-metadata.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const stores = storesOfFile()
let world: World
beforeEach(() => {
  world = new World(() => stores().warehouse)
})

/** The contracts that a search of the tables asks for. */
async function searched(): Promise<readonly string[]> {
  const asked: string[] = []
  const jobQueue = { request: async (name: string, id: string) => void asked.push(`${name} ${id.slice(4, 8)}`) }
  const { warehouse } = stores()
  await new UnreadNoticer({ warehouse, jobQueue, nowSec: () => world.nowSec, nowMs: () => 0 }, CHAIN).look()
  return asked
}

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

  test.each<[string, Record<string, unknown>]>([
    ['MetadataUpdate', { tokenId: 2n }],
    ['BatchMetadataUpdate', { fromTokenId: 2n, toTokenId: 3n }],
  ])('is searched for until it was read again, though others were read longer ago: %s %s', async (name, args) => {
    await stores().empty()
    await tellBlock(
      stores().warehouse,
      1,
      [1n, 2n, 3n].map((id) => mint(ART, id)),
    )
    await world.run(ART)
    await tellBlock(stores().warehouse, 11, [changed(ART, name, args)])
    expect(await searched()).toEqual(['reread-nft-contract 0x01'])
    world.block = 12
    await world.run(ART, 'changed')
    expect(await searched()).toEqual([])
  })

  test('is not searched for of a token that nobody saw moved', async () => {
    await stores().empty()
    await readAsked(world.reading(), { chain: CHAIN, contract: COINS, tokenId: idOf(7n) })
    await tell(stores().warehouse, 'nft.metadata', world.told)
    await tellBlock(stores().warehouse, 11, [changed(COINS, 'URI', { value: '', id: 7n })])
    expect(await searched()).toEqual([])
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

describe('what was read after a block that was reverted', () => {
  const revert = (number: bigint, isReverted: boolean, version: number) =>
    stores().warehouse.command(
      `INSERT INTO reverted_blocks
       VALUES ('${CHAIN}', ${number}, unhex('${idOf(number).slice(2)}'), ${Number(isReverted)}, ${version})`,
    )
  beforeEach(async () => {
    await stores().empty()
    await tellBlock(stores().warehouse, 1, [mint(ART, 1n), mint(ART, 2n), mint(COINS, 1n)])
    world.block = 9
    await world.run(COINS)
    world.block = 10
    world.uriOf = (_, id) => (id === 1n ? 'data:application/json,{"name":"orphaned"}' : undefined)
    await world.run(ART)
    await tellBlock(stores().warehouse, 11, [mint(ART, 3n)])
    world.block = 11
    await world.run(ART)
    world.uriOf = (_, id) => `data:application/json,{"name":"canonical ${id}"}`
    world.block = 12
    world.called = []
  })

  test('is read again, whether there was a document or not, and nothing else is', async () => {
    expect(await searched()).toEqual([])
    await revert(10n, true, 1)
    expect(await searched()).toEqual(['reread-nft-contract 0x01'])
    expect(await world.run(ART, 'changed')).toEqual({ read: 2, isMore: false })
    expect(world.called).toEqual(['tokenURI 0x01 1', 'tokenURI 0x01 2'])
    expect(await documentsOf(stores().warehouse, ART)).toMatchObject([
      { id: '1', title: 'canonical 1' },
      { id: '2', title: 'canonical 2' },
    ])
    expect(await searched()).toEqual([])
    expect(await world.run(ART, 'changed')).toEqual({ read: 0, isMore: false })
  })

  test('is read again beside what the contract says has changed', async () => {
    await tellBlock(stores().warehouse, 12, [changed(ART, 'MetadataUpdate', { tokenId: 3n })])
    await revert(10n, true, 1)
    expect(await world.run(ART, 'changed')).toEqual({ read: 3, isMore: false })
  })

  test('stands where the block is canonical again', async () => {
    await revert(10n, true, 1)
    await revert(10n, false, 2)
    expect(await searched()).toEqual([])
    expect(await world.run(ART, 'changed')).toEqual({ read: 0, isMore: false })
  })
})
