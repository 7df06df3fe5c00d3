import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ART, COINS, NOBODY, timeOf } from '../unit/given-nft-chain.ts'
import { ANN, type Answer, BOB, type GivenNftApi, MAX, ODD, openGivenNftApi, ZED } from './given-nft-api.ts'

let nft: GivenNftApi
beforeAll(async () => {
  nft = await openGivenNftApi()
})
afterAll(() => nft[Symbol.asyncDispose]())
const get: GivenNftApi['get'] = (...asked) => nft.get(...asked)

describe('transfers', () => {
  const shown = ({ body }: Answer) =>
    (body.transfers as { block_number: number; contract_address: string; token_id: string; amount: string }[]).map(
      (row) => `${row.block_number} ${row.contract_address === ART ? 'art' : 'coins'} ${row.token_id}: ${row.amount}`,
    )

  test('are those of the canonical chain, the newest first', async () => {
    const answer = await get('getAssetsTransfer', '')
    expect(shown(answer)).toEqual([
      '6 art 4: 1',
      `5 coins 8: ${MAX}`,
      `4 coins 8: ${MAX}`,
      `3 art ${MAX}: 1`,
      '3 art 3: 1',
      '2 art 2: 1',
      '2 coins 7: 4',
      '1 coins 7: 10',
      '1 art 3: 1',
      '1 art 2: 1',
      '1 art 1: 1',
    ])
    expect(answer.body).toMatchObject({ totalCount: 11, total_count: 11, pageKey: null, page_key: null })
    expect(answer.body.transfers[0]).toMatchObject({
      from: NOBODY,
      to: ANN,
      send: NOBODY,
      receive: ANN,
      event_type: 'Transfer',
      block_timestamp: timeOf(6),
      finality: 'pending',
    })
    expect(shown(await get('getAssetsTransfer', 'order=aesc'))).toEqual(shown(answer).reverse())
  })

  test.each([
    [`contract_addresses=${ART}&to_block=2`, 4],
    [`contract_addresses=${ART},${COINS}&from_block=2`, 7],
    [`from_address=${BOB}`, 1],
    [`to_address=${BOB}&category=ERC1155`, 1],
    [`to_address=${BOB}&contract_addresses=${ART}`, 2],
    [`from_address=${ANN}&to_address=${BOB}`, 2],
    [`from_address=${NOBODY}&category=ERC721&category=ERC1155`, 8],
    ['category=ERC721&from_block=2&to_block=4', 3],
    ['category=ERC1155&block=2', 2],
    ['category=&block=2', 6],
    ['from_block=9', 0],
    [`from_address=${ZED}`, 0],
  ])('of %s are %i, on one page as on many', async (query, count) => {
    for (const order of ['asc', 'desc']) {
      const { body } = await get('getAssetsTransfer', `${query}&order=${order}`)
      expect(body.transfers).toHaveLength(count)
      expect(body.totalCount).toBe(count)
      if (order === 'asc' && count < 3) continue
      const found: unknown[] = []
      let next = ''
      do {
        const page = await get('getAssetsTransfer', `${query}&order=${order}&max_count=3${next}`)
        found.push(...page.body.transfers)
        expect(page.body.totalCount).toBe(count)
        next = page.body.pageKey === null ? '' : `&page_key=${page.body.pageKey}`
      } while (next !== '')
      expect(found).toEqual(body.transfers)
    }
  })

  test('tell who has sent them, and what is odd about them', async () => {
    const { body } = await get('getAssetsTransfer', `contract_addresses=${ODD}&order=asc`, 'eth_hoodi')
    const told = body.transfers.map((row: { block_number: number; sender: string; reasons: string[] }) => [
      row.block_number,
      row.sender,
      ...row.reasons,
    ])
    expect(told).toEqual([
      [1, ANN],
      [2, ZED, 'from_not_holder'],
      [2, ZED, 'from_not_holder'],
      [3, ANN],
      [3, ZED, 'minted_again'],
      [4, ZED, 'from_not_holder'],
    ])
    const coined = await get('getAssetsTransfer', `contract_addresses=${COINS}&order=asc`, 'eth_hoodi')
    expect(coined.body.transfers.map((row: { reasons: string[] }) => row.reasons)).toEqual([
      [],
      ['from_lacks_amount'],
      ['no_amount'],
    ])
    for (const [codes, count] of [
      ['true', 3],
      ['any', 3],
      ['false', 9],
      ['no_amount', 8],
      ['from_not_holder,minted_again', 5],
    ] as const) {
      const { body } = await get('getAssetsTransfer', `without_reasons=${codes}`, 'eth_hoodi')
      expect(body.totalCount, codes).toBe(count)
      expect(body.transfers).toHaveLength(count)
    }
  })
})
