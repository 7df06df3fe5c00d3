import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  AT,
  BLOCKS,
  bytes,
  type GivenLargeLists,
  hashOf,
  hashText,
  OF_BLOCKS,
  OTHER,
  openGivenLargeLists,
  ROWS_READ_MAX,
  SMALL,
  spread,
  wide,
} from './given-large-lists.ts'

// Questions about as many contracts and tokens as one may have, each of them large; and changes of a block that is larger than a page, or
// that was reverted.

const COLLECTIONS = 100
/** As many as a filter may have. */
const FILTERED = 45
const PAST = 700
const HOLDERS = 2_000
const TOKENS = 300
const COLLECTOR = `0x${'0e'.repeat(20)}`
const CROWD = `0x${'01'.repeat(20)}`
/** Of the newest block. */
const CHANGES = 300_000
/** Of them nobody is told: they are burned. */
const BURNED = 100_000
const HOLDERS_OF_CROWD = 200_000
/** At their heights there were other blocks, too. */
const REORGED = 1_400
const DEEP = 1_300
/** As many tokens, with two accounts each, that nobody takes back. */
const MOVED = 25_001

/** Their addresses lie all over a table. */
const addressOf = (i: number) => `0x${(2 * i + 1).toString(16).padStart(2, '0')}${'c0'.repeat(19)}`
const collections = Array.from({ length: COLLECTIONS }, (_, i) => addressOf(i))
const filtered = collections.filter((_, i) => i % 2 === 0).slice(0, FILTERED)

let given: GivenLargeLists
beforeAll(async () => {
  given = await openGivenLargeLists(fill)
})
afterAll(() => given[Symbol.asyncDispose]())
const readBy: GivenLargeLists['readBy'] = (path) => given.readBy(path)

async function fill(insert: GivenLargeLists['insert']): Promise<void> {
  const contract = `concat(char(2 * i + 1), unhex('${'c0'.repeat(19)}'))`
  const each = `(SELECT block, hash, arrayJoin(range(${COLLECTIONS})) AS i FROM ${OF_BLOCKS} WHERE branch = 1)`
  const count = { tokens: 'block', others: 'block', sent: 'block', sent_singles: 'block' }
  const all = `block * ${COLLECTIONS}`
  const counts = { tokens: all, others: all, received: all, received_singles: all, sent: all, sent_singles: all }
  await insert('nft_totals', { ...AT, kind: "'contract'", key: contract, ...count }, each)
  const held = { tokens: 'least(block, 300)', amount: 'least(block, 300)' }
  await insert(
    'nft_totals',
    { ...AT, kind: "'account_contract'", key: bytes(COLLECTOR), other: contract, ...held },
    each,
  )
  await insert(
    'nft_totals',
    { ...AT, kind: "'account'", key: bytes(COLLECTOR), ...counts },
    `${OF_BLOCKS} WHERE branch = 1`,
  )
  const transfer = {
    ...{ ...AT, time: 'toDateTime(block)', log_index: 'i', batch_index: '0', transaction_index: 'i' },
    ...{
      transaction_hash: wide('i', 32),
      event: "'Transfer'",
      amount: '1',
      sender: bytes(OTHER),
      reasons: "''",
      contract,
    },
    ...{ token_id: wide('block', 32), standard: "'ERC721'", from_address: bytes(OTHER), to_address: bytes(COLLECTOR) },
  }
  await insert('nft_transfer_lists', { ...transfer, kind: "'contract'", key: contract }, each)
  await insert('nft_transfer_lists', { ...transfer, kind: "'to'", key: bytes(COLLECTOR) }, each)
  const since = { since_block: 'block', since_time: 'toDateTime(block)' }
  await insert(
    'nft_holder_tokens',
    {
      ...AT,
      holder: bytes(COLLECTOR),
      contract,
      token_id: wide('block', 32),
      standard: "'ERC721'",
      amount: '1',
      ...since,
    },
    `(SELECT * FROM ${each} WHERE block <= ${TOKENS})`,
  )
  // Each has a token that many hold.
  const holders = `(SELECT number AS n, 1 AS block, ${hashOf('1')} AS hash, arrayJoin(range(${COLLECTIONS})) AS i FROM numbers(${HOLDERS}))`
  const many = { ...AT, token_id: wide('1', 32), standard: "'ERC1155'", amount: '1', ...since }
  await insert('nft_token_holders', { ...many, contract, holder: spread('n + 1', 20) }, holders)
  const crowd = { ...many, contract: bytes(CROWD), holder: spread('number + 1', 20) }
  const first = `(SELECT number, 1 AS block, ${hashOf('1')} AS hash FROM numbers(${HOLDERS_OF_CROWD}))`
  await insert('nft_token_holders', crowd, first)
  // Moved in a block that was reverted.
  const moved = { block_number: String(REORGED), block_hash: hashOf(String(REORGED), 2), contract: bytes(CROWD) }
  const ends = { from_address: spread('1', 20), to_address: spread('2', 20), token_id: wide('1', 32), amount: '1' }
  await insert('nft_transfers', { ...moved, ...ends, standard: "'ERC1155'", log_index: 'number' }, 'numbers(1)')
  const others = { ...moved, block_number: String(DEEP), block_hash: hashOf(String(DEEP), 2) }
  await insert(
    'nft_transfers',
    {
      ...{ ...others, standard: "'ERC721'", log_index: 'number', token_id: wide('number', 32), amount: '1' },
      ...{ from_address: spread('number + 1', 20), to_address: spread('number + 50000', 20) },
    },
    `numbers(${MOVED})`,
  )
  // One more block, in which very much has changed.
  const head = { start: '1', block_number: String(BLOCKS + 1), block_hash: hashOf(String(BLOCKS + 1)) }
  const parent = { parent_hash: hashOf(String(BLOCKS)), time: `toDateTime(${BLOCKS + 1})` }
  await insert('nft_blocks', { ...head, ...parent }, 'numbers(1)')
  const change = { contract: spread('number + 3', 20), token_id: wide('number', 32), standard: "'ERC721'", amount: '1' }
  const holder = `if(number < ${BURNED}, ${bytes(`0x${'00'.repeat(18)}dead`)}, ${bytes(COLLECTOR)})`
  await insert('nft_changes', { ...head, ...change, holder }, `numbers(${CHANGES})`)
}

const several = `contract_addresses=${filtered}`
const tokens = encodeURIComponent(
  JSON.stringify(collections.map((contract_address) => ({ contract_address, token_id: 1 }))),
)

test.each([
  ['tokens of 45 contracts', 'getNFTsForOwner', `owner=${COLLECTOR}&${several}`],
  ['tokens, and how they came', 'getNFTsForOwner', `owner=${COLLECTOR}&with_arrival=true&with_new_holders=true`],
  ['tokens of 45 contracts, and how they came', 'getNFTsForOwner', `owner=${COLLECTOR}&${several}&with_arrival=true`],
  ['contracts', 'getContractsForOwner', `owner=${COLLECTOR}`],
  ['transfers of 45 contracts', 'getAssetsTransfer', several],
  ['transfers of 45 contracts, the oldest first', 'getAssetsTransfer', `${several}&order=asc`],
  ['a few transfers of 45 contracts', 'getAssetsTransfer', `${several}&max_count=10`],
  ['transfers of 45 contracts in some blocks', 'getAssetsTransfer', `${several}&from_block=300&to_block=650`],
  ['transfers of 45 contracts to somebody', 'getAssetsTransfer', `${several}&to_address=${COLLECTOR}`],
  [
    'transfers of 45 contracts to somebody in some blocks',
    'getAssetsTransfer',
    `${several}&to_address=${COLLECTOR}&from_block=300&to_block=650`,
  ],
  ['transfers of 45 contracts that nobody has', 'getAssetsTransfer', `${several}&to_address=${SMALL}`],
  ['transfers of 45 contracts of a standard', 'getAssetsTransfer', `${several}&category=ERC1155`],
  ['transfers of 45 contracts without odd ones', 'getAssetsTransfer', `${several}&without_reasons=any`],
  ['100 contracts', 'getContractMetadataBatch', `contract_addresses=${collections}`],
  ['100 tokens that many hold', 'getNFTMetadataBatch', `tokens=${tokens}`],
])('a page of %s reads at most 100,000 rows, at the head and before', async (_, operation, query) => {
  for (const block of ['', `&block=${PAST}`]) {
    let next = ''
    for (let page = 0; page < 2; page++) {
      const { text, rows } = await readBy(`${operation}?${query}${next === '' ? block : next}`)
      expect(rows, `page ${page} ${block}`).toBeLessThanOrEqual(ROWS_READ_MAX)
      const key = JSON.parse(text).page_key
      if (typeof key !== 'string') break
      next = `&page_key=${key}`
    }
  }
})

test('all changes of a block that is larger than a page are told, and each page reads at most 100,000 rows', async () => {
  let since = `1.${BLOCKS}.${hashText(BLOCKS)}`
  let told = 0
  const seen = new Set<string>()
  for (;;) {
    const { text, rows } = await readBy(`changes?since=${since}`)
    expect(rows, `behind ${told}`).toBeLessThanOrEqual(ROWS_READ_MAX)
    const { changes, next, is_at_head } = JSON.parse(text)
    for (const { holdings } of changes)
      for (const { contract_address, token_id } of holdings) {
        told++
        seen.add(`${contract_address} ${token_id}`)
      }
    since = next
    if (is_at_head) break
  }
  expect([told, seen.size]).toEqual([CHANGES - BURNED, CHANGES - BURNED])
})

test('who goes on from a reverted block that has moved a token of very many holders is told of those that moved it', async () => {
  const { text, rows } = await readBy(`changes?since=1.${REORGED}.${hashText(REORGED, 2)}&limit=10`)
  const [revert] = JSON.parse(text).changes
  expect(revert).toMatchObject({ kind: 'revert', block_number: REORGED - 1 })
  expect(revert.holdings).toHaveLength(2)
  expect(rows).toBeLessThanOrEqual(ROWS_READ_MAX)
})

test('who would have to take back more than 50,000 holdings is told to begin anew', async () => {
  expect(await given.statusOf(`changes?since=1.${DEEP}.${hashText(DEEP, 2)}`)).toBe(410)
})
