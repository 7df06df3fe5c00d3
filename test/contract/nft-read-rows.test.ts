import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  AT,
  BLOCKS,
  bytes,
  type GivenLargeLists,
  OF_BLOCKS,
  OTHER,
  openGivenLargeLists,
  ROWS_PER_BLOCK,
  ROWS_READ_MAX,
  SMALL,
  SO_FAR,
  spread,
  TRANSFERS,
  wide,
} from './given-large-lists.ts'

// Each list of something large, at its beginning, in its middle, at its end, and in the past: what all statements of a page read together.

const ROWS = BLOCKS * ROWS_PER_BLOCK
const PAST = 700
const LARGE = `0x${'0a'.repeat(20)}`
const WHALE = `0x${'0b'.repeat(20)}`
const NOBODY = `0x${'00'.repeat(20)}`

let given: GivenLargeLists
beforeAll(async () => {
  given = await openGivenLargeLists(fill)
})
afterAll(() => given[Symbol.asyncDispose]())
const readBy: GivenLargeLists['readBy'] = (path) => given.readBy(path)

/** Rows of the fold, as 150,000 transfers of one contract to one wallet and to many leave them; and those of reverted blocks. */
async function fill(insert: GivenLargeLists['insert']): Promise<void> {
  const amount = { amount: '1', excess: '0' }
  const since = { since_block: 'block', since_time: 'toDateTime(block)' }
  const token = { token_id: spread('number', 32), standard: "'ERC721'" }
  const [contract, holder] = [{ contract: bytes(LARGE) }, { holder: bytes(WHALE) }]
  await insert('nft_holder_tokens', { ...AT, ...holder, ...contract, ...token, ...amount, ...since }, TRANSFERS)
  const others = { other: spread('number', 20), tokens: '1', ...amount }
  await insert('nft_totals', { ...AT, kind: "'account_contract'", key: bytes(WHALE), ...others }, TRANSFERS)
  await insert('nft_totals', { ...AT, kind: "'contract_account'", key: bytes(LARGE), ...others }, TRANSFERS)
  const shared = { ...contract, token_id: wide('1', 32), standard: "'ERC1155'", holder: spread('number', 20) }
  await insert('nft_token_holders', { ...AT, ...shared, ...amount, ...since }, TRANSFERS)
  await insert('nft_changes', { ...AT, ...contract, ...token, ...holder, ...amount }, TRANSFERS)
  // Rows with the columns' defaults are those of nobody.
  const totals = (kind: string, key: string, columns: Readonly<Record<string, string>>) =>
    insert('nft_totals', { ...AT, kind: `'${kind}'`, key: bytes(key), ...columns }, OF_BLOCKS)
  const counts = { tokens: SO_FAR, others: SO_FAR, sent: SO_FAR, sent_singles: SO_FAR }
  const received = { received: SO_FAR, received_singles: SO_FAR }
  await totals('account_contract', WHALE, { other: bytes(LARGE), tokens: SO_FAR, amount: SO_FAR })
  for (const contract of [LARGE, SMALL]) await totals('contract', contract, counts)
  for (const account of [WHALE, OTHER]) await totals('account', account, { ...counts, ...received })
  const holders = { ...contract, token_id: wide('1', 32), standard: "'ERC1155'", amount: SO_FAR }
  await insert('nft_token_holders', { ...AT, ...holders }, OF_BLOCKS)
  const transfer = {
    ...{ ...AT, time: 'toDateTime(block)', log_index: 'place', batch_index: '0', transaction_index: 'place' },
    ...{ transaction_hash: wide('number', 32), event: "'Transfer'", amount: '1', sender: bytes(OTHER), reasons: "''" },
    ...token,
  }
  const ends = { from_address: bytes(OTHER), to_address: bytes(WHALE) }
  for (const [kind, key] of [
    ['all', NOBODY],
    ['contract', LARGE],
    ['contract', SMALL],
    ['from', OTHER],
    ['to', WHALE],
  ] as const) {
    const list = { kind: `'${kind}'`, key: bytes(key), contract: bytes(kind === 'contract' ? key : LARGE) }
    await insert('nft_transfer_lists', { ...transfer, ...list, ...ends }, TRANSFERS)
  }
  for (const [kind, told] of [
    ['document', '{"json":"{}","read_sec":1}'],
    ['state', '{"token_uri":"ipfs://a","attempts":0,"read_sec":1,"retry_sec":0}'],
  ])
    await insert(
      'nft_token_told',
      { token: `concat(${bytes(LARGE)}, ${token.token_id})`, kind: `'${kind}'`, told: `'${told}'`, version: '1' },
      TRANSFERS,
    )
  const read = { block_number: '1', read_at: 'now()', version: '1' }
  await insert('nft_contracts', { ...read, contract: spread('number', 20), name: "'a'", has_name: '1' }, TRANSFERS)
}

const LISTS: readonly (readonly [string, string, string])[] = [
  ['tokens of a wallet', 'getNFTsForOwner', `owner=${WHALE}`],
  ['tokens of a wallet, of one contract', 'getNFTsForOwner', `owner=${WHALE}&contract_address=${LARGE}`],
  ['contracts of a wallet', 'getContractsForOwner', `owner=${WHALE}`],
  ['owners of a contract', 'getOwnersForContract', `contract_address=${LARGE}&page_size=1000`],
  ['owners of a token', 'getOwnersForNFT', `contract_address=${LARGE}&token_id=1&page_size=1000`],
  ...[
    ['all', ''],
    ['of a contract', `contract_addresses=${LARGE}`],
    ['of two contracts', `contract_addresses=${LARGE},${SMALL}`],
    ['from somebody', `from_address=${OTHER}`],
    ['to somebody', `to_address=${WHALE}`],
    ['from one to another', `from_address=${OTHER}&to_address=${WHALE}`],
    ['of a contract, from one to another', `contract_addresses=${LARGE}&from_address=${OTHER}&to_address=${WHALE}`],
    ['of a contract, to nobody that it went to', `contract_addresses=${LARGE}&to_address=${SMALL}`],
    ['of a standard', 'category=ERC721'],
    ['of a standard that there are none of', `to_address=${WHALE}&category=ERC1155`],
    ['newest first', `to_address=${WHALE}&order=desc`],
    ['of some blocks', `contract_addresses=${LARGE}&from_block=${PAST}&to_block=${PAST + 100}`],
  ].map(([what, filter]) => [`transfers ${what}`, 'getAssetsTransfer', filter] as [string, string, string]),
]
const KEYS_OF_LATER_PAGES = 2

test.each(LISTS)('a page of %s reads at most 100,000 rows, further on, too', async (_what, operation, query) => {
  let next = ''
  for (let page = 0; page <= KEYS_OF_LATER_PAGES; page++) {
    const { text, rows } = await readBy(`${operation}?${query}${next}`)
    expect(rows).toBeLessThanOrEqual(ROWS_READ_MAX)
    expect(rows).toBeGreaterThan(ROWS_PER_BLOCK)
    const { page_key: key } = JSON.parse(text)
    if (key === null) break
    next = `&page_key=${key}`
  }
})

test.each(LISTS)('a page of %s in the past reads at most 100,000 rows', async (_what, operation, query) => {
  const { text, rows } = await readBy(`${operation}?${query}&block=${PAST}`)
  expect(rows).toBeLessThanOrEqual(ROWS_READ_MAX)
  if (operation !== 'getAssetsTransfer') expect(JSON.parse(text)).toMatchObject({ total_count: PAST * ROWS_PER_BLOCK })
})

/** What pages behind the middle of a list, and near its end, go on behind. */
function places(operation: string): readonly (readonly string[])[] {
  const [middle, end] = ['80', 'ff'].map((first) => `0x${first}${'00'.repeat(19)}`) as [string, string]
  switch (operation) {
    case 'getAssetsTransfer':
      return [
        [String(BLOCKS / 2), '50', '0'],
        ['2', '0', '0'],
      ]
    case 'getNFTsForOwner':
      return [middle, end].map((first) => [LARGE, `${first}${'00'.repeat(12)}`, 'ERC721'])
    case 'getOwnersForNFT':
      return [middle, end].map((holder) => ['ERC1155', holder])
    default:
      return [[middle], [end]]
  }
}

test.each(LISTS.filter(([what]) => what !== 'transfers of some blocks'))(
  'a page of %s in the middle, or near the end, reads at most 100,000 rows',
  async (_what, operation, query) => {
    for (const number of [BLOCKS, PAST]) {
      for (const after of places(operation)) {
        const key = given.pageKey(operation, query, { number, after })
        const { rows } = await readBy(`${operation}?${query}&page_key=${key}`)
        expect(rows, `behind ${after} as of ${number}`).toBeLessThanOrEqual(ROWS_READ_MAX)
      }
    }
  },
)

test('whether somebody is a holder reads at most 100,000 rows', async () => {
  for (const block of ['latest', String(PAST)]) {
    const path = `isHolderOfContract?contract_address=${LARGE}&wallet=${WHALE}&block=${block}`
    expect((await readBy(path)).rows).toBeLessThanOrEqual(ROWS_READ_MAX)
  }
})

test('pages of the change feed read at most 100,000 rows', async () => {
  let since = ''
  for (let page = 0; page <= KEYS_OF_LATER_PAGES; page++) {
    const { text, rows } = await readBy(`changes?limit=1000${since}`)
    expect(rows).toBeLessThanOrEqual(ROWS_READ_MAX)
    since = `&since=${JSON.parse(text).next}`
  }
})

test('a list of all owners reads at most 100,000 rows for each 5,000 of them', async () => {
  const { text, rows } = await readBy(`owners.csv?contract_address=${LARGE}`)
  const owners = text.trim().split('\n').length - 1
  expect(owners).toBe(ROWS)
  expect(rows).toBeLessThanOrEqual((owners / 5_000) * ROWS_READ_MAX)
})

const OWNERS = 'owners { ownerAddress amount acquired { blockNumber } } pageKey totalCount'
const HELD = `balance acquired { blockNumber } reasons unknownReasons
  token { tokenId tokenType metadata { title } contract { name tokenType } }`

test.each([
  ['tokens of a wallet', `owner(address: "${WHALE}") { tokens(PAGE) { ownerNfts { ${HELD} } pageKey totalCount } }`],
  [
    'tokens of a wallet, and how they came',
    `owner(address: "${WHALE}") { tokens(withArrival: true, withNewHolders: true, PAGE) { ownerNfts { ${HELD} } pageKey totalCount } }`,
  ],
  [
    'contracts of a wallet',
    `owner(address: "${WHALE}") { contracts(PAGE) { contracts { totalBalance acquired { blockNumber } contract { name } } pageKey totalCount } }`,
  ],
  ['owners of a contract', `contract(address: "${LARGE}") { owners(pageSize: 1000, PAGE) { ${OWNERS} } }`],
  [
    'owners of a token',
    `token(contractAddress: "${LARGE}", tokenId: "1") { owners(pageSize: 1000, PAGE) { ${OWNERS} } }`,
  ],
  [
    'transfers',
    `transfers(toAddress: "${WHALE}", PAGE) { transfers { sender token { tokenType metadata { title } } contract { name } } pageKey totalCount }`,
  ],
])('a page of %s over GraphQL reads at most 100,000 rows', async (_, fields) => {
  for (const block of [undefined, PAST]) {
    let argument = 'pageKey: null'
    for (let page = 0; page <= KEYS_OF_LATER_PAGES; page++) {
      const { text, rows } = await given.readByGraphql(fields.replace('PAGE', argument), page === 0 ? block : undefined)
      expect(rows, `page ${page} ${block}`).toBeLessThanOrEqual(ROWS_READ_MAX)
      const [, key] = /"pageKey":"([^"]+)"/.exec(text) ?? []
      expect(key).toBeDefined()
      argument = `pageKey: "${key}"`
    }
  }
})
