import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Api, openApi } from '../../api/http/server.ts'
import { formatPageKey } from '../../api/nft/page-key.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { MAINNET } from './api-fixture.ts'
import { type GivenApi, openGivenApi, TOKEN } from './given-api.ts'

// Each list of something large, at its beginning, further on, and in the past: what all statements of a page read together.

const ROWS_READ_MAX = 100_000
const CHAIN = MAINNET.names.name
const BLOCKS = 1_500
const ROWS_PER_BLOCK = 100
const ROWS = BLOCKS * ROWS_PER_BLOCK
/** Of every so manyth block there was another one, with as many rows. */
const REVERTED_EVERY = 10
const PAST = 700
const [LARGE, WHALE, OTHER, SMALL] = ['0a', '0b', '0c', '0d'].map((byte) => `0x${byte.repeat(20)}`) as [
  string,
  string,
  string,
  string,
]

const NOBODY = `0x${'00'.repeat(20)}`

let warehouse: Warehouse
let api: Api
let given: GivenApi

beforeAll(async () => {
  given = await openGivenApi()
  warehouse = given.warehouse
  await fill()
  api = await openApi({ ...given.partsOf([MAINNET]), host: '127.0.0.1', port: 0 })
  // How the chain stands is looked at once for all questions.
  await readBy(`isHolderOfContract?contract_address=${LARGE}&wallet=${SMALL}`)
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await given[Symbol.asyncDispose]()
})

const bytes = (text: string) => `unhex('${text.slice(2)}')`
const wide = (number: string, width: number) => `unhex(leftPad(hex(toUInt64(${number})), ${width * 2}, '0'))`
/** Bytes that spread keys, so that blocks and keys are not in one order. */
const spread = (number: string, width: number) =>
  `unhex(concat(leftPad(hex(toUInt32(${number} * 2654435761)), 8, '0'), leftPad(hex(toUInt64(${number})), ${width * 2 - 8}, '0')))`

/** Rows of the fold, as 150,000 transfers of one contract to one wallet and to many leave them; and those of reverted blocks. */
async function fill(): Promise<void> {
  // Each number is a transfer; of a reverted block there is another one with the same place.
  const numbers = `(
    SELECT number, intDiv(number, ${ROWS_PER_BLOCK}) + 1 AS block, arrayJoin(if(block % ${REVERTED_EVERY} = 0, [1, 2], [1])) AS branch,
      number % ${ROWS_PER_BLOCK} AS place, unhex(concat(leftPad(hex(toUInt32(block)), 8, '0'), leftPad(hex(toUInt8(branch)), 56, '0'))) AS hash
    FROM numbers(${ROWS})
  )`
  const insert = (table: string, columns: Readonly<Record<string, string>>, from = numbers) =>
    warehouse.command(
      `INSERT INTO ${table} (chain, ${Object.keys(columns).join(', ')}) SELECT '${CHAIN}', ${Object.values(columns).join(', ')} FROM ${from}`,
    )
  const at = { start: '1', block_number: 'block', block_hash: 'hash' }
  const blocks = `(SELECT DISTINCT block, branch, hash FROM ${numbers})`
  const transfers = `block * ${ROWS_PER_BLOCK}`
  const block = { ...at, parent_hash: hashOf('block - 1'), time: 'toDateTime(block)', transfers, singles: transfers }
  await insert('nft_blocks', block, `${blocks} WHERE branch = 1`)
  await insert(
    'reverted_blocks',
    { block_number: 'block', block_hash: 'hash', is_reverted: '1', version: '1' },
    `${blocks} WHERE branch = 2`,
  )
  const amount = { amount: '1', excess: '0' }
  const since = { since_block: 'block', since_time: 'toDateTime(block)' }
  const token = { token_id: spread('number', 32), standard: "'ERC721'" }
  const [contract, holder] = [{ contract: bytes(LARGE) }, { holder: bytes(WHALE) }]
  await insert('nft_holder_tokens', { ...at, ...holder, ...contract, ...token, ...amount, ...since })
  const others = { other: spread('number', 20), tokens: '1', ...amount }
  await insert('nft_totals', { ...at, kind: "'account_contract'", key: bytes(WHALE), ...others })
  await insert('nft_totals', { ...at, kind: "'contract_account'", key: bytes(LARGE), ...others })
  const shared = { ...contract, token_id: wide('1', 32), standard: "'ERC1155'", holder: spread('number', 20) }
  await insert('nft_token_holders', { ...at, ...shared, ...amount, ...since })
  await insert('nft_changes', { ...at, ...contract, ...token, ...holder, ...amount })
  // Rows with the columns' defaults are those of nobody.
  const totals = (kind: string, key: string, columns: Readonly<Record<string, string>>) =>
    insert('nft_totals', { ...at, kind: `'${kind}'`, key: bytes(key), ...columns }, blocks)
  const counts = { tokens: transfers, others: transfers, sent: transfers, sent_singles: transfers }
  const received = { received: transfers, received_singles: transfers }
  await totals('account_contract', WHALE, { other: bytes(LARGE), tokens: transfers, amount: transfers })
  for (const contract of [LARGE, SMALL]) await totals('contract', contract, counts)
  for (const account of [WHALE, OTHER]) await totals('account', account, { ...counts, ...received })
  const holders = { ...contract, token_id: wide('1', 32), standard: "'ERC1155'", amount: transfers }
  await insert('nft_token_holders', { ...at, ...holders }, blocks)
  const transfer = {
    ...{ ...at, time: 'toDateTime(block)', log_index: 'place', batch_index: '0', transaction_index: 'place' },
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
    await insert('nft_transfer_lists', { ...transfer, ...list, ...ends })
  }
  const read = { block_number: '1', read_at: 'now()', version: '1' }
  for (const [kind, told] of [
    ['document', '{"json":"{}","read_sec":1}'],
    ['state', '{"token_uri":"ipfs://a","attempts":0,"read_sec":1,"retry_sec":0}'],
  ])
    await insert('nft_token_told', {
      ...{ token: `concat(${bytes(LARGE)}, ${token.token_id})`, kind: `'${kind}'`, told: `'${told}'`, version: '1' },
    })
  await insert('nft_contracts', { ...read, contract: spread('number', 20), name: "'a'", has_name: '1' })
  await fillOthers()
}

/** Of each table of lists: that many others have one row each. Most of its pieces begin with another key then than the one before. */
const OTHERS = 1_600_000

async function fillOthers(): Promise<void> {
  const other = spread('number + 1000000', 20)
  const at = { start: '1', block_number: '1', block_hash: hashOf('1') }
  const keyed: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['nft_holder_tokens', { holder: other, contract: bytes(SMALL), standard: "'ERC721'" }],
    ['nft_token_holders', { contract: other, holder: bytes(OTHER), standard: "'ERC721'" }],
    ['nft_totals', { kind: "'contract'", key: other }],
    ['nft_transfer_lists', { kind: "'to'", key: other }],
  ]
  for (const [table, key] of keyed) {
    const columns = { chain: `'${CHAIN}'`, ...at, ...key }
    await warehouse.command(
      `INSERT INTO ${table} (${Object.keys(columns).join(', ')}) SELECT ${Object.values(columns).join(', ')} FROM numbers(${OTHERS})`,
    )
    await warehouse.merge(table, await partitionOf(table), new AbortController().signal)
  }
}

async function partitionOf(table: string): Promise<string> {
  const [partition] = await warehouse.query<{ id: string }>(
    'SELECT DISTINCT partition_id AS id FROM system.parts WHERE active AND table = {table:String}',
    { table },
  )
  return partition?.id ?? ''
}

/** Of the block of this number that was not reverted. */
const hashOf = (number: string) => `unhex(concat(leftPad(hex(toUInt32(${number})), 8, '0'), leftPad('01', 56, '0')))`

/** Rows that the engine has read of all tables so far. */
async function rowsRead(): Promise<number> {
  const [row] = await warehouse.query<{ value: string }>("SELECT value FROM system.events WHERE event = 'SelectedRows'")
  return Number(row?.value)
}

async function readBy(path: string): Promise<{ readonly text: string; readonly rows: number }> {
  const before = await rowsRead()
  const response = await fetch(`${api.url}/nft/${MAINNET.names.nftName}/${TOKEN}/${path}`)
  const text = await response.text()
  if (response.status === 500) throw new Error(given.logged.join('\n').slice(-3_000))
  expect({ path, status: response.status, text: response.status === 200 ? '' : text }).toEqual({
    ...{ path, status: 200, text: '' },
  })
  return { text, rows: (await rowsRead()) - before }
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
/** What a page key may add: the pieces that it lies in. */
const NEAR_ROWS = 16_384

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

test.each(LISTS.filter(([, operation]) => operation !== 'getAssetsTransfer'))(
  'a page of %s in the past reads at most 100,000 rows',
  async (_what, operation, query) => {
    const { text, rows } = await readBy(`${operation}?${query}&block=${PAST}`)
    expect(rows).toBeLessThanOrEqual(ROWS_READ_MAX)
    expect(JSON.parse(text)).toMatchObject({ total_count: PAST * ROWS_PER_BLOCK })
  },
)

test.each(LISTS.slice(0, 5))(
  'a page of %s near the end reads no more than one at the beginning',
  async (_what, operation, query) => {
    const values = Object.fromEntries(new URLSearchParams(query))
    const { page_size: _size, ...filter } = values
    const [head] = await warehouse.query<{ hash: string }>(
      `SELECT concat('0x', lower(hex(block_hash))) AS hash FROM nft_blocks WHERE block_number = ${BLOCKS} AND substring(hex(block_hash), 64) = '1'`,
    )
    const last = `0xff${'00'.repeat(19)}`
    const after: Readonly<Record<string, readonly string[]>> = {
      getNFTsForOwner: [LARGE, `0xff${'00'.repeat(31)}`, 'ERC721'],
      getOwnersForNFT: [last],
    }
    const of = { secret: '', chain: CHAIN, operation, filter: JSON.stringify(filter) }
    const at = { start: 1, number: BLOCKS, hash: head?.hash ?? '' }
    const key = formatPageKey(of, { ...at, after: after[operation] ?? [last] })
    const first = await readBy(`${operation}?${query}`)
    const near = await readBy(`${operation}?${query}&page_key=${key}`)
    expect(near.rows).toBeLessThanOrEqual(first.rows + NEAR_ROWS)
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
