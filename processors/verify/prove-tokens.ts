import type { QueryParams, WarehouseReader } from '../../infra/ports/warehouse.ts'
import { askCoverage } from '../../schemas/tables/block-coverage.ts'
import { FOLDED_TABLES, TRANSFER_LISTS, type TransferList } from '../../schemas/tables/nft.ts'
import { askNotReverted } from '../../schemas/tables/reverted-blocks.ts'
import { type Compared, compareRows, DIFFERENCES_MAX, type Difference, type Rows } from './compared-rows.ts'
import { PROVE_ALL, type Proving } from './proving.ts'
import {
  allListedSql,
  belongingSql,
  blockCountsSql,
  COLUMNS,
  countedTransfersSql,
  foldedBlocksSql,
  followedSql,
  heldMoreSql,
  heldPairsSql,
  holdingsSql,
  madeOwnersSql,
  madeTotalsSql,
  moreBalancesSql,
  moreHoldersSql,
  morePairsSql,
  moreTotalsSql,
  movedBalancesSql,
  otherListsSql,
  ownersSql,
  pairsSql,
  parentsSql,
  type Reading,
  toldBlocksSql,
  transfersSql,
} from './token-rows.ts'

/** Rows of a chain's tables that tell who holds which token. */
export interface TokenProof {
  readonly chain: string
  readonly checked: number
  /** Rows that others do not make, or that are not there. */
  readonly wrong: number
  /** The first ones of each comparison. */
  readonly examples: readonly Difference[]
}

/** Transfers of one statement that sorts them, or sums them by keys: up to a kilobyte for each. */
const TRANSFERS_PER_STATEMENT = 250_000
/** Blocks of one statement: most move no token. */
const BLOCKS_PER_STATEMENT = 500_000
/** Of a key, by which rows of many keys are cut. */
const PREFIX_BYTES = 2
const KEY_BYTES = 20

/** The fold that answers, as far as it has come when it is looked at. */
interface ProvenFold extends Reading {
  readonly chain: string
  readonly start: number
  readonly through: number
}

/** What ranges a statement is about: blocks, keys that are contracts or accounts, or parts of contracts. */
type By = 'blocks' | 'contracts' | 'contract parts' | 'accounts' | 'lists'

interface Read {
  readonly name: string
  readonly sql: (reading: Reading) => string
  readonly by: By
}

interface Spec {
  readonly columns: Readonly<Record<string, string>>
  readonly made: Read
  readonly told: Read
}

const read = (name: string, sql: Read['sql'], by: By): Read => ({ name, sql, by })

// Each is made of what those before it have proven.
const OF_BLOCKS: readonly Spec[] = [
  {
    columns: COLUMNS.blocks,
    made: read('execution_heights', toldBlocksSql, 'blocks'),
    told: read('nft_blocks', foldedBlocksSql, 'blocks'),
  },
  {
    columns: COLUMNS.parents,
    made: read('the block before', followedSql, 'blocks'),
    told: read('nft_blocks', parentsSql, 'blocks'),
  },
  {
    columns: COLUMNS.counts,
    made: read('nft_transfer_lists (all)', countedTransfersSql, 'blocks'),
    told: read('nft_blocks', blockCountsSql, 'blocks'),
  },
]

const OF_TOKENS: readonly Spec[] = [
  {
    columns: COLUMNS.transfers,
    made: read('nft_transfers', transfersSql, 'blocks'),
    told: read('nft_transfer_lists (all)', allListedSql, 'blocks'),
  },
  {
    columns: COLUMNS.listed,
    made: read('nft_transfer_lists (all)', belongingSql, 'blocks'),
    told: read('nft_transfer_lists', otherListsSql, 'lists'),
  },
  {
    columns: COLUMNS.owners,
    made: read('nft_transfer_lists (contract)', madeOwnersSql, 'contract parts'),
    told: read('nft_token_holders', ownersSql, 'contract parts'),
  },
  {
    columns: COLUMNS.balances,
    made: read('nft_transfer_lists (contract)', movedBalancesSql, 'contract parts'),
    told: read('nft_token_holders', moreBalancesSql, 'contract parts'),
  },
  {
    columns: COLUMNS.holders,
    made: read('nft_token_holders', heldMoreSql, 'contract parts'),
    told: read('nft_token_holders (how many)', moreHoldersSql, 'contract parts'),
  },
  {
    columns: COLUMNS.holdings,
    made: read('nft_token_holders', (reading) => holdingsSql('nft_token_holders', reading), 'contracts'),
    told: read('nft_holder_tokens', (reading) => holdingsSql('nft_holder_tokens', reading), 'accounts'),
  },
  {
    columns: COLUMNS.changes,
    made: read('nft_token_holders', (reading) => holdingsSql('nft_token_holders', reading), 'contracts'),
    told: read('nft_changes', (reading) => holdingsSql('nft_changes', reading), 'blocks'),
  },
  {
    columns: COLUMNS.morePairs,
    made: read('nft_token_holders', heldPairsSql, 'contract parts'),
    told: read('nft_totals (contract_account)', morePairsSql, 'contract parts'),
  },
  {
    columns: COLUMNS.pairs,
    made: read('nft_totals (contract_account)', (reading) => pairsSql('contract_account', reading), 'contracts'),
    told: read('nft_totals (account_contract)', (reading) => pairsSql('account_contract', reading), 'accounts'),
  },
  ...(['contract', 'account'] as const).map((kind): Spec => {
    const by = kind === 'contract' ? 'contracts' : 'accounts'
    return {
      columns: COLUMNS.totals,
      made: read('nft_transfer_lists and nft_totals', (reading) => madeTotalsSql(kind, reading), by),
      told: read(`nft_totals (${kind})`, (reading) => moreTotalsSql(kind, reading), by),
    }
  }),
]

/**
 * Compares all tables of the fold that answers with what they are made of: its blocks with the chain's, the list of all transfers with the
 * transfers of these blocks, the other lists with it, holdings with the transfers, totals with holdings and lists, and the same rows in other
 * orders with each other. Of one chain if it is given. Each statement is about some blocks or keys; what is read grows with the transfers alone.
 */
export async function* proveTokens(
  warehouse: WarehouseReader,
  { chain, again }: Proving = PROVE_ALL,
  transfersMax = TRANSFERS_PER_STATEMENT,
): AsyncGenerator<TokenProof> {
  const chains = await warehouse.query<{ chain: string }>(
    "SELECT DISTINCT toString(chain) AS chain FROM nft_blocks WHERE {chain:String} IN ('', chain) ORDER BY chain",
    { chain },
  )
  for (const { chain: name } of chains) {
    let proof: TokenProof = { chain: name, checked: 0, wrong: 0, examples: [] }
    const specs = (await hasTokens(warehouse, name)) ? [...OF_BLOCKS, ...OF_TOKENS] : OF_BLOCKS
    for (const spec of specs) {
      const prove = () => proveSpec(warehouse, spec, { chain: name, transfersMax })
      let found = await prove()
      while (found.differing > 0 && (await again())) found = await prove()
      proof = {
        chain: name,
        checked: proof.checked + found.rows,
        wrong: proof.wrong + found.differing,
        examples: [...proof.examples, ...found.differences],
      }
    }
    yield proof
  }
}

/** Whether any table has a row about a token of the chain: many chains have none. */
async function hasTokens(warehouse: WarehouseReader, chain: string): Promise<boolean> {
  const tables = ['nft_transfers', ...FOLDED_TABLES.filter((table) => table !== 'nft_blocks')]
  const some = tables.map((table) => `(SELECT 1 FROM ${table} WHERE chain = {chain:String} LIMIT 1)`)
  return (await warehouse.query(some.join(' UNION ALL '), { chain })).length > 0
}

/** One of the comparisons, of the fold as it is now: blocks that were folded or reverted since change it. */
async function proveSpec(
  warehouse: WarehouseReader,
  { columns, made, told }: Spec,
  { chain, transfersMax }: { readonly chain: string; readonly transfersMax: number },
): Promise<Compared> {
  const coverage = await askCoverage(warehouse, chain)
  if (coverage === undefined) return { rows: 0, differing: 0, differences: [] }
  const fold: ProvenFold = {
    ...{ chain, start: coverage.from, through: coverage.through.number },
    notReverted: await askNotReverted(warehouse, chain),
  }
  const span = { first: fold.start, last: fold.through }
  const rowsOf = async ({ name, sql, by }: Read): Promise<Rows> => {
    const ranges = await rangesBy(by, warehouse, fold, transfersMax)
    return { name, sql: sql(fold), ranges: ranges.map((range) => ({ ...paramsOf(fold), ...range })) }
  }
  const [ofMade, ofTold] = [await rowsOf(made), await rowsOf(told)]
  if (made.by !== told.by)
    return await compareRows(warehouse, { columns, made: ofMade, told: ofTold, whole: paramsOf(fold) }, span)
  let all: Compared = { rows: 0, differing: 0, differences: [] }
  for (const range of ofTold.ranges) {
    const inRange = (rows: Rows): Rows => ({ ...rows, ranges: [range] })
    const compared = { columns, made: inRange(ofMade), told: inRange(ofTold), whole: range }
    const found = await compareRows(warehouse, compared, span)
    all = {
      rows: all.rows + found.rows,
      differing: all.differing + found.differing,
      differences: [...all.differences, ...found.differences].slice(0, DIFFERENCES_MAX),
    }
  }
  return all
}

/** Parameters of statements about all blocks and keys of a fold. */
function paramsOf({ chain, start }: ProvenFold): QueryParams {
  const keys = { first_key: '00'.repeat(KEY_BYTES), last_key: 'ff'.repeat(KEY_BYTES), part: 0, parts: 1 }
  return { chain, start, ...keys, kinds: TRANSFER_LISTS.filter((kind) => kind !== 'all') }
}

async function rangesBy(
  by: By,
  warehouse: WarehouseReader,
  fold: ProvenFold,
  transfersMax: number,
): Promise<readonly QueryParams[]> {
  if (by === 'blocks') return await blockRanges(warehouse, fold, transfersMax)
  const keys = async (kinds: readonly TransferList[]) => await keyRanges(warehouse, fold, { kinds, transfersMax })
  if (by === 'lists') {
    const [contracts, accounts] = [await keys(['contract']), await keys(['from', 'to'])]
    return [
      ...contracts.map((range) => ({ ...range, parts: 1, kinds: ['contract'] })),
      ...accounts.map((range) => ({ ...range, parts: 1, kinds: ['from', 'to'] })),
    ]
  }
  const ranges = await keys(by === 'accounts' ? ['from', 'to'] : ['contract'])
  if (by !== 'contract parts') return ranges.map((range) => ({ ...range, parts: 1 }))
  return ranges.flatMap((range) => Array.from({ length: range.parts }, (_, part) => ({ ...range, part })))
}

/** Blocks with so many transfers together. */
async function blockRanges(
  warehouse: WarehouseReader,
  { chain, start, through }: ProvenFold,
  transfersMax: number,
): Promise<readonly QueryParams[]> {
  const ends = await warehouse.query<{ last: string }>(
    `SELECT DISTINCT max(block_number) AS last FROM nft_blocks
     WHERE chain = {chain:String} AND start = {start:UInt64} AND block_number BETWEEN {start:UInt64} AND {through:UInt64}
     GROUP BY intDiv(transfers, {transfersMax:UInt64}), intDiv(block_number, {blocksMax:UInt64}) ORDER BY last`,
    { chain, start, through, transfersMax, blocksMax: BLOCKS_PER_STATEMENT },
  )
  let first = start
  return ends.map(({ last }) => {
    const range = { first_block: first, last_block: Number(last) }
    first = range.last_block + 1
    return range
  })
}

interface Keys {
  readonly kinds: readonly TransferList[]
  readonly transfersMax: number
}

/** Keys of lists with so many transfers together; `parts` says how many times as many those have that cannot be told apart by what they begin with. */
async function keyRanges(warehouse: WarehouseReader, { chain, start }: ProvenFold, { kinds, transfersMax }: Keys) {
  const counts = await warehouse.query<{ prefix: string; transfers: string }>(
    `SELECT lower(hex(substring(toString(key), 1, ${PREFIX_BYTES}))) AS prefix, count() AS transfers FROM nft_transfer_lists
     WHERE chain = {chain:String} AND start = {start:UInt64} AND kind IN {kinds:Array(String)} GROUP BY prefix ORDER BY prefix`,
    { chain, start, kinds },
  )
  const ranges: { first_key: string; last_key: string; parts: number }[] = []
  let [first, transfers] = [0, 0]
  const end = (last: number): void => {
    const [firstKey, lastKey] = [keyOf(first, '00'), keyOf(last, 'ff')]
    ranges.push({ first_key: firstKey, last_key: lastKey, parts: Math.max(1, Math.ceil(transfers / transfersMax)) })
    first = last + 1
    transfers = 0
  }
  for (const { prefix, transfers: more } of counts) {
    const place = Number.parseInt(prefix, 16)
    if (transfers > 0 && transfers + Number(more) > transfersMax) end(place - 1)
    transfers += Number(more)
  }
  end(256 ** PREFIX_BYTES - 1)
  return ranges
}

function keyOf(prefix: number, rest: string): string {
  return prefix.toString(16).padStart(2 * PREFIX_BYTES, '0') + rest.repeat(KEY_BYTES - PREFIX_BYTES)
}
