import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { bytesSql } from '../../schemas/tables/literals.ts'
import { TOTAL_KINDS } from '../../schemas/tables/nft.ts'
import { STATEMENT_TEXT_MAX } from '../../schemas/tables/statement-parts.ts'
import type { TimeSlices } from '../loop/time-slices.ts'
import { type FoldState, keysOf, type Sizes, TOKEN_ID, TOKEN_KEY } from './fold-state.ts'
import type { Span } from './read-step.ts'

// In 32-bit words.
const ADDRESS = 5
const WORD = 8
const KINDS = TOTAL_KINDS.map((kind) => `'${kind}'`).join(', ')

const BEFORE = 'chain = {chain:String} AND start = {start:UInt64} AND block_number <= {from:UInt64}'

/** What is looked up: the newest row of each group, whose columns are found by any of the keys. */
interface Lookup {
  readonly columns: string
  readonly table: string
  readonly keys: readonly Keys[]
  readonly groups: string
}

interface Keys {
  readonly columns: string
  /** All that the step's transfers touch, as SELECT of them. */
  readonly ofStep: string
  /** Those that have come to the state since, as literals. */
  readonly since: (state: FoldState, since: Sizes) => readonly string[]
}

const OF_STEP =
  'FROM nft_transfers WHERE chain = {chain:String} AND block_number > {from:UInt64} AND block_number <= {to:UInt64}'
const NO_ADDRESS = bytesSql('00'.repeat(4 * ADDRESS))
const NOBODY = `toFixedString('', ${4 * ADDRESS})`

const HOLDINGS: Lookup = {
  columns: `contract, token_id, toUInt32(standard = 'ERC1155'),
    argMax((holder, amount, excess, since_block, since_time), (block_number, amount))`,
  table: 'nft_token_holders',
  keys: [
    {
      columns: '(contract, token_id, standard)',
      ofStep: `contract, token_id, standard ${OF_STEP} AND standard = 'ERC721'`,
      since: (state, { tokens }) =>
        between(tokens, state.tokens.size)
          .filter((token) => !state.isMany(token))
          .map((token) => `(${tokenSql(state, token)}, 'ERC721')`),
    },
    {
      columns: '(contract, token_id, standard, holder)',
      ofStep: `contract, token_id, standard, arrayJoin([from_address, to_address, ${NOBODY}]) ${OF_STEP} AND standard = 'ERC1155'`,
      since: (state, { tokens, holdings }) => [
        ...between(tokens, state.tokens.size)
          .filter((token) => state.isMany(token))
          .map((token) => `(${tokenSql(state, token)}, 'ERC1155', ${NO_ADDRESS})`),
        ...between(holdings, state.holdings.size).map((holding) => {
          const holder = accountSql(state, state.holderOf(holding))
          return `(${tokenSql(state, state.tokenOf(holding))}, 'ERC1155', ${holder})`
        }),
      ],
    },
  ],
  groups: `contract, token_id, standard, if(standard = 'ERC1155', holder, ${NOBODY})`,
}

const TOTALS: Lookup = {
  columns: `toUInt32(indexOf([${KINDS}], toString(kind)) - 1), key, other,
    argMax((amount, excess, tokens, others, sent, sent_singles, received, received_singles), block_number)`,
  table: 'nft_totals',
  keys: [
    {
      columns: '(kind, key, other)',
      ofStep: `arrayJoin([
        ('contract', contract, ${NOBODY}), ('account', from_address, ${NOBODY}), ('account', to_address, ${NOBODY}),
        ('contract_account', contract, from_address), ('contract_account', contract, to_address)
      ]) ${OF_STEP}`,
      since: (state, { contracts, accounts, pairs }) => [
        ...between(contracts, state.contracts.size).map(
          (contract) => `('contract', ${contractSql(state, contract)}, ${NO_ADDRESS})`,
        ),
        ...between(accounts, state.accounts.size).map(
          (account) => `('account', ${accountSql(state, account)}, ${NO_ADDRESS})`,
        ),
        ...between(pairs, state.pairs.size).map((pair) => {
          const [contract, account] = [state.contractOfPair(pair), state.accountOfPair(pair)]
          return `('contract_account', ${contractSql(state, contract)}, ${accountSql(state, account)})`
        }),
      ],
    },
  ],
  groups: 'kind, key, other',
}

const between = (from: number, to: number): readonly number[] => Array.from({ length: to - from }, (_, i) => from + i)
const contractSql = (state: FoldState, contract: number) => literal(state.contracts.keys, contract * ADDRESS, ADDRESS)
const accountSql = (state: FoldState, account: number) => literal(state.accounts.keys, account * ADDRESS, ADDRESS)
const tokenSql = (state: FoldState, token: number): string =>
  `${contractSql(state, state.contractOf(token))}, ${literal(state.tokens.keys, token * TOKEN_KEY + TOKEN_ID, WORD)}`

/** Bytes of so many words as text of SQL. They are escapes, for calls of functions take the engine five times as long. */
function literal(words: Uint32Array, at: number, width: number): string {
  return bytesSql(Buffer.from(words.buffer, words.byteOffset + 4 * at, 4 * width).toString('hex'))
}

// Keys are named one by one where a statement has room for them: for a block at the head it takes the engine a third of what a subquery does.

/** More of them have more text. */
const NAMED_KEYS_MAX = 2_500
/** So many have less. */
const UNNAMED_AT_ONCE = 1_000

interface Asked {
  readonly state: FoldState
  /** What has come to the state since is looked up. */
  readonly since: Sizes
  /** A condition on `block_hash`: rows of other blocks count for nobody. */
  readonly notReverted: string
  readonly slices: TimeSlices
}

/**
 * Loads into the state what the tables tell of keys that a step's transfers have brought to it, and of those who have the tokens, whom
 * no transfer may name: a log may say that somebody else has sent one.
 */
export async function lookUp(warehouse: Warehouse, span: Span, asked: Asked): Promise<void> {
  const { state, since, notReverted, slices } = asked
  const isFew = keysOf(state.sizes()) - keysOf(since) <= NAMED_KEYS_MAX
  const find = async (lookup: Lookup) => {
    const named = isFew ? lookup.keys.map((keys) => keys.since(state, since).join(', ')) : []
    const isNamed = isFew && named.join().length <= STATEMENT_TEXT_MAX
    const among = isNamed ? named : lookup.keys.map(({ ofStep }) => `SELECT ${ofStep}`)
    return await newestRows(warehouse, span, { lookup, among, notReverted })
  }
  const [holdings, totals] = await Promise.all([find(HOLDINGS), find(TOTALS)])
  const before = state.sizes()
  await state.loadHoldings(holdings, slices)
  await state.loadTotals(totals, slices)
  const unnamed = TOTALS.keys.flatMap((keys) => keys.since(state, before))
  for (let first = 0; first < unnamed.length; first += UNNAMED_AT_ONCE) {
    const among = [unnamed.slice(first, first + UNNAMED_AT_ONCE).join(', ')]
    const found = await newestRows(warehouse, span, { lookup: TOTALS, among, notReverted })
    await state.loadTotals(found, slices)
  }
}

interface Among {
  readonly lookup: Lookup
  /** Of each of the lookup's keys those that are asked for; none where it is empty. */
  readonly among: readonly string[]
  readonly notReverted: string
}

async function newestRows(
  warehouse: Warehouse,
  span: Span,
  { lookup: { columns, table, keys, groups }, among, notReverted }: Among,
): Promise<Uint32Array> {
  const asked = keys.flatMap((one, i) => (among[i] ? [`${one.columns} IN (${among[i]})`] : []))
  if (asked.length === 0) return new Uint32Array()
  return await warehouse.queryWords(
    `SELECT ${columns} FROM ${table} WHERE ${BEFORE} AND ${notReverted} AND (${asked.join(' OR ')}) GROUP BY ${groups}`,
    { ...span },
  )
}
