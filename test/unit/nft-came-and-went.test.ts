import type { Hex } from 'viem'
import { beforeEach, describe, expect, test } from 'vitest'
import { UnreadNoticer } from '../../ingest/metadata/notice-unread.ts'
import { ALICE, ART, CHAIN, COINS, idOf, mint, NOBODY, statesOf, tellBlock, World } from './given-metadata.ts'
import { ABI, logOf } from './given-nft-log.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const BOB: Hex = `0x${'b2'.repeat(20)}`
const stores = storesOfFile()
const moved = (from: Hex, to: Hex, tokenId: bigint) => ({
  contract: ART,
  log: logOf(ABI, 'Transfer', { from, to, tokenId }),
})

let world: World
beforeEach(async () => {
  await stores().empty()
  world = new World(() => stores().warehouse)
})

/** A block in which something happens, and after which the node answers. */
async function happens(number: number, ...happened: Parameters<typeof tellBlock>[2]): Promise<void> {
  world.block = number
  await tellBlock(stores().warehouse, number, happened)
}
const types = () => world.told.map(({ type }) => type)

/** The contracts that a search of the tables asks for. */
async function searched(): Promise<readonly string[]> {
  const asked: string[] = []
  const jobQueue = { request: async (name: string, id: string) => void asked.push(`${name} ${id.slice(4, 8)}`) }
  const { warehouse } = stores()
  await new UnreadNoticer({ warehouse, jobQueue, nowSec: () => world.nowSec, nowMs: () => 0 }, CHAIN).look()
  return asked
}

describe('the supply of a contract', () => {
  beforeEach(async () => {
    await happens(10, mint(ART, 1n), mint(COINS, 1n))
    await world.run(ART)
    await world.run(COINS)
  })

  test('is read again when a token was minted or burned, and not when one was moved', async () => {
    await happens(11, moved(ALICE, BOB, 1n))
    await world.run(ART)
    expect(types()).toEqual([])
    await happens(12, mint(ART, 2n))
    await world.run(ART)
    expect(types()).toEqual(['nft.contract-read', 'nft.token-read'])
    await world.run(ART)
    expect(types()).toEqual([])
    await happens(13, moved(BOB, NOBODY, 1n))
    await world.run(ART)
    expect(types()).toEqual(['nft.contract-read'])
  })

  test('is not read again of a contract that tells none', async () => {
    await happens(12, mint(COINS, 2n))
    await world.run(COINS)
    expect(types()).toEqual(['nft.token-read'])
  })

  test('is read once a minute, however often tokens are minted, and found by a search when the minute is over', async () => {
    await happens(12, mint(ART, 2n))
    await world.run(ART)
    world.nowMs -= 61_000
    await happens(13, mint(ART, 3n))
    await world.run(ART)
    expect(types()).toEqual(['nft.token-read'])
    expect(await searched()).toEqual([])
    world.nowSec += 60
    expect(await searched()).toEqual(['reread-nft-contract 0x01'])
    await world.run(ART, 'changed')
    expect(types()).toEqual(['nft.contract-read'])
    world.nowSec += 60
    expect(await searched()).toEqual([])
  })

  test('is read again when the block that it was read after was reverted', async () => {
    await stores().warehouse.command(
      `INSERT INTO reverted_blocks VALUES ('${CHAIN}', 10, unhex('${idOf(10n).slice(2)}'), 1, 1)`,
    )
    // Its token was read after the same block; each of both is a reason.
    const both = ['reread-nft-contract 0x01', 'reread-nft-contract 0x02']
    expect((await searched()).toSorted()).toEqual(both)
    world.nowSec += 60
    expect((await searched()).toSorted()).toEqual(both.flatMap((one) => [one, one]))
    world.block = 11
    await world.run(ART, 'changed')
    expect(types()).toEqual(['nft.contract-read', 'nft.token-read'])
    expect(new Set(await searched())).toEqual(new Set(['reread-nft-contract 0x02']))
  })
})

describe('how a contract came to be', () => {
  test.each([
    ['once, where it is known', { block: 3, deployer: ALICE, reason: null }, 1],
    [
      'once, where a contract has made it, which no receipt will ever name',
      { block: 3, deployer: null, reason: 'made_by_contract' },
      1,
    ],
    ['again, where another node may know', { block: null, deployer: null, reason: 'no_old_states' }, 2],
  ] as const)('is asked %s', async (_, deployment, times) => {
    world.deployment = deployment
    await happens(10, mint(ART, 1n))
    await world.run(ART)
    await happens(11, mint(ART, 2n))
    await world.run(ART)
    expect(types()).toEqual(['nft.contract-read', 'nft.token-read'])
    expect(world.searched).toHaveLength(times)
    const [row] = await stores().warehouse.query<Record<string, unknown>>(
      'SELECT deploy_block, deploy_reason FROM nft_contracts FINAL',
    )
    expect(row).toEqual({ deploy_block: String(deployment.block ?? -1), deploy_reason: deployment.reason ?? '' })
  })

  test.each([null, 'made_by_contract'] as const)(
    'is asked again after a block that was reverted: %s',
    async (reason) => {
      world.deployment = { block: 10, deployer: reason === null ? ALICE : null, reason }
      await happens(10, mint(ART, 1n))
      await world.run(ART)
      await stores().warehouse.command(
        `INSERT INTO reverted_blocks VALUES ('${CHAIN}', 10, unhex('${idOf(10n).slice(2)}'), 1, 1)`,
      )
      world.block = 11
      await world.run(ART, 'changed')
      expect(world.searched).toHaveLength(2)
    },
  )
})

describe('a token that was not there when it was read', () => {
  beforeEach(async () => {
    world.uriOf = () => undefined
    await happens(10, mint(ART, 1n), mint(ART, 2n))
    await world.run(ART)
    await happens(11, moved(ALICE, NOBODY, 1n))
    await world.run(ART)
    world.uriOf = (_, id) => `https://a.test/${id}`
  })

  test('is read when it is minted again, whenever its retry is, and others are not', async () => {
    await happens(12, moved(NOBODY, BOB, 1n), moved(ALICE, BOB, 2n))
    expect(await searched()).toContain('read-nft-contract 0x01')
    await world.run(ART)
    expect(types()).toEqual(['nft.contract-read', 'nft.token-read'])
    expect(await statesOf(stores().warehouse, ART)).toMatchObject([
      { id: '1', error: '', block: '12' },
      { id: '2', error: 'CALL_REVERTED', block: '10' },
    ])
    expect(await searched()).toEqual([])
  })

  test('is read once, though it still is not there', async () => {
    world.uriOf = () => undefined
    await happens(12, moved(NOBODY, BOB, 1n))
    expect(await world.run(ART)).toEqual({ read: 1, isMore: false })
    expect(await world.run(ART)).toEqual({ read: 0, isMore: false })
  })

  test('is read once a minute at most, however often it comes and goes', async () => {
    world.uriOf = () => undefined
    await happens(12, moved(NOBODY, BOB, 1n))
    await world.run(ART)
    world.nowMs -= 61_000
    await happens(13, moved(BOB, NOBODY, 1n), moved(NOBODY, BOB, 1n))
    expect(await world.run(ART)).toEqual({ read: 0, isMore: false })
    expect(await world.run(ART)).toEqual({ read: 1, isMore: false })
  })

  test('is not read again for what is told of blocks before', async () => {
    await tellBlock(stores().warehouse, 9, [moved(NOBODY, BOB, 1n)])
    expect(await world.run(ART)).toEqual({ read: 0, isMore: false })
  })
})

test('what was read well is not read again when it is minted again', async () => {
  await happens(10, mint(ART, 1n))
  await world.run(ART)
  await happens(11, moved(ALICE, NOBODY, 1n), moved(NOBODY, BOB, 1n))
  expect(await world.run(ART)).toEqual({ read: 0, isMore: false })
})
