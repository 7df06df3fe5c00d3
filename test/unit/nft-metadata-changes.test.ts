import { beforeEach, describe, expect, test } from 'vitest'
import { ART, changed, MAX, mint, tellBlock, World } from './given-metadata.ts'
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
