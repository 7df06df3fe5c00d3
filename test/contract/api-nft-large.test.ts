import type { Address } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ART, NOBODY, timeOf } from '../unit/given-nft-chain.ts'
import { MAINNET } from './api-fixture.ts'
import { ANN, type Answer, BOB, base, CID, type GivenNftApi, openGivenNftApi } from './given-nft-api.ts'

/** Where the rows of the large ones are. */
const LARGE: Address = `0x${'0a'.repeat(20)}`
const MIDDLE: Address = `0x${'0b'.repeat(20)}`
const SELLER: Address = `0x${'0c'.repeat(20)}`
const BUSY: Address = `0x${'0d'.repeat(20)}`
const OWNERS_OF_MIDDLE = 7_000
const OWNERS_OF_LARGE = 120_000
const OWNERS_OF_TOKEN = 40_000
const TOKENS_OF_SELLER = 60_000
/** Holds more of LARGE than a page of contracts looks at. */
const HOARDER: Address = `0x${'0f'.repeat(20)}`
const TOKENS_OF_HOARDER = 30_000
/** Have one token of ART and one of LARGE since block 2; of ART many more came after it, or in a reverted block. */
const LATER: Address = `0x${'10'.repeat(20)}`
const REORGED: Address = `0x${'11'.repeat(20)}`
const TOKENS_THAT_CAME = 20_000
/** The same with more later rows than are read. */
const FLOODED: Address = `0x${'12'.repeat(20)}`
const TOKENS_THAT_FLOODED = 45_000
const BLOCKS_OF_BUSY = 150_000
/** For any page, of all its statements together. */
const ROWS_READ_MAX = 100_000
let nft: GivenNftApi
beforeAll(async () => {
  nft = await openGivenNftApi()
  await fillLarge(nft, MAINNET.names.name)
})
afterAll(() => nft[Symbol.asyncDispose]())
const get: GivenNftApi['get'] = (...asked) => nft.get(...asked)

/** Rows of the fold as many transfers in its first blocks would have left them. */
async function fillLarge({ warehouse, blocks, orphan }: GivenNftApi, chain: string): Promise<void> {
  const hashes = blocks.map(({ hash }) => hash.slice(2))
  const bytes = (text: string) => `toFixedString(unhex('${text.slice(2)}'), ${(text.length - 2) / 2})`
  const padded = (width: number) =>
    `toFixedString(unhex(leftPad(hex(number + 4294967296), ${width * 2}, '0')), ${width})`
  const at = (number: string) =>
    `${number} AS block, toFixedString(unhex({hashes:Array(String)}[least(block, 6)]), 32) AS hash`
  const insert = (table: string, columns: string, from = 'numbers(1)') =>
    warehouse.command(`INSERT INTO ${table} SELECT '${chain}', 1, ${columns} FROM ${from}`, { hashes })
  const totals = (key: string, figures: string, from?: string) =>
    insert('nft_totals', `${key}, ${figures}, 0, 0, 0, 0`, from)
  const ofContract = (contract: Address, holder: string) => `'contract_account', ${bytes(contract)}, ${holder}`
  const none = bytes(NOBODY)
  for (const [contract, count] of [
    [LARGE, OWNERS_OF_LARGE],
    [MIDDLE, OWNERS_OF_MIDDLE],
  ] as const)
    await totals(ofContract(contract, padded(20)), `${at('1')}, 1, 1, 0, 0`, `numbers(${count})`)
  await totals(`'contract', ${bytes(LARGE)}, ${none}`, `${at('1')}, ${OWNERS_OF_LARGE}, 0, 0, ${OWNERS_OF_LARGE}`)
  // All but the last of its tokens were sold in the second block.
  const sold = `(SELECT number, arrayJoin([1, 2]) AS block FROM numbers(${TOKENS_OF_SELLER}) WHERE NOT (block = 2 AND number = ${TOKENS_OF_SELLER - 1}))`
  await insert(
    'nft_holder_tokens',
    `${bytes(SELLER)}, ${bytes(LARGE)}, ${padded(32)}, 'ERC721', ${at('block')}, 2 - block, 0, block, 0`,
    sold,
  )
  await totals(`'account', ${bytes(SELLER)}, ${none}`, `${at('2')}, 1, 0, 0, 1`)
  for (const [contract, tokens] of [
    [ART, 1],
    [LARGE, TOKENS_OF_HOARDER],
    [MIDDLE, 1],
  ] as const) {
    await totals(`'account_contract', ${bytes(HOARDER)}, ${bytes(contract)}`, `${at('2')}, ${tokens}, ${tokens}, 0, 0`)
    await insert(
      'nft_holder_tokens',
      `${bytes(HOARDER)}, ${bytes(contract)}, ${padded(32)}, 'ERC721', ${at('2')}, 1, 0, 2, ${timeOf(2)}`,
      `numbers(${tokens})`,
    )
  }
  for (const [holder, tokens, came] of [
    [LATER, TOKENS_THAT_CAME, at('5')],
    [REORGED, TOKENS_THAT_CAME, `${orphan.number}, ${bytes(orphan.hash)}`],
    [FLOODED, TOKENS_THAT_FLOODED, at('5')],
  ] as const) {
    const token = (contract: Address, when: string, standard = 'ERC721') =>
      `${bytes(holder)}, ${bytes(contract)}, ${padded(32)}, '${standard}', ${when}, 1, 0, 2, ${timeOf(2)}`
    await insert('nft_holder_tokens', token(ART, came, 'ERC1155'), `numbers(${tokens})`)
    for (const contract of [ART, LARGE]) {
      await totals(`'account_contract', ${bytes(holder)}, ${bytes(contract)}`, `${at('2')}, 1, 1, 0, 0`)
      await insert('nft_holder_tokens', token(contract, at('2')), `numbers(${tokens}, 1)`)
    }
  }
  for (const contract of [LARGE, MIDDLE])
    await insert(
      'nft_transfer_lists',
      `'contract', ${bytes(contract)}, 1, 0, 0, unhex({hashes:Array(String)}[1]) AS hash, ${timeOf(1)}, 0, hash, ${bytes(contract)}, 'ERC721', 'Transfer',
       ${none}, ${bytes(SELLER)}, ${padded(32)}, 1, ${none}, ''`,
    )
  // One of its tokens has many holders; the next one has one.
  await insert(
    'nft_token_holders',
    `${bytes(LARGE)}, ${bytes(`0x${'00'.repeat(31)}01`)}, 'ERC1155', ${padded(20)}, ${at('1')}, 1, 0, 1, 0`,
    `numbers(${OWNERS_OF_TOKEN})`,
  )
  await insert(
    'nft_token_holders',
    `${bytes(LARGE)}, ${bytes(`0x${'00'.repeat(31)}02`)}, 'ERC721', ${bytes(BOB)}, ${at('1')}, 1, 0, 1, 0`,
  )
  // One owner that changed in each of many later blocks, and two that did not.
  await totals(
    ofContract(BUSY, bytes(BOB)),
    'if(number = 0, 1, 10 + number) AS block, unhex({hashes:Array(String)}[1]), 1, 1, 0, 0',
    `numbers(${BLOCKS_OF_BUSY})`,
  )
  for (const holder of [ANN, CID]) await totals(ofContract(BUSY, bytes(holder)), `${at('1')}, 1, 1, 0, 0`)
  await totals(`'contract', ${bytes(BUSY)}, ${none}`, `${at('1')}, 3, 0, 0, 3`)
}

/** Rows that the engine has read of all tables so far. */
async function rowsRead(): Promise<number> {
  const [row] = await nft.warehouse.query<{ value: string }>(
    "SELECT value FROM system.events WHERE event = 'SelectedRows'",
  )
  return Number(row?.value)
}

describe('a page of what is large', () => {
  const readBy = async (query: () => Promise<Answer>): Promise<Answer> => {
    const before = await rowsRead()
    const answer = await query()
    expect(answer.status).toBe(200)
    expect((await rowsRead()) - before).toBeLessThanOrEqual(ROWS_READ_MAX)
    return answer
  }

  test('reads at most 100,000 rows, at the beginning and further on, total included', async () => {
    // Without a page size, as all lists are asked for by who knows none.
    const query = `contract_address=${LARGE}`
    let next = ''
    for (let page = 0; page < 3; page++) {
      const { body } = await readBy(() => get('getOwnersForContract', query + next))
      expect(body.owners).toHaveLength(1_000)
      expect(body.total_count).toBe(OWNERS_OF_LARGE)
      next = `&page_key=${body.page_key}`
    }
  })

  test('reads at most 100,000 rows where nearly all was sold, and comes to what was not', async () => {
    const found: string[] = []
    let next = ''
    let pages = 0
    do {
      const { body } = await readBy(() => get('getNFTsForOwner', `owner=${SELLER}${next}`))
      expect(body.total_count).toBe(1)
      found.push(...body.owner_nfts.map((row: { token_id: string }) => row.token_id))
      next = body.page_key === null ? '' : `&page_key=${body.page_key}`
      pages++
    } while (next !== '')
    expect(found).toEqual([String(4_294_967_296 + TOKENS_OF_SELLER - 1)])
    expect(pages).toBeGreaterThan(1)
  })

  test('reads at most 100,000 rows where a contract has more tokens than are looked at, and says what it knows', async () => {
    const { body } = await readBy(() => get('getContractsForOwner', `owner=${HOARDER}`))
    expect(
      body.contracts.map((row: { contract_address: string; token_type: string; acquired: unknown }) => [
        row.contract_address,
        row.token_type,
        row.acquired,
      ]),
    ).toEqual([
      [ART, 'ERC721', { block_number: 2, block_timestamp: timeOf(2) }],
      [LARGE, 'ERC721', null],
      [MIDDLE, 'ERC721', null],
    ])
  })

  test.each([
    ['later blocks have', `owner=${LATER}&block=2`],
    ['a reverted block has', `owner=${REORGED}`],
  ])('says since when contracts are held, however many rows %s', async (_, query) => {
    const { body } = await readBy(() => get('getContractsForOwner', query))
    const acquired = body.contracts.map((row: { acquired: unknown }) => row.acquired)
    expect(acquired).toEqual(Array(2).fill({ block_number: 2, block_timestamp: timeOf(2) }))
  })

  test('does not say since when contracts are held where more rows came later than are read', async () => {
    const { body } = await readBy(() => get('getContractsForOwner', `owner=${FLOODED}&block=2`))
    const told = body.contracts.map((row: { token_type: string; acquired: unknown }) => [row.token_type, row.acquired])
    expect(told).toEqual(Array(2).fill(['ERC721', null]))
  })

  test('reads at most 100,000 rows where a token of a list has many holders', async () => {
    const tokens = [1, 2, 3].map((token_id) => ({ contract_address: LARGE, token_id }))
    const { body } = await readBy(() =>
      get('getNFTMetadataBatch', `tokens=${encodeURIComponent(JSON.stringify(tokens))}`),
    )
    expect(body.map(({ token_type }: { token_type: string | null }) => token_type)).toEqual(['ERC1155', 'ERC721', null])
  })

  test('reads at most 100,000 rows where one owner has changed more often than that', async () => {
    const { body } = await readBy(() => get('getOwnersForContract', `contract_address=${BUSY}`))
    expect(body.owners).toHaveLength(3)
    await readBy(() => get('isHolderOfContract', `contract_address=${BUSY}&wallet=${BOB}`))
  })
})

test('a snapshot of all owners has all of a large contract', async () => {
  const response = await fetch(`${nft.api.url}${base()}/owners.csv?contract_address=${MIDDLE}`)
  const lines = (await response.text()).trim().split('\n')
  expect(lines).toHaveLength(OWNERS_OF_MIDDLE + 1)
  expect(new Set(lines).size).toBe(OWNERS_OF_MIDDLE + 1)
})
