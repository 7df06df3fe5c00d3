import type { RevenueClass } from './execution.ts'

/** Classes of revenue that counts: what is `unexplained` is a claim. */
export const PROVEN_CLASSES: readonly RevenueClass[] = ['local', 'builder_payment']

/**
 * What finalized blocks paid their proposers: one row per block. It is the one place where a revenue's class is made: days,
 * settlements, their proofs and the API read it from here (docs/decisions/0007-execution-revenue.md).
 *
 * A block's evidence is what its coinbase sent in the last transaction. Whether that is a builder's payment follows from whom the
 * proposer is known to be: its own addresses are those that the operator told of the day, and its withdrawal address; where nothing
 * was told, those that were coinbase of its blocks of the same day without such a transfer are taken for its own, unless payer and
 * payee both were. By days, because a closed day must not change with blocks of another one. A block without a transfer leaves the
 * tips to its coinbase: where addresses were told and it is none of them, whether the proposer had them is unexplained.
 *
 * `blocks` is a condition on the columns of `finalized_blocks AS f` that takes in a proposer's blocks of a day all or none;
 * `recipients` the relation `r` of what was told, if it is not the table.
 * Versions are sums over all that a class may follow from, whether it does or not: so they only grow.
 * The class is empty, and the amounts are 0, where the execution block is not known; `is_reverted` says that it was taken back.
 */
export function blockRevenuesSql(blocks: string, recipients = 'fee_recipients AS r FINAL'): string {
  // Each select uses what the one below has named: the engine works out an expression again wherever its alias is used.
  return `
  SELECT
    chain, slot, epoch, day, proposer_index, block_number, block_hash, time, is_reverted, revenue_class,
    multiIf(revenue_class = 'local', priority_fees_wei, revenue_class = 'builder_payment', payment_wei, toUInt256(0)) AS revenue_wei,
    if(revenue_class = 'local' OR payment_recipient = '', priority_fees_wei, payment_wei) AS claimed_wei,
    if(revenue_class IN ('local', '') OR payment_recipient = '', coinbase, payment_recipient) AS recipient,
    version
  FROM (
    SELECT
      * EXCEPT (is_known, payment_succeeded, payer_rank, payee_rank),
      multiIf(
        NOT is_known, '',
        payer_rank = ${RANK_CERTAIN} OR payer_rank > payee_rank, 'local',
        payee_rank > payer_rank AND payment_succeeded = 1, 'builder_payment',
        'unexplained') AS revenue_class
    FROM (
      SELECT
        * EXCEPT (seen, told, withdrawal_address, block_version, proposer_version, day_version),
        ${rankOf('coinbase')} AS payer_rank, ${rankOf('payment_recipient')} AS payee_rank,
        block_version + proposer_version + day_version AS version
      FROM (
        SELECT
          f.chain AS chain, f.slot AS slot, f.epoch AS epoch, f.day AS day, f.proposer_index AS proposer_index,
          f.execution_block_number AS block_number, f.execution_block_hash AS block_hash,
          t.time AS time, t.coinbase AS coinbase, t.priority_fees_wei AS priority_fees_wei,
          t.payment_recipient AS payment_recipient, t.payment_wei AS payment_wei, t.payment_succeeded AS payment_succeeded,
          t.is_deleted AS is_reverted, t.block_hash != '' AND t.is_deleted = 0 AS is_known,
          groupArrayIf(t.coinbase, t.block_hash != '' AND t.is_deleted = 0 AND t.payment_recipient = '') OVER proposals AS seen,
          f.version + t.version AS block_version, sum(f.version + t.version) OVER proposals AS day_version,
          arrayFilter(one -> arrayLast(point -> point.3 = one AND point.1 <= f.day, k.points).2 = 1, arrayDistinct(k.points.3)) AS told,
          k.withdrawal_address AS withdrawal_address, k.version AS proposer_version
        FROM finalized_blocks AS f FINAL
        LEFT JOIN (
          SELECT
            chain, toString(block_hash) AS block_hash, time, toString(coinbase) AS coinbase, priority_fees_wei,
            payment_recipient, payment_wei, payment_succeeded, is_deleted, version
          FROM execution_blocks
          WHERE (chain, block_hash) IN (SELECT f.chain, f.execution_block_hash FROM finalized_blocks AS f WHERE ${blocks})
          ORDER BY version DESC
          LIMIT 1 BY chain, block_hash
        ) AS t ON t.chain = f.chain AND t.block_hash = f.execution_block_hash
        LEFT JOIN (${knownRecipientsSql(recipients)}) AS k ON k.chain = f.chain AND k.validator_index = f.proposer_index
        WHERE ${blocks}
        WINDOW proposals AS (PARTITION BY f.chain, f.proposer_index, f.day)
      )
    )
  )`
}

/** How sure it is that an address is the proposer's own: told or its withdrawal address, taken for it, unknown or none. */
const RANK_CERTAIN = 2

function rankOf(address: string): string {
  return `multiIf(
        ${address} = '', 0, has(told, ${address}) OR ${address} = withdrawal_address, ${RANK_CERTAIN}, empty(told) AND has(seen, ${address}), 1, 0)`
}

/** Withdrawal credentials that name an address: 0x01 and 0x02, eleven zero bytes, the address. */
const WITHDRAWAL_ADDRESS = `if(
      substring(v.withdrawal_credentials, 1, 4) IN ('0x01', '0x02'), concat('0x', substring(v.withdrawal_credentials, 27)), '')`

/**
 * Addresses that are known to be a validator's own: what was told of each from a day on, until the next day that was named for it.
 * What was taken back counts in the version: it grows with every fact.
 */
function knownRecipientsSql(recipients: string): string {
  return `
        SELECT
          v.chain AS chain, v.validator_index AS validator_index,
          arraySort(groupArrayIf((r.from_day, r.is_own, toString(r.fee_recipient)), r.version > 0)) AS points,
          any(${WITHDRAWAL_ADDRESS}) AS withdrawal_address,
          any(v.version) + sum(r.version) AS version
        FROM validators AS v FINAL
        LEFT JOIN ${recipients} ON r.chain = v.chain AND r.pubkey = v.pubkey
        GROUP BY chain, validator_index`
}
