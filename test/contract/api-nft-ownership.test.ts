import type { Address } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ART, type Block, COINS, timeOf } from '../unit/given-nft-chain.ts'
import {
  ANN,
  amounts,
  BOB,
  BURNED_AT,
  base,
  CID,
  FINAL,
  type GivenNftApi,
  HEAD,
  MAX,
  openGivenNftApi,
  tokens,
  ZED,
} from './given-nft-api.ts'

let nft: GivenNftApi
beforeAll(async () => {
  nft = await openGivenNftApi()
})
afterAll(() => nft[Symbol.asyncDispose]())
const get: GivenNftApi['get'] = (...asked) => nft.get(...asked)

describe('ownership', () => {
  test('at the head is that of the canonical chain, with the block that it is of', async () => {
    const answer = await get('getNFTsForOwner', `owner=${ANN}`)
    expect(tokens(answer)).toEqual(['art 1: 1', 'art 4: 1', 'coins 7: 6'])
    const since = answer.body.owner_nfts.map((row: { acquired: { block_number: number } }) => row.acquired.block_number)
    expect(since).toEqual([1, 6, 1])
    const { hash } = nft.blocks[HEAD - 1] as Block
    expect(answer.body).toMatchObject({
      total_count: 3,
      page_key: null,
      valid_at: { block_number: HEAD, block_hash: hash, block_timestamp: timeOf(HEAD) },
      coverage: { from_block: 1, to_block: HEAD, check: 'receipts', is_whole: true, reason: null },
    })
    expect(answer.headers.get('x-valid-at')).toBe(
      `block_number=6, block_hash="${hash}", block_timestamp=${timeOf(HEAD)}`,
    )
    expect(amounts(await get('getOwnersForContract', `contract_address=${ART}`))).toEqual({
      [ANN]: '2',
      [BOB]: '1',
      [CID]: '1',
    })
    expect(amounts(await get('getOwnersForContract', `contract_address=${COINS}&token_id=7`))).toEqual({
      [ANN]: '6',
      [BOB]: '4',
    })
  })

  test('is told after any past block, by number, hash or word', async () => {
    const at = async (block: string | number) => tokens(await get('getNFTsForOwner', `owner=${ANN}&block=${block}`))
    expect(await at(1)).toEqual(['art 1: 1', 'art 2: 1', 'coins 7: 10'])
    expect(await at((nft.blocks[1] as Block).hash)).toEqual(['art 1: 1', 'coins 7: 6'])
    expect(await at('0x2')).toEqual(['art 1: 1', 'coins 7: 6'])
    expect(await at('latest')).toEqual(['art 1: 1', 'art 4: 1', 'coins 7: 6'])
    for (const word of ['finalized', 'safe']) {
      const { body } = await get('getOwnersForContract', `contract_address=${ART}&block=${word}`)
      expect(body.valid_at.block_number, word).toBe(FINAL)
    }
  })

  test('after a block that is to come, is not covered, was reverted or is unknown is refused, and says why', async () => {
    const detailOf = async (block: string | number | bigint, chain?: string) => {
      const { status, body } = await get(
        'isHolderOfContract',
        `contract_address=${ART}&wallet=${ANN}&block=${block}`,
        chain,
      )
      expect(status).toBe(400)
      return body.detail
    }
    expect(await detailOf(7)).toMatch(/in the future: the newest indexed one is 6/)
    expect(await detailOf(10n ** 26n + 1n)).toMatch(/^block 100000000000000000000000001 is in the future/)
    expect(await detailOf(99, 'scroll_mainnet')).toMatch(/not covered: the first indexed one is 100/)
    expect(await detailOf(nft.orphan.hash)).toMatch(/orphaned/)
    expect(await detailOf(`0x${'ee'.repeat(32)}`)).toMatch(/no block of this hash/)
    expect(await detailOf('finalized', 'scroll_mainnet')).toMatch(/no block is known to be final/)
    expect(await detailOf('yesterday')).toMatch(/block is not a block/)
  })

  test('of what was burned is nobody’s, and is not counted', async () => {
    const { body } = await get('getOwnersForContract', `contract_address=${ART}`)
    expect(body.total_count).toBe(3)
    expect((await get('getNFTsForOwner', `owner=${BURNED_AT}`)).body).toMatchObject({ owner_nfts: [], total_count: 0 })
    expect((await get('getOwnersForNFT', `contract_address=${ART}&token_id=3`)).body).toMatchObject({
      owners: [],
      total_count: 0,
    })
  })

  test('tells which rows are final', async () => {
    const { body } = await get('getNFTsForOwner', `owner=${ANN}`)
    expect(
      body.owner_nfts.map((row: { token_id: string; finality: string }) => `${row.token_id} ${row.finality}`),
    ).toEqual(['1 finalized', '4 pending', '7 finalized'])
  })

  test('of amounts that no contract can have says so, and stays within 256 bits for a token', async () => {
    const { body } = await get('getOwnersForNFT', `contract_address=${COINS}&token_id=8`)
    expect(body.owners).toEqual([
      {
        owner_address: CID,
        amount: MAX.toString(),
        is_amount_whole: true,
        is_inconsistent: true,
        acquired: { block_number: 4, block_timestamp: timeOf(4) },
        finality: 'pending',
      },
    ])
  })

  test('that nobody can know is not denied', async () => {
    const asked = async (contract: string, wallet: string, chain: string) =>
      (await get('isHolderOfContract', `contract_address=${contract}&wallet=${wallet}`, chain)).body
    expect(await asked(ART, BOB, 'scroll_mainnet')).toMatchObject({
      isHolderOfContract: true,
      isholderOfContract: true,
    })
    expect(await asked(COINS, ANN, 'scroll_mainnet')).toMatchObject({
      isHolderOfContract: null,
      isholderOfContract: null,
      coverage: { from_block: 100, check: 'bloom', is_whole: false, reason: 'starts_later' },
    })
    expect(await asked(ART, ZED, 'eth_mainnet')).toMatchObject({ isHolderOfContract: false, isholderOfContract: false })
  })

  test('of what began before the first block is not counted', async () => {
    const counted = async (question: string, chain: string) =>
      (await get('getOwnersForContract', question, chain)).body.total_count
    for (const question of [`contract_address=${ART}`, `contract_address=${ART}&token_id=1`]) {
      expect(await counted(question, 'scroll_mainnet')).toBeNull()
      expect(await counted(question, 'eth_mainnet')).toBeGreaterThan(0)
    }
    const csv = await fetch(`${nft.api.url}${base('scroll_mainnet')}/owners.csv?contract_address=${ART}`)
    expect(csv.headers.get('x-coverage')).toBe('from_block=100, is_whole=?0')
  })

  test('by contracts has each once', async () => {
    const { body } = await get('getContractsForOwner', `owner=${CID}`)
    expect(body.contracts).toMatchObject([
      { contract_address: ART, token_type: 'ERC721', total_balance: '1', num_distinct_tokens_owned: '1' },
      { contract_address: COINS, token_type: 'ERC1155', total_balance: MAX.toString(), num_distinct_tokens_owned: '1' },
    ])
    expect(body.total_count).toBe(2)
  })

  test('by contracts says since when the oldest token is held that is held then', async () => {
    const since = async (owner: Address, block: string | number, chain?: string) => {
      const { body } = await get('getContractsForOwner', `owner=${owner}&block=${block}`, chain)
      return body.contracts.map(
        ({ acquired }: { acquired: { block_number: number; block_timestamp: number } | null }) => {
          if (acquired !== null) expect(acquired.block_timestamp).toBe(timeOf(acquired.block_number))
          return acquired?.block_number ?? null
        },
      )
    }
    expect(await since(ANN, 'latest')).toEqual([1, 1])
    expect(await since(CID, 'latest')).toEqual([3, 4])
    // Of his two tokens one was burned.
    expect(await since(BOB, 2)).toEqual([1, 2])
    expect(await since(BOB, 'latest')).toEqual([2, 2])
    // Of what there are many of, some may have been his before the first block.
    expect(await since(BOB, 'latest', 'scroll_mainnet')).toEqual([100, null])
  })
})
