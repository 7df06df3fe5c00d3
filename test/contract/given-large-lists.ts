import { expect } from 'vitest'
import { openApi } from '../../api/http/server.ts'
import { meantFilter } from '../../api/nft/meant-filter.ts'
import { formatPageKey } from '../../api/nft/page-key.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { MAINNET } from './api-fixture.ts'
import { openGivenApi, TOKEN } from './given-api.ts'

// An API over rows of the fold that a test makes, beside those of many small lists, which says how many rows the engine has read.

/** For any page, of all its statements together. */
export const ROWS_READ_MAX = 100_000
export const CHAIN = MAINNET.names.name
export const BLOCKS = 1_500
export const ROWS_PER_BLOCK = 100
const ROWS = BLOCKS * ROWS_PER_BLOCK
/** Of every so manyth block there was another one, with as many rows. */
const REVERTED_EVERY = 10
const GRAPHQL_PATH = 'ethereum/mainnet'

export const SMALL = `0x${'0d'.repeat(20)}`
export const OTHER = `0x${'0c'.repeat(20)}`

export const bytes = (text: string) => `unhex('${text.slice(2)}')`
export const wide = (number: string, width: number) => `unhex(leftPad(hex(toUInt64(${number})), ${width * 2}, '0'))`
/** Bytes that spread keys, so that blocks and keys are not in one order. */
export const spread = (number: string, width: number) =>
  `unhex(concat(leftPad(hex(toUInt32(${number} * 2654435761)), 8, '0'), leftPad(hex(toUInt64(${number})), ${width * 2 - 8}, '0')))`

/** Of the block of this number that was not reverted; the others have branch 2. */
export const hashOf = (number: string, branch = 1) =>
  `unhex(concat(leftPad(hex(toUInt32(${number})), 8, '0'), leftPad('0${branch}', 56, '0')))`
/** The same as text. */
export const hashText = (number: number, branch = 1) =>
  `0x${number.toString(16).padStart(8, '0')}${`0${branch}`.padStart(56, '0')}`

/** Each number is a transfer; of a reverted block there is another one with the same place. */
export const TRANSFERS = `(
  SELECT number, intDiv(number, ${ROWS_PER_BLOCK}) + 1 AS block, arrayJoin(if(block % ${REVERTED_EVERY} = 0, [1, 2], [1])) AS branch,
    number % ${ROWS_PER_BLOCK} AS place, unhex(concat(leftPad(hex(toUInt32(block)), 8, '0'), leftPad(hex(toUInt8(branch)), 56, '0'))) AS hash
  FROM numbers(${ROWS})
)`
/** Blocks of both branches: `block`, `branch`, `hash`. */
export const OF_BLOCKS = `(SELECT DISTINCT block, branch, hash FROM ${TRANSFERS})`
/** How many transfers there are up to a block. */
export const SO_FAR = `block * ${ROWS_PER_BLOCK}`
export const AT = { start: '1', block_number: 'block', block_hash: 'hash' } as const

type Columns = Readonly<Record<string, string>>

export interface GivenLargeLists extends AsyncDisposable {
  readonly warehouse: Warehouse
  /** Columns as SQL, of what `from` has. */
  insert(table: string, columns: Columns, from: string): Promise<void>
  /** The status of what is answered at a path of NFTs. */
  statusOf(path: string): Promise<number>
  /** What is answered at such a path, with the rows that were read for it. */
  readBy(path: string): Promise<Read>
  /** The same of what a GraphQL document asks of tokens. */
  readByGraphql(fields: string, block?: number): Promise<Read>
  /** Of a page of what a query asks for that goes on behind a sort key. */
  pageKey(
    operation: string,
    query: string,
    page: { readonly number: number; readonly after: readonly string[] },
  ): string
}

interface Read {
  readonly text: string
  readonly rows: number
}

/** Opens the API once the tables are filled. */
export async function openGivenLargeLists(
  fill: (insert: GivenLargeLists['insert']) => Promise<void>,
): Promise<GivenLargeLists> {
  const given = await openGivenApi()
  const { warehouse } = given
  const insert: GivenLargeLists['insert'] = (table, columns, from) =>
    warehouse.command(
      `INSERT INTO ${table} (chain, ${Object.keys(columns).join(', ')}) SELECT '${CHAIN}', ${Object.values(columns).join(', ')} FROM ${from}`,
    )
  await fillBlocks(insert)
  await fill(insert)
  await fillOthers(warehouse, insert)
  const api = await openApi({ ...given.partsOf([MAINNET]), host: '127.0.0.1', port: 0 })
  const read = async (path: string, init?: RequestInit): Promise<Read> => {
    const before = await rowsRead(warehouse)
    const response = await fetch(`${api.url}/${path}`, init)
    const text = await response.text()
    if (response.status === 500) throw new Error(given.logged.join('\n').slice(-3_000))
    expect({ path, status: response.status, text: response.status === 200 ? '' : text }).toEqual({
      ...{ path, status: 200, text: '' },
    })
    return { text, rows: (await rowsRead(warehouse)) - before }
  }
  const readBy = (path: string) => read(`nft/${MAINNET.names.nftName}/${TOKEN}/${path}`)
  // How the chain stands is looked at once for all questions.
  await readBy(`isHolderOfContract?contract_address=${SMALL}&wallet=${SMALL}`)
  return {
    ...{ warehouse, insert, readBy },
    statusOf: async (path) => (await fetch(`${api.url}/nft/${MAINNET.names.nftName}/${TOKEN}/${path}`)).status,
    async readByGraphql(fields, block) {
      const of = block === undefined ? '' : `(block: "${block}")`
      const body = JSON.stringify({ query: `{ nft${of} { ${fields} } }` })
      const answer = await read(`${GRAPHQL_PATH}/${TOKEN}/graphql`, { method: 'POST', body })
      expect(JSON.parse(answer.text).errors).toBeUndefined()
      return answer
    },
    pageKey(operation, query, { number, after }) {
      const { page_size: _size, max_count: _count, ...values } = Object.fromEntries(new URLSearchParams(query))
      const of = { secret: '', chain: CHAIN, operation, filter: meantFilter(filterOf(operation, values)) }
      return formatPageKey(of, { start: 1, number, hash: hashText(number), after })
    },
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]()
      await given[Symbol.asyncDispose]()
    },
  }
}

/** Parameters as they are read, those in lists and those that nobody gave, too. */
function filterOf(
  operation: string,
  { contract_addresses, category, ...values }: Columns,
): Readonly<Record<string, unknown>> {
  const lists = {
    ...(category === undefined ? {} : { category: category.split(',') }),
    ...(contract_addresses === undefined ? {} : { contract_addresses: contract_addresses.split(',') }),
  }
  if (operation !== 'getAssetsTransfer') return { ...values, ...lists }
  const { from_address, to_address, order = 'desc' } = values
  return {
    ...lists,
    ...(from_address === undefined ? {} : { from_address }),
    ...(to_address === undefined ? {} : { to_address }),
    order,
  }
}

/** The blocks of the chain, without anything in them. */
async function fillBlocks(insert: GivenLargeLists['insert']): Promise<void> {
  const block = {
    ...AT,
    parent_hash: hashOf('block - 1'),
    time: 'toDateTime(block)',
    transfers: SO_FAR,
    singles: SO_FAR,
  }
  await insert('nft_blocks', block, `${OF_BLOCKS} WHERE branch = 1`)
  await insert(
    'reverted_blocks',
    { block_number: 'block', block_hash: 'hash', is_reverted: '1', version: '1' },
    `${OF_BLOCKS} WHERE branch = 2`,
  )
}

/** Of each table of lists: that many others have one row each. Most of its pieces begin with another key then than the one before. */
const OTHERS = 1_600_000

async function fillOthers(warehouse: Warehouse, insert: GivenLargeLists['insert']): Promise<void> {
  const other = spread('number + 1000000', 20)
  const at = { start: '1', block_number: '1', block_hash: hashOf('1') }
  const keyed: readonly (readonly [string, Columns])[] = [
    ['nft_holder_tokens', { holder: other, contract: bytes(SMALL), standard: "'ERC721'" }],
    ['nft_token_holders', { contract: other, holder: bytes(OTHER), standard: "'ERC721'" }],
    ['nft_totals', { kind: "'contract'", key: other }],
    ['nft_transfer_lists', { kind: "'to'", key: other }],
  ]
  for (const [table, key] of keyed) {
    await insert(table, { ...at, ...key }, `numbers(${OTHERS})`)
    await warehouse.merge(table, await partitionOf(warehouse, table), new AbortController().signal)
  }
}

async function partitionOf(warehouse: Warehouse, table: string): Promise<string> {
  const [partition] = await warehouse.query<{ id: string }>(
    'SELECT DISTINCT partition_id AS id FROM system.parts WHERE active AND table = {table:String}',
    { table },
  )
  return partition?.id ?? ''
}

/** Rows that the engine has read of all tables so far. */
async function rowsRead(warehouse: Warehouse): Promise<number> {
  const [row] = await warehouse.query<{ value: string }>("SELECT value FROM system.events WHERE event = 'SelectedRows'")
  return Number(row?.value)
}
