import { bytesOf } from '../../schemas/eth/hex.ts'

/**
 * Statements that fold a step of blocks: each is INSERT … SELECT, so that no row leaves the warehouse. What they make is a function of
 * the blocks up to it; every statement may be repeated. Parameters: `chain`, `start` (first block of the fold), `from` (the last block
 * that is folded) and `to`, numbers.
 */

/** A statement names all of them; a server takes 256 KiB of text (max_query_size). */
export const STEP_BLOCKS_MAX = 5_500

/**
 * The hashes of the step's blocks, as a subquery. They are in the text, not in a parameter: parameters of a command are part of the
 * request's address, of which a server takes a megabyte and a proxy before it a few kilobytes.
 */
function stepHashes(hashes: readonly string[]): string {
  const bytes = Buffer.concat(hashes.map(bytesOf))
  return `SELECT toFixedString(substring(base64Decode('${bytes.toString('base64')}'), 32 * number + 1, 32), 32)
    FROM numbers(${hashes.length})`
}

const ZERO_ADDRESS = "toFixedString('', 20)"

/** Where the hashes of the step's blocks stand in what is written here. */
const STEP_HASHES = '/* step */'
/** Rows of the step's blocks. */
const IN_STEP = `block_number > {from:UInt64} AND block_number <= {to:UInt64} AND block_hash IN (${STEP_HASHES})`

const OF_FOLD = 'chain = {chain:String} AND start = {start:UInt64}'

/** Blocks whose rows count for nobody. */
export const REVERTED = 'SELECT block_hash FROM reverted_blocks FINAL WHERE chain = {chain:String} AND is_reverted = 1'

/** Rows of the blocks before the step, which it is made on. */
const BEFORE_STEP = `${OF_FOLD} AND block_number <= {from:UInt64} AND block_hash NOT IN (${REVERTED})`

// Amounts have 256 bits, and sums of them more: they are added in halves of 128 bits, each in an Int256, where no number of rows makes
// them overflow, and put together again at the end. Shifts of an Int256 keep its sign: they divide towards negative infinity.

const LOW_BITS = '340282366920938463463374607431768211455' // 2^128 - 1

const lowHalf = (amount: string) => `toInt256(bitAnd(${amount}, toUInt256('${LOW_BITS}')))`
const highHalf = (amount: string, excess?: string) => {
  const high = `toInt256(bitShiftRight(${amount}, 128))`
  return excess === undefined ? high : `(${high} + bitShiftLeft(toInt256(${excess}), 128))`
}

/** The higher half of a sum in halves, with what the lower one carries. */
const carried = (low: string, high: string) => `(${high} + bitShiftRight(${low}, 128))`

/** The lowest 256 bits of a sum in halves. */
const amountOf = (low: string, high: string) =>
  `bitOr(bitShiftLeft(toUInt256(${carried(low, high)}), 128), toUInt256(bitAnd(${low}, toInt256('${LOW_BITS}'))))`
/** What is above them. */
const excessOf = (low: string, high: string) => `toInt64(bitShiftRight(${carried(low, high)}, 128))`

/** Whether somebody with this amount holds anything. */
export const isHeld = (amount: string, excess: string) => `(${excess} > 0 OR (${excess} = 0 AND ${amount} > 0))`

const AMOUNT_MAX = "toUInt256('115792089237316195423570985008687907853269984665640564039457584007913129639935')"

/** An amount as a contract that kept to its standard could have it. */
export const shownAmount = (amount: string, excess: string) =>
  `multiIf(${excess} = 0, ${amount}, ${excess} < 0, toUInt256(0), ${AMOUNT_MAX})`

/**
 * Tokens that are one of a kind: who holds one is whom its last transfer went to, whoever the log says it came from. A contract may lie,
 * or mint what is there.
 */
const SINGLE_CHANGES = `
INSERT INTO nft_changes
WITH
  moved AS (
    SELECT contract, token_id, block_number, block_hash, argMax(to_address, (log_index, batch_index)) AS receiver
    FROM nft_transfers FINAL
    WHERE chain = {chain:String} AND standard = 'ERC721' AND ${IN_STEP}
    GROUP BY contract, token_id, block_number, block_hash
  ),
  held AS (
    SELECT contract, token_id, argMax(holder, (block_number, amount)) AS last_holder
    FROM nft_token_holders
    WHERE ${BEFORE_STEP} AND standard = 'ERC721' AND (contract, token_id) IN (SELECT contract, token_id FROM moved)
    GROUP BY contract, token_id
    HAVING argMax(amount, (block_number, amount)) > 0
  )
SELECT {chain:String}, {start:UInt64}, block_number, block_hash, contract, token_id, 'ERC721', holder,
  toUInt256(holder_before), 0, toUInt256(1 - holder_before), 0
FROM (
  SELECT contract, token_id, block_number, block_hash, receiver,
    lagInFrame(receiver, 1, last_holder) OVER (
      PARTITION BY contract, token_id ORDER BY block_number ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    ) AS sender
  FROM moved LEFT JOIN held USING (contract, token_id)
)
ARRAY JOIN [sender, receiver] AS holder, [1, 0] AS holder_before
WHERE sender != receiver AND holder != ${ZERO_ADDRESS}`

/** Tokens that there are many of: what was received less what was sent. */
const MANY_CHANGES = `
INSERT INTO nft_changes
WITH
  moved AS (
    SELECT contract, token_id, holder, block_number, block_hash,
      sum(sign * ${lowHalf('amount')}) AS low, sum(sign * ${highHalf('amount')}) AS high
    FROM (
      SELECT contract, token_id, holder, block_number, block_hash, amount, sign
      FROM (
        SELECT contract, token_id, block_number, block_hash, amount, from_address, to_address
        FROM nft_transfers FINAL
        WHERE chain = {chain:String} AND standard = 'ERC1155' AND ${IN_STEP}
      )
      ARRAY JOIN [from_address, to_address] AS holder, [toInt256(-1), toInt256(1)] AS sign
    )
    WHERE holder != ${ZERO_ADDRESS}
    GROUP BY contract, token_id, holder, block_number, block_hash
    HAVING low != 0 OR high != 0
  ),
  held AS (
    SELECT contract, token_id, holder, argMax(amount, block_number) AS last_amount, argMax(excess, block_number) AS last_excess
    FROM nft_token_holders
    WHERE ${BEFORE_STEP} AND standard = 'ERC1155'
      AND (contract, token_id, holder) IN (SELECT contract, token_id, holder FROM moved)
    GROUP BY contract, token_id, holder
  )
SELECT {chain:String}, {start:UInt64}, block_number, block_hash, contract, token_id, 'ERC1155', holder,
  ${amountOf('(low_after - low)', '(high_after - high)')}, ${excessOf('(low_after - low)', '(high_after - high)')},
  ${amountOf('low_after', 'high_after')}, ${excessOf('low_after', 'high_after')}
FROM (
  SELECT contract, token_id, holder, block_number, block_hash, low, high,
    ${lowHalf('last_amount')} + sum(low) OVER through AS low_after,
    ${highHalf('last_amount', 'last_excess')} + sum(high) OVER through AS high_after
  FROM moved LEFT JOIN held USING (contract, token_id, holder)
  WINDOW through AS (PARTITION BY contract, token_id, holder ORDER BY block_number)
)`

const STEP_CHANGES = `FROM nft_changes FINAL WHERE ${OF_FOLD} AND ${IN_STEP}`
const HOLDING = 'block_number, block_hash, amount, excess'

/** How many tokens of a contract its holders hold, and the sum of what is shown of their amounts. */
const HOLDING_CHANGES = `
INSERT INTO nft_holding_changes
WITH
  moved AS (
    SELECT contract, holder, block_number, block_hash,
      sum(toInt64(${isHeld('amount', 'excess')}) - toInt64(${isHeld('amount_before', 'excess_before')})) AS tokens_more,
      sum(${lowHalf(shownAmount('amount', 'excess'))} - ${lowHalf(shownAmount('amount_before', 'excess_before'))}) AS low,
      sum(${highHalf(shownAmount('amount', 'excess'))} - ${highHalf(shownAmount('amount_before', 'excess_before'))}) AS high
    ${STEP_CHANGES}
    GROUP BY contract, holder, block_number, block_hash
  ),
  held AS (
    SELECT contract, holder, argMax(tokens, block_number) AS last_tokens,
      argMax(amount, block_number) AS last_amount, argMax(excess, block_number) AS last_excess
    FROM nft_contract_holders
    WHERE ${BEFORE_STEP} AND (contract, holder) IN (SELECT contract, holder FROM moved)
    GROUP BY contract, holder
  )
SELECT {chain:String}, {start:UInt64}, block_number, block_hash, contract, holder, tokens_after - tokens_more, tokens_after,
  ${amountOf('low_after', 'high_after')}, ${excessOf('low_after', 'high_after')}
FROM (
  SELECT contract, holder, block_number, block_hash, tokens_more, toInt64(last_tokens) + sum(tokens_more) OVER through AS tokens_after,
    ${lowHalf('last_amount')} + sum(low) OVER through AS low_after,
    ${highHalf('last_amount', 'last_excess')} + sum(high) OVER through AS high_after
  FROM moved LEFT JOIN held USING (contract, holder)
  WINDOW through AS (PARTITION BY contract, holder ORDER BY block_number)
)`

const STEP_HOLDINGS = `FROM nft_holding_changes FINAL WHERE ${OF_FOLD} AND ${IN_STEP}`

/** Counts by a key: sums of what a step's rows bring, on what was counted before. */
function counts(
  table: string,
  keys: string,
  { brings, from }: { readonly brings: Readonly<Record<string, string>>; readonly from: string },
): string {
  const names = Object.keys(brings)
  const each = (text: (name: string) => string) => names.map(text).join(', ')
  return `
INSERT INTO ${table}
WITH
  moved AS (
    SELECT ${keys}, block_number, block_hash, ${each((name) => `sum(${brings[name]}) AS ${name}_more`)}
    ${from}
    GROUP BY ${keys}, block_number, block_hash
  ),
  counted AS (
    SELECT ${keys}, ${each((name) => `argMax(${name}, block_number) AS last_${name}`)}
    FROM ${table}
    WHERE ${BEFORE_STEP} AND (${keys}) IN (SELECT ${keys} FROM moved)
    GROUP BY ${keys}
  )
SELECT {chain:String}, {start:UInt64}, ${keys}, block_number, block_hash,
  ${each((name) => `toInt64(last_${name}) + sum(${name}_more) OVER through`)}
FROM moved LEFT JOIN counted USING (${keys})
WINDOW through AS (PARTITION BY ${keys} ORDER BY block_number)`
}

const HOLDINGS_MORE = 'toInt64(tokens) - toInt64(tokens_before)'
const PAIRS_MORE = 'toInt64(tokens > 0) - toInt64(tokens_before > 0)'

/** The statements of a step, whose blocks' hashes are hex with 0x, in their order: each reads what those before it have written. */
export function foldStatements(hashes: readonly string[]): readonly string[] {
  const ofStep = stepHashes(hashes)
  return STATEMENTS.map((statement) => statement.replaceAll(STEP_HASHES, ofStep))
}

const STATEMENTS: readonly string[] = [
  SINGLE_CHANGES,
  MANY_CHANGES,
  `INSERT INTO nft_token_holders
   SELECT chain, start, contract, token_id, standard, holder, ${HOLDING} ${STEP_CHANGES}`,
  `INSERT INTO nft_holder_tokens
   SELECT chain, start, holder, contract, token_id, standard, ${HOLDING} ${STEP_CHANGES}`,
  HOLDING_CHANGES,
  `INSERT INTO nft_contract_holders
   SELECT chain, start, contract, holder, block_number, block_hash, tokens, amount, excess ${STEP_HOLDINGS}`,
  `INSERT INTO nft_holder_contracts
   SELECT chain, start, holder, contract, block_number, block_hash, tokens, amount, excess ${STEP_HOLDINGS}`,
  counts('nft_holder_totals', 'holder', {
    brings: { holdings: HOLDINGS_MORE, contracts: PAIRS_MORE },
    from: STEP_HOLDINGS,
  }),
  counts('nft_contract_totals', 'contract', {
    brings: { holdings: HOLDINGS_MORE, holders: PAIRS_MORE },
    from: STEP_HOLDINGS,
  }),
  counts('nft_token_totals', 'contract, token_id', {
    brings: {
      holders: `toInt64(${isHeld('amount', 'excess')}) - toInt64(${isHeld('amount_before', 'excess_before')})`,
    },
    from: `${STEP_CHANGES} AND standard = 'ERC1155'`,
  }),
]
