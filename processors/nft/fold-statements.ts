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
/** The same in a statement that has them as `step`: it names them once. */
const IN_NAMED_STEP = `block_number > {from:UInt64} AND block_number <= {to:UInt64} AND block_hash IN (SELECT * FROM step)`
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
    SELECT contract, token_id, block_number, block_hash, any(time) AS block_time,
      argMax(to_address, (log_index, batch_index)) AS receiver
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
  toUInt256(holder_before), 0, toUInt256(1 - holder_before), 0, block_number, block_time
FROM (
  SELECT contract, token_id, block_number, block_hash, block_time, receiver,
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
    SELECT contract, token_id, holder, block_number, block_hash, any(time) AS block_time,
      sum(sign * ${lowHalf('amount')}) AS low, sum(sign * ${highHalf('amount')}) AS high
    FROM (
      SELECT contract, token_id, holder, block_number, block_hash, time, amount, sign
      FROM (
        SELECT contract, token_id, block_number, block_hash, time, amount, from_address, to_address
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
    SELECT contract, token_id, holder, argMax(amount, block_number) AS last_amount, argMax(excess, block_number) AS last_excess,
      max(since_block) AS last_since_block, max(since_time) AS last_since_time
    FROM nft_token_holders
    WHERE ${BEFORE_STEP} AND standard = 'ERC1155'
      AND (contract, token_id, holder) IN (SELECT contract, token_id, holder FROM moved)
    GROUP BY contract, token_id, holder
  )
SELECT {chain:String}, {start:UInt64}, block_number, block_hash, contract, token_id, 'ERC1155', holder,
  amount_before, excess_before, amount_after, excess_after,
  greatest(last_since_block, max(if(begins, block_number, 0)) OVER through),
  greatest(last_since_time, max(if(begins, block_time, toDateTime(0, 'UTC'))) OVER through)
FROM (
  SELECT contract, token_id, holder, block_number, block_hash, block_time, last_since_block, last_since_time,
    ${amountOf('(low_after - low)', '(high_after - high)')} AS amount_before,
    ${excessOf('(low_after - low)', '(high_after - high)')} AS excess_before,
    ${amountOf('low_after', 'high_after')} AS amount_after, ${excessOf('low_after', 'high_after')} AS excess_after,
    NOT ${isHeld('amount_before', 'excess_before')} AND ${isHeld('amount_after', 'excess_after')} AS begins
  FROM (
    SELECT contract, token_id, holder, block_number, block_hash, block_time, low, high, last_since_block, last_since_time,
      ${lowHalf('last_amount')} + sum(low) OVER through AS low_after,
      ${highHalf('last_amount', 'last_excess')} + sum(high) OVER through AS high_after
    FROM moved LEFT JOIN held USING (contract, token_id, holder)
    WINDOW through AS (PARTITION BY contract, token_id, holder ORDER BY block_number)
  )
)
WINDOW through AS (PARTITION BY contract, token_id, holder ORDER BY block_number)`

const STEP_CHANGES = `FROM nft_changes FINAL WHERE ${OF_FOLD} AND ${IN_STEP}`
const HOLDING = 'block_number, block_hash, amount, excess, since_block, since_time'

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

/**
 * Transfers with who has sent their transactions, and what is odd about them. A token that is one of a kind comes from whom its last
 * transfer went to: before the step from whom its first change in the step takes it, or, where the step changes nothing, from whom it is with
 * at the end. One that nobody has is known to be nobody's if everything is folded from the first block on. Of an amount it is odd when its
 * sender has less than nothing after the block.
 */
const TRANSFERS = `
INSERT INTO nft_folded_transfers
WITH
  step AS (${STEP_HASHES}),
  moved AS (
    SELECT * FROM nft_transfers FINAL WHERE chain = {chain:String} AND ${IN_NAMED_STEP}
  ),
  sent AS (
    SELECT block_hash, transaction_index, sender FROM execution_senders FINAL
    WHERE chain = {chain:String} AND ${IN_NAMED_STEP} AND (block_hash, transaction_index) IN (SELECT block_hash, transaction_index FROM moved)
  ),
  held AS (
    SELECT contract, token_id, standard, argMin(if(amount_before = 1, holder, ${ZERO_ADDRESS}), (block_number, amount_before = 0)) AS last_holder,
      1 AS is_changed
    FROM nft_changes FINAL WHERE ${OF_FOLD} AND ${IN_NAMED_STEP} AND standard = 'ERC721'
    GROUP BY contract, token_id, standard
  ),
  short AS (
    SELECT block_hash, contract, token_id, standard, holder AS from_address, excess < 0 AS is_short
    FROM nft_changes FINAL WHERE ${OF_FOLD} AND ${IN_NAMED_STEP} AND standard = 'ERC1155'
  )
SELECT {chain:String}, {start:UInt64}, block_number, log_index, batch_index, block_hash, time, transaction_index, transaction_hash,
  contract, standard, event, from_address, to_address, token_id, amount, sender,
  arrayStringConcat(arrayFilter(reason -> reason != '', [
    if(standard = 'ERC721' AND is_known AND from_address != ${ZERO_ADDRESS} AND from_address != before, 'from_not_holder', ''),
    if(standard = 'ERC721' AND is_known AND from_address = ${ZERO_ADDRESS} AND before != ${ZERO_ADDRESS}, 'minted_again', ''),
    if(is_short AND from_address != ${ZERO_ADDRESS} AND {start:UInt64} <= 1, 'from_lacks_amount', ''),
    if(amount = 0, 'no_amount', '')
  ]), ',')
FROM (
  SELECT * FROM (
    SELECT *, multiIf(is_first = 0, last_to, is_changed = 1, last_holder, to_at_end) AS before,
      is_first = 0 OR before != ${ZERO_ADDRESS} OR {start:UInt64} <= 1 AS is_known
    FROM (
      SELECT *, lagInFrame(to_address, 1) OVER through AS last_to, last_value(to_address) OVER through AS to_at_end,
        row_number() OVER through = 1 AS is_first
      FROM moved
      WINDOW through AS (
        PARTITION BY contract, token_id, standard ORDER BY block_number, log_index, batch_index
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
      )
    ) AS t
    LEFT JOIN held USING (contract, token_id, standard)
  ) AS u
  LEFT JOIN sent USING (block_hash, transaction_index)
) AS v
LEFT JOIN short USING (block_hash, contract, token_id, standard, from_address)`

/** Rows that were written twice are written twice again, and are the same. */
const STEP_TRANSFERS = `FROM nft_folded_transfers WHERE ${OF_FOLD} AND ${IN_STEP}`
const COUNTED_TRANSFERS = `FROM nft_folded_transfers FINAL WHERE ${OF_FOLD} AND ${IN_STEP}`
const TRANSFER_PLACE = 'block_number, log_index, batch_index, block_hash, time, transaction_index, transaction_hash'

/** Of all transfers of the chain, whose newest count is at hand: there is one for each block that has some. */
const ALL_TOTALS = `
INSERT INTO nft_transfer_totals
WITH (
  SELECT (transfers, singles) FROM nft_transfer_totals WHERE ${BEFORE_STEP} AND kind = 'all' AND key = ${ZERO_ADDRESS}
  ORDER BY block_number DESC LIMIT 1
) AS counted
SELECT {chain:String}, {start:UInt64}, 'all', ${ZERO_ADDRESS}, block_number, block_hash,
  coalesce(counted.1, 0) + sum(more) OVER through, coalesce(counted.2, 0) + sum(singles_more) OVER through
FROM (
  SELECT block_number, block_hash, count() AS more, countIf(standard = 'ERC721') AS singles_more ${COUNTED_TRANSFERS}
  GROUP BY block_number, block_hash
)
WINDOW through AS (ORDER BY block_number)`

const HOLDINGS_MORE = 'toInt64(tokens) - toInt64(tokens_before)'
const PAIRS_MORE = 'toInt64(tokens > 0) - toInt64(tokens_before > 0)'

/** The statements of a step, whose blocks' hashes are hex with 0x, in their order: each reads what those before it have written. */
export function foldStatements(hashes: readonly string[]): readonly string[] {
  const ofStep = stepHashes(hashes)
  return STATEMENTS.map((statement) => `${statement.replaceAll(STEP_HASHES, ofStep)}\nSETTINGS optimize_on_insert = 0`)
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
  TRANSFERS,
  `INSERT INTO nft_contract_transfers
   SELECT chain, start, contract, ${TRANSFER_PLACE}, standard, event, from_address, to_address, token_id, amount, sender, reasons
   ${STEP_TRANSFERS}`,
  `INSERT INTO nft_account_transfers
   SELECT chain, start, account, side, ${TRANSFER_PLACE}, contract, standard, event, other, token_id, amount, sender, reasons
   FROM (SELECT * ${STEP_TRANSFERS})
   ARRAY JOIN [from_address, to_address] AS account, [to_address, from_address] AS other, ['from', 'to'] AS side
   WHERE account != ${ZERO_ADDRESS}`,
  ALL_TOTALS,
  counts('nft_transfer_totals', 'kind, key', {
    brings: { transfers: 'more', singles: 'single' },
    from: `FROM (
      SELECT block_number, block_hash, 1 AS more, single, kind, key FROM (
        SELECT block_number, block_hash, contract, from_address, to_address, toInt64(standard = 'ERC721') AS single ${COUNTED_TRANSFERS}
      )
      ARRAY JOIN [contract, from_address, to_address] AS key, ['contract', 'from', 'to'] AS kind
      WHERE key != ${ZERO_ADDRESS}
    )`,
  }),
]
