import type { TokenStandard, TransferEvent } from '../../schemas/eth/nft-transfers.ts'
import { bytesSql } from '../../schemas/tables/literals.ts'
import type { FOLDED_TABLES, TotalKind, TransferList } from '../../schemas/tables/nft.ts'

// What the tables of the fold are made of (decision 35), as SELECT of their columns. Statements take the parameters `chain`, `start` (of
// the fold), `first_block` and `last_block`; by keys also `first_key` and `last_key` (hex), and `part` of `parts`.

const ADDRESS_BYTES = 20
const NOBODY = bytesSql('00'.repeat(ADDRESS_BYTES))
const IN_BLOCKS = 'block_number BETWEEN {first_block:UInt64} AND {last_block:UInt64}'
/** Of what is known before them, too. */
const UP_TO = 'block_number <= {last_block:UInt64}'
const LOW_BITS = 128
const LOW_MASK = `bitShiftLeft(toInt256(1), ${LOW_BITS}) - 1`

const BLOCK = { block_number: 'UInt64', block_hash: 'FixedString(32)' } as const
const ADDRESS = `FixedString(${ADDRESS_BYTES})`
const BALANCE = { amount: 'UInt256', excess: 'Int64' } as const
/** Of 320 bits: what is above the lowest 128, and these. */
const MORE = { more_high: 'Int256', more_low: 'UInt128' } as const
const TOKEN = { contract: ADDRESS, token_id: 'FixedString(32)', standard: 'String', holder: ADDRESS } as const

const TRANSFER = {
  ...{ ...BLOCK, log_index: 'UInt32', batch_index: 'UInt32', time: 'UInt32' },
  ...{ transaction_index: 'UInt32', transaction_hash: 'FixedString(32)' },
  ...{ contract: ADDRESS, token_id: 'FixedString(32)', standard: 'String', event: 'String' },
  ...{ from_address: ADDRESS, to_address: ADDRESS, amount: 'UInt256', sender: ADDRESS },
} as const

/** Columns that are compared, with their types. */
export const COLUMNS = {
  blocks: { ...BLOCK, parent_hash: 'FixedString(32)', time: 'UInt32' },
  parents: { block_number: 'UInt64', parent_hash: 'FixedString(32)' },
  counts: { ...BLOCK, transfers: 'UInt64', singles: 'UInt64' },
  transfers: TRANSFER,
  listed: { ...TRANSFER, reasons: 'String', kind: 'String', key: ADDRESS },
  changes: { ...BLOCK, ...TOKEN, ...BALANCE },
  holdings: { ...BLOCK, ...TOKEN, ...BALANCE, since_block: 'UInt64', since_time: 'UInt32' },
  owners: { ...BLOCK, ...TOKEN, ...BALANCE, since_block: 'UInt64', since_time: 'UInt32' },
  balances: { ...BLOCK, ...TOKEN, ...MORE, is_since_right: 'UInt8' },
  holders: { ...BLOCK, ...TOKEN, more: 'Int64' },
  pairs: { ...BLOCK, contract: ADDRESS, account: ADDRESS, tokens: 'UInt64', ...BALANCE, none: 'UInt64' },
  morePairs: { ...BLOCK, contract: ADDRESS, account: ADDRESS, more_tokens: 'Int64', ...MORE, none: 'UInt64' },
  totals: {
    ...{ ...BLOCK, key: ADDRESS, other: ADDRESS, more_tokens: 'Int64', more_others: 'Int64', more_sent: 'Int64' },
    ...{ more_sent_singles: 'Int64', more_received: 'Int64', more_received_singles: 'Int64', none: 'UInt8' },
  },
} as const

export interface Reading {
  /** A condition on `block_hash`: rows of other blocks count for nobody. */
  readonly notReverted: string
}

type Folded = (typeof FOLDED_TABLES)[number]

/** Whether a column of addresses lies in a range of keys. */
const inKeys = (key: string): string =>
  `${key} BETWEEN toFixedString(unhex({first_key:String}), ${ADDRESS_BYTES}) AND toFixedString(unhex({last_key:String}), ${ADDRESS_BYTES})`
/** Keys of which there is so much that it takes several statements are cut by another column. */
const inPart = (column: string): string => `cityHash64(${column}) % {parts:UInt32} = {part:UInt32}`

// A subquery, for names that a statement gives to what it makes of columns would be meant by its conditions, too. Orders of rows begin behind
// chain and start, which are the partition's: merged over partitions, rows of two folds of the same block would be one.
function folded(table: Folded, { notReverted }: Reading, where = '1', blocks = IN_BLOCKS): string {
  return `(SELECT * FROM ${table} FINAL WHERE chain = {chain:String} AND start = {start:UInt64} AND ${blocks} AND ${notReverted} AND ${where}
    SETTINGS do_not_merge_across_partitions_select_final = 1)`
}

const list = (kind: TransferList, reading: Reading, where = '1', blocks = IN_BLOCKS): string =>
  folded('nft_transfer_lists', reading, `kind = '${kind}' AND ${where}`, blocks)

const isStandard = (standard: TokenStandard): string => `standard = '${standard}'`
const isEvent = (event: TransferEvent): string => `event = '${event}'`

/** Blocks that are folded. */
export const foldedBlocksSql = (reading: Reading): string =>
  `SELECT block_number, block_hash, parent_hash, toUnixTimestamp(time) AS time FROM ${folded('nft_blocks', reading)}`

/** The same blocks as they were told. */
export const toldBlocksSql = (reading: Reading): string => `
SELECT block_number, unhex(substring(toString(block_hash), 3)) AS block_hash, unhex(substring(parent_hash, 3)) AS parent_hash, toUnixTimestamp(time) AS time
FROM (
  SELECT * FROM execution_heights FINAL WHERE chain = {chain:String} AND ${IN_BLOCKS}
    AND block_hash IN (SELECT toFixedString(concat('0x', lower(hex(block_hash))), 66) FROM ${folded('nft_blocks', reading)})
)`

/** Of each folded block but the first one, which block it says that it follows on. */
export const parentsSql = (reading: Reading): string =>
  `SELECT block_number, parent_hash FROM ${folded('nft_blocks', reading, 'block_number > {start:UInt64}')}`

/** The same by the blocks before them. */
export const followedSql = (reading: Reading): string => `
SELECT block_number + 1 AS block_number, block_hash AS parent_hash
FROM ${folded('nft_blocks', reading, '1', 'block_number + 1 BETWEEN {first_block:UInt64} AND {last_block:UInt64}')}`

/** How many transfers each block has that has some. */
export const countedTransfersSql = (reading: Reading): string => `
SELECT block_number, block_hash, count() AS transfers, countIf(${isStandard('ERC721')}) AS singles
FROM ${list('all', reading)} GROUP BY block_number, block_hash`

/** The same by how many the chain has up to each block, and up to the one before. */
export const blockCountsSql = (reading: Reading): string => `
SELECT block_number, block_hash, up_to.1 - before.1 AS transfers, up_to.2 - before.2 AS singles
FROM (
  SELECT block_number, block_hash, (transfers, singles) AS up_to, lagInFrame(up_to) OVER blocks AS before
  FROM ${folded('nft_blocks', reading, '1', 'block_number + 1 >= {first_block:UInt64} AND block_number <= {last_block:UInt64}')}
  WINDOW blocks AS (ORDER BY block_number ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
WHERE ${IN_BLOCKS} AND up_to != before`

const IS_RECEIVER = `${isStandard('ERC721')} AND amount = 0`
const IS_OPEN_BID = `${isEvent('PunkBought')} AND to_address = ${NOBODY}`
const MOVE = 'block_hash, transaction_index, contract, from_address, to_address, token_id'

/** Transfers of the folded blocks, with what others of their transactions say (`read-together.ts`). */
export function transfersSql(reading: Reading): string {
  const told = (where: string): string =>
    `(SELECT * FROM nft_transfers FINAL WHERE chain = {chain:String} AND ${IN_BLOCKS}
      AND block_hash IN (SELECT block_hash FROM ${folded('nft_blocks', reading)}) AND ${where})`
  return `
SELECT block_number, t.block_hash AS block_hash, t.log_index AS log_index, t.batch_index AS batch_index, toUnixTimestamp(time) AS time,
  t.transaction_index AS transaction_index, transaction_hash, contract, token_id, standard, event, from_address,
  if(bid.is_told = 1, bid.receiver, t.to_address) AS to_address, amount, sender
FROM (
  SELECT * FROM ${told(`NOT (${IS_RECEIVER})`)}
  WHERE NOT (${isEvent('ConsecutiveTransfer')} AND (${MOVE}) IN (
    SELECT ${MOVE} FROM ${told(isEvent('Transfer'))}
    WHERE (block_hash, transaction_index) IN (SELECT block_hash, transaction_index FROM ${told(isEvent('ConsecutiveTransfer'))})
  ))
) AS t
LEFT JOIN (
  SELECT block_hash, log_index, batch_index, receiver, 1 AS is_told FROM (
    SELECT block_hash, log_index, batch_index, ${IS_RECEIVER} AS is_receiver,
      lagInFrame(${IS_RECEIVER}) OVER those AS follows_receiver, lagInFrame(to_address) OVER those AS receiver
    FROM ${told(`(${IS_RECEIVER} OR ${IS_OPEN_BID})`)}
    WINDOW those AS (
      PARTITION BY block_hash, transaction_index ORDER BY log_index, batch_index ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
  )
  WHERE follows_receiver AND NOT is_receiver
) AS bid ON bid.block_hash = t.block_hash AND bid.log_index = t.log_index AND bid.batch_index = t.batch_index
ANY LEFT JOIN (
  SELECT block_hash, transaction_index, sender FROM execution_senders WHERE chain = {chain:String} AND ${IN_BLOCKS}
) AS s ON s.block_hash = t.block_hash AND s.transaction_index = t.transaction_index`
}

const LISTED = `block_number, block_hash, log_index, batch_index, toUnixTimestamp(time) AS time, transaction_index, transaction_hash, contract,
  token_id, standard, event, from_address, to_address, amount, sender, reasons`

/** The list of all transfers. */
export const allListedSql = (reading: Reading): string => `SELECT ${LISTED} FROM ${list('all', reading)}`

/** Each of them with the other lists that it belongs into; nothing is kept of the zero address. */
export const belongingSql = (reading: Reading): string => `
SELECT ${LISTED}, place.1 AS kind, place.2 AS key FROM ${list('all', reading)}
ARRAY JOIN arrayFilter(
  place -> place.1 = 'contract' OR place.2 != ${NOBODY}, [('contract', contract), ('from', from_address), ('to', to_address)]
) AS place`

/** These lists. */
export const otherListsSql = (reading: Reading): string =>
  `SELECT ${LISTED}, kind, key FROM ${folded('nft_transfer_lists', reading, `kind IN {kinds:Array(String)} AND ${inKeys('key')}`)}`

/** Of both orders of holdings, and by blocks: what a holder has after each block that changes it. */
export function holdingsSql(
  table: 'nft_changes' | 'nft_token_holders' | 'nft_holder_tokens',
  reading: Reading,
): string {
  const since = table === 'nft_changes' ? '' : ', since_block, toUnixTimestamp(since_time) AS since_time'
  const keys = { nft_changes: '1', nft_token_holders: inKeys('contract'), nft_holder_tokens: inKeys('holder') }
  return `SELECT block_number, block_hash, contract, token_id, standard, holder, amount, excess${since}
FROM ${folded(table, reading, `holder != ${NOBODY} AND ${keys[table]}`)}`
}

/** Of what somebody has of a contract's tokens nothing of this is told. */
const NONE = 'others + sent + sent_singles + received + received_singles'

/** What somebody has of a contract's tokens; the same rows in the order of accounts. */
export function pairsSql(kind: 'contract_account' | 'account_contract', reading: Reading): string {
  const [contract, account] = kind === 'contract_account' ? ['key', 'other'] : ['other', 'key']
  return `SELECT block_number, block_hash, ${contract} AS contract, ${account} AS account, tokens, amount, excess,
  ${NONE} AS none
FROM ${total(kind, reading)}`
}

const total = (kind: TotalKind, reading: Reading, part = '1', blocks = IN_BLOCKS): string =>
  folded('nft_totals', reading, `kind = '${kind}' AND ${inKeys('key')} AND ${part}`, blocks)

// What is known of a key after a block is proven by how it changes with each block. So rows of a table are held against the ones before them,
// in the table's own order, and against what changes by others in whatever order these are.

const overBlocks = (name: string, keys: string): string =>
  `WINDOW ${name} AS (PARTITION BY ${keys} ORDER BY block_number ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)`

const ofContracts = (standard: TokenStandard, reading: Reading): string =>
  list('contract', reading, `${inKeys('key')} AND ${isStandard(standard)} AND ${inPart('token_id')}`, UP_TO)
const ofHoldings = (standard: TokenStandard, reading: Reading, where: string): string =>
  folded(
    'nft_token_holders',
    reading,
    `${inKeys('contract')} AND ${isStandard(standard)} AND ${inPart('token_id')} AND ${where}`,
    UP_TO,
  )

/** Who holds tokens of ERC-721. */
export const ownersSql = (reading: Reading): string => `
SELECT block_number, block_hash, contract, token_id, standard, holder, amount, excess, since_block, toUnixTimestamp(since_time) AS since_time
FROM ${ofHoldings('ERC721', reading, IN_BLOCKS)}`

/**
 * The same by transfers: whoever a token went to last in a block has it after the block, and who had it before has it no more. Where a fold
 * begins after the chain's first block, nobody is known to have had anything before.
 */
export const madeOwnersSql = (reading: Reading): string => `
SELECT block_number, block_hash, contract, token_id, 'ERC721' AS standard, held.1 AS holder, held.2 AS amount, 0 AS excess,
  block_number AS since_block, time AS since_time
FROM (
  SELECT *, lagInFrame(owner) OVER blocks AS owner_before FROM (
    SELECT key AS contract, token_id, block_number, any(block_hash) AS block_hash, toUnixTimestamp(any(time)) AS time,
      argMax(to_address, (log_index, batch_index)) AS owner
    FROM ${ofContracts('ERC721', reading)} GROUP BY contract, token_id, block_number
  )
  ${overBlocks('blocks', 'contract, token_id')}
)
ARRAY JOIN arrayFilter(held -> held.1 != ${NOBODY}, [(owner_before, 0), (owner, 1)]) AS held
WHERE owner != owner_before AND ${IN_BLOCKS}`

// A balance may have more than 256 bits.
const highOf = (amount: string, excess = '0'): string =>
  `(bitShiftLeft(toInt256(${excess}), ${LOW_BITS}) + toInt256(bitShiftRight(${amount}, ${LOW_BITS})))`
const lowOf = (amount: string): string => `bitAnd(toInt256(${amount}), ${LOW_MASK})`
/** What the lower half has above its bits goes to the upper one. */
const moreOf = (high: string, low: string): string =>
  `${high} + bitShiftRight(${low}, ${LOW_BITS}) AS more_high, bitAnd(${low}, ${LOW_MASK}) AS more_low`

/** How what somebody has of a token of ERC-1155 changes; and whether it is told since when he has some. */
export const moreBalancesSql = (reading: Reading): string => `
SELECT block_number, block_hash, contract, token_id, 'ERC1155' AS standard, holder,
  ${moreOf(`${highOf('amount', 'excess')} - ${highOf('had.1', 'had.2')}`, `${lowOf('amount')} - ${lowOf('had.1')}`)},
  if((excess, amount) > (0, 0) AND (had.2, had.1) <= (0, 0), since.1 = block_number, since = had.3) AS is_since_right
FROM (
  SELECT *, (since_block, since_time) AS since, lagInFrame((amount, excess, since)) OVER blocks AS had
  FROM ${ofHoldings('ERC1155', reading, `holder != ${NOBODY}`)}
  ${overBlocks('blocks', 'contract, token_id, holder')}
)
WHERE ${IN_BLOCKS}`

/** The same by transfers: what was received less what was sent. */
export const movedBalancesSql = (reading: Reading): string => `
SELECT block_number, block_hash, contract, token_id, 'ERC1155' AS standard, holder, more_high, more_low, 1 AS is_since_right
FROM (
  SELECT contract, token_id, holder, block_number, any(block_hash) AS block_hash, ${moreOf('sum(sign * high)', 'sum(sign * low)')}
  FROM (
    SELECT key AS contract, token_id, moved.1 AS holder, moved.2 AS sign, block_number, block_hash,
      ${highOf('amount')} AS high, ${lowOf('amount')} AS low
    FROM ${ofContracts('ERC1155', reading)}
    ARRAY JOIN [(from_address, toInt8(-1)), (to_address, toInt8(1))] AS moved
    WHERE from_address != to_address AND holder != ${NOBODY} AND ${IN_BLOCKS}
  )
  GROUP BY contract, token_id, holder, block_number
)
WHERE (more_high, more_low) != (0, 0)`

/** Holdings as a contract that kept to its standard could have them, and as they were before. */
const shownSql = (reading: Reading, where: string): string => `
SELECT *, lagInFrame(shown) OVER blocks AS shown_before FROM (
  SELECT block_number, block_hash, contract, token_id, standard, holder,
    multiIf(excess < 0, toUInt256(0), excess > 0, bitNot(toUInt256(0)), amount) AS shown
  FROM ${folded('nft_token_holders', reading, `holder != ${NOBODY} AND ${inKeys('contract')} AND ${where}`, UP_TO)}
)
${overBlocks('blocks', 'contract, token_id, standard, holder')}`

const MORE_HELD = 'sum(toInt64(shown > 0) - toInt64(shown_before > 0))'

/** How many more hold a token of ERC-1155, as the zero address, which holds nothing, has it. */
export const moreHoldersSql = (reading: Reading): string => `
SELECT block_number, block_hash, contract, token_id, standard, holder, toInt64(amount) - toInt64(amount_before) AS more
FROM (
  SELECT *, lagInFrame(amount) OVER blocks AS amount_before FROM ${ofHoldings('ERC1155', reading, `holder = ${NOBODY}`)}
  ${overBlocks('blocks', 'contract, token_id')}
)
WHERE ${IN_BLOCKS}`

/** The same by what they hold. */
export const heldMoreSql = (reading: Reading): string => `
SELECT block_number, any(block_hash) AS block_hash, contract, token_id, 'ERC1155' AS standard, ${NOBODY} AS holder, ${MORE_HELD} AS more
FROM (SELECT * FROM (${shownSql(reading, `${isStandard('ERC1155')} AND ${inPart('token_id')}`)}) WHERE ${IN_BLOCKS})
GROUP BY contract, token_id, block_number`

/** How what accounts have of contracts changes. */
export const morePairsSql = (reading: Reading): string => `
SELECT block_number, block_hash, key AS contract, other AS account, toInt64(tokens) - toInt64(had.1) AS more_tokens,
  ${moreOf(`${highOf('amount', 'excess')} - ${highOf('had.2', 'had.3')}`, `${lowOf('amount')} - ${lowOf('had.2')}`)}, ${NONE} AS none
FROM (
  SELECT *, lagInFrame((tokens, amount, excess)) OVER blocks AS had
  FROM ${total('contract_account', reading, inPart('other'), UP_TO)}
  ${overBlocks('blocks', 'key, other')}
)
WHERE ${IN_BLOCKS}`

/** The same by their tokens. */
export const heldPairsSql = (reading: Reading): string => `
SELECT block_number, any(block_hash) AS block_hash, contract, holder AS account, ${MORE_HELD} AS more_tokens,
  ${moreOf(`sum(${highOf('shown')} - ${highOf('shown_before')})`, `sum(${lowOf('shown')} - ${lowOf('shown_before')})`)}, 0 AS none
FROM (SELECT * FROM (${shownSql(reading, inPart('holder'))}) WHERE ${IN_BLOCKS})
GROUP BY contract, account, block_number`

const FIGURES = ['tokens', 'others', 'sent', 'sent_singles', 'received', 'received_singles']

/** How totals of contracts, or accounts, change. */
export const moreTotalsSql = (kind: 'contract' | 'account', reading: Reading): string => `
SELECT block_number, block_hash, key, other, (amount, excess) != (0, 0) AS none,
  ${FIGURES.map((name, i) => `toInt64(${name}) - toInt64(had.${i + 1}) AS more_${name}`).join(', ')}
FROM (
  SELECT *, lagInFrame((${FIGURES.join(', ')})) OVER blocks AS had FROM ${total(kind, reading, '1', UP_TO)}
  ${overBlocks('blocks', 'key, other')}
)
WHERE ${IN_BLOCKS}`

/** The same by lists of transfers, and by what accounts have of contracts. */
export function madeTotalsSql(kind: 'contract' | 'account', reading: Reading): string {
  const lists: readonly TransferList[] = kind === 'contract' ? ['contract'] : ['from', 'to']
  const counted = lists.map((name) => {
    const [sent, received] = name === 'to' ? ['0', '1'] : ['1', '0']
    const ofSingles = (count: string): string => `toInt64(${count} AND ${isStandard('ERC721')})`
    return `SELECT key, block_number, block_hash, toInt64(0) AS tokens, toInt64(0) AS others, toInt64(${sent}) AS sent,
      ${ofSingles(sent)} AS sent_singles, toInt64(${received}) AS received, ${ofSingles(received)} AS received_singles
    FROM ${list(name, reading, inKeys('key'))}`
  })
  return `
SELECT block_number, any(block_hash) AS block_hash, key, ${NOBODY} AS other, 0 AS none,
  ${FIGURES.map((name) => `sum(${name}) AS more_${name}`).join(', ')}
FROM (
  ${counted.join(' UNION ALL ')}
  UNION ALL
  SELECT key, block_number, block_hash, toInt64(tokens) - toInt64(had), toInt64(tokens > 0) - toInt64(had > 0), 0, 0, 0, 0 FROM (
    SELECT key, block_number, block_hash, tokens, lagInFrame(tokens) OVER blocks AS had
    FROM ${total(kind === 'contract' ? 'contract_account' : 'account_contract', reading, '1', UP_TO)}
    ${overBlocks('blocks', 'key, other')}
  )
  WHERE ${IN_BLOCKS}
)
GROUP BY key, block_number`
}
