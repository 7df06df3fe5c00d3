import { blockEvidenceSql, EVIDENCE_COLUMNS } from './block-evidence.ts'
import type { RevenueClass } from './execution.ts'

/** Classes of revenue that counts. */
export const PROVEN_CLASSES: readonly RevenueClass[] = [
  'local',
  'builder_payment',
  'coinbase_is_proposer',
  'direct_transfers',
]
/** Classes of which nothing counts, and what the block may have paid is a claim. */
const CLAIMED_CLASSES: readonly RevenueClass[] = ['relay_only', 'unexplained']
/** All of them. */
export const REVENUE_CLASSES: readonly RevenueClass[] = [...PROVEN_CLASSES, ...CLAIMED_CLASSES]

/** Whether revenue of the class counts; the class is empty while the execution block is not known. */
export function isProvenClass(revenueClass: RevenueClass | ''): boolean {
  return revenueClass !== '' && PROVEN_CLASSES.includes(revenueClass)
}

/** Classes as SQL has a set. */
export const PROVEN_CLASSES_SQL = `('${PROVEN_CLASSES.join("', '")}')`
export const CLAIMED_CLASSES_SQL = `('${CLAIMED_CLASSES.join("', '")}')`

/**
 * What finalized blocks paid their proposers: one row per block. It is the one place where a revenue's class is made: days,
 * settlements, their proofs and the API read it from here (docs/decisions/0050-payment-evidence.md, which has the rules).
 *
 * What is evidence of a payment follows from whom the proposer is known to be: its own addresses are those that the operator told of
 * the day, the one that was given when it was created, and its withdrawal address; where nothing was told, those that were coinbase of
 * its blocks of the same day without a payment are taken for its own, unless payer and payee both were. By days, because a closed day
 * must not change with blocks of another one.
 *
 * `blocks` is a condition on the columns of `finalized_blocks AS f` that takes in a proposer's blocks of a day all or none; it stands here
 * six times, so that whoever asks often finds blocks by a statement of its own and gives their slots or days as parameters;
 * `recipients` the relation `r` of what was told, if it is not the table.
 * `revenue_wei` is proven, and 0 where the class is none of the proven ones; `claimed_wei` is what the block may have paid: the same
 * where it is proven. `is_contradicted` says that a relay claims something else than what is proven. Versions are sums over all that a
 * class may follow from, whether it does or not: so they only grow.
 * The class is empty, and the amounts are 0, where the execution block is not known; `is_reverted` says that it was taken back.
 */
export function blockRevenuesSql(blocks: string, recipients = 'fee_recipients AS r FINAL'): string {
  // Each select uses what the one below has named: the engine works out an expression again wherever its alias is used. And none has
  // comparisons side by side in an AND: it would compare their operands with all that lies below, and take ten times as long to begin.
  return `
  SELECT
    chain, slot, epoch, day, proposer_index, block_number, block_hash, time, is_reverted, revenue_class, revenue_wei,
    multiIf(
      is_proven, revenue_wei,
      revenue_class = 'relay_only', arrayMax(claimed_values),
      revenue_class = '', toUInt256(0),
      arrived_wei > 0, arrived_wei,
      doubtful.1 > 0, doubtful.1,
      tips_wei) AS claimed_wei,
    multiIf(
      revenue_class = 'builder_payment', payee.1,
      revenue_class = 'direct_transfers', if(is_own_coinbase, coinbase, arrived_at),
      revenue_class = 'relay_only', claimed_recipients[1],
      revenue_class = 'unexplained', multiIf(arrived_wei > 0, arrived_at, doubtful.1 > 0, doubtful.2, coinbase),
      coinbase) AS recipient,
    if(is_proven, length(claimed_values) != least(
      countEqual(claimed_pubkeys, pubkey),
      countEqual(claimed_values, revenue_wei) + if(is_own_coinbase, countEqual(claimed_values, without_tips_wei), 0)), 0) AS is_contradicted,
    version
  FROM (
    SELECT
      *,
      multiIf(
        NOT is_proven, toUInt256(0),
        is_own_coinbase OR is_local, tips_wei + direct_wei + through_wei,
        paid_wei + through_wei) AS revenue_wei,
      if(tips_wei = 0, toUInt256(-1), direct_wei + through_wei) AS without_tips_wei
    FROM (
      SELECT *, revenue_class IN ${PROVEN_CLASSES_SQL} AS is_proven, revenue_class = 'local' AS is_local
      FROM (
        SELECT
          *,
          multiIf(
            NOT is_known, '',
            is_own_coinbase, multiIf(
              direct_wei > 0, 'coinbase_is_proposer',
              through_wei > 0, 'direct_transfers',
              names_builder OR notEmpty(claimed_values), 'coinbase_is_proposer',
              'local'),
            paid_wei > 0, 'builder_payment',
            through_wei > 0, 'direct_transfers',
            payer_rank > payee_rank, 'local',
            notEmpty(claimed_values), 'relay_only',
            'unexplained') AS revenue_class
        FROM (${partsSql(sumsSql(rankedSql(proposalsSql(blocks, recipients))))})
      )
    )
  )`
}

/** How sure it is that an address is the proposer's own: told or its withdrawal address, taken for it, unknown or none. */
const CERTAIN = 2

/**
 * The parts that a revenue is made of, of each proposal, in wei: `paid` by transactions to the proposer, those of the coinbase or, if
 * there is none, those that stand at the end without a tip or that a relay names to the wei; `direct` to an own coinbase beside the
 * tips; and `through` contracts, of all that contracts let arrive (`arrived`). What a node says of balances counts where a relay says
 * the same to the wei, or, if nothing else was paid, up to what whoever made the block has sent into contracts.
 */
function partsSql(sums: string): string {
  return `
        SELECT
          *,
          multiIf(
            arrived_wei = 0, toUInt256(0),
            has(claimed_values, arrived_wei + paid_wei + direct_wei), arrived_wei,
            has(claimed_values, arrived_wei + direct_wei + if(is_own_coinbase, tips_wei, paid_wei)), arrived_wei,
            paid_wei > 0, toUInt256(0),
            least(arrived_wei, into_contracts_wei)) AS through_wei
        FROM (
          SELECT
            * EXCEPT (block, internal_wei, paid_certain, paid_guessed),
            ${BLOCK_COLUMNS.map((name, i) => `block.${i + 1} AS ${name}`).join(', ')},
            multiIf(payee.2 < payee_rank, toUInt256(0), payee.2 = ${CERTAIN}, paid_certain[payee.3], paid_guessed[payee.3]) AS paid_wei,
            toUInt256(if(block.1 = 1, toInt256(0), greatest(internal_wei, toInt256(0)))) AS arrived_wei
          FROM (${sums})
        )`
}

/** What a block is told with, whatever its evidence. */
const BLOCK_COLUMNS = [
  ...[
    'payer_rank',
    'is_own_coinbase',
    'epoch',
    'day',
    'proposer_index',
    'block_number',
    'block_hash',
    'time',
    'coinbase',
  ],
  ...['tips_wei', 'names_builder', 'is_reverted', 'is_known', 'pubkey', 'claimed_values', 'claimed_recipients'],
  ...['claimed_pubkeys', 'version'],
] as const

/** Sums of the evidence of each proposal; who was paid is `(recipient, rank, 1 of the coinbase and 2 of others)`. */
function sumsSql(ranked: string): string {
  return `
            SELECT
              chain, slot, any((${BLOCK_COLUMNS.join(', ')})) AS block, max(rank) AS payee_rank,
              argMaxIf((recipient, rank, 2 - is_coinbase), (rank, is_coinbase, transaction_index), is_paid) AS payee,
              [sumIf(value, is_paid AND to_own AND is_coinbase), sumIf(value, is_paid AND to_own AND NOT is_coinbase)] AS paid_certain,
              [sumIf(value, is_paid AND NOT to_own AND is_coinbase), sumIf(value, is_paid AND NOT to_own AND NOT is_coinbase)] AS paid_guessed,
              sumIf(value, has_moved AND is_let_in AND to_own AND is_own_coinbase) AS direct_wei,
              sumIf(value, has_moved AND runs_code AND NOT to_own AND (is_let_in OR is_coinbase AND is_strange_coinbase)) AS into_contracts_wei,
              argMaxIf((value, recipient), transaction_index, is_payment AND (is_closing OR is_let_in OR is_known_payee)) AS doubtful,
              sumIf(internal, is_own_balance) AS internal_wei, argMaxIf(recipient, internal, is_own_balance) AS arrived_at
            FROM (
              SELECT *, has_moved AND is_above AND (is_coinbase OR is_let_in OR is_claimed) AS is_paid
              FROM (
                SELECT *, rank > payer_rank AS is_above, rank > 0 AS is_known_payee, payer_rank = 0 AS is_strange_coinbase
                FROM (${ranked})
              )
            )
            GROUP BY chain, slot`
}

/**
 * A row of each piece of evidence, and one at least of each proposal, with who coinbase and payee are to the proposer. What one of its
 * own addresses sends is its own business, and what its own coinbase is sent by somebody else a payment; tips go to any coinbase by
 * themselves. Nobody lets in somebody else's transaction without a tip who has not made the block. Of what a coinbase sends, the block's
 * last two places are those where a payment stands.
 */
function rankedSql(proposals: string): string {
  return `
              SELECT
                *, if(is_payment, recipient_rank, 0) AS rank, is_payment AND succeeded AS has_moved,
                is_payment AND NOT is_coinbase AND NOT pays_tip AS is_let_in, is_payment AND is_coinbase AND stands_last AS is_closing
              FROM (
                SELECT
                  *,
                  is_transaction AND NOT is_own_business AND NOT is_deposit
                    AND (NOT to_coinbase OR NOT is_coinbase AND is_own_coinbase) AS is_payment,
                  NOT is_transaction AND to_own AS is_own_balance
                FROM (
                  SELECT
                    *,
                    has(own, coinbase) AS is_own_coinbase, multiIf(is_own_coinbase, ${CERTAIN}, has(guessed, coinbase), 1, 0) AS payer_rank,
                    has(own, recipient) AS to_own, multiIf(to_own, ${CERTAIN}, has(guessed, recipient), 1, 0) AS recipient_rank,
                    has(own, sender) AS is_own_business, recipient = deposit_contract AS is_deposit, recipient = coinbase AS to_coinbase,
                    has(claimed_values, value) AS is_claimed, transaction_index + 2 >= transactions AS stands_last
                  FROM (
                    SELECT
                      * EXCEPT (seen, evidence), if(empty(told), seen, []) AS guessed,
                      if(withdrawal_address = '', told, arrayPushBack(told, withdrawal_address)) AS own,
                      ${EVIDENCE_COLUMNS.map((name, i) => `piece.${i + 1} AS ${name}`).join(', ')}
                    FROM (${proposals})
                    LEFT ARRAY JOIN evidence AS piece
                  )
                )
              )`
}

/**
 * The blocks with all that is known of them and of their proposers; `seen` are coinbases of blocks that seem to pay nobody, and to be no
 * builder's. Of a block that an earlier release told, the address of the proposer's creation counts as little as then.
 */
function proposalsSql(blocks: string, recipients: string): string {
  const wanted = `(chain, block_hash) IN (SELECT f.chain, f.execution_block_hash FROM finalized_blocks AS f WHERE ${blocks})`
  return `
                    SELECT
                      * EXCEPT (block_version, proposer_version),
                      groupArrayIf(coinbase, is_known AND NOT pays_somebody AND NOT names_builder AND empty(claimed_values)) OVER proposals AS seen,
                      block_version + proposer_version + sum(block_version) OVER proposals AS version
                    FROM (
                      SELECT
                        chain, slot, epoch, day, validator_index AS proposer_index, f.block_number AS block_number, block_hash,
                        t.time AS time, t.coinbase AS coinbase, t.priority_fees_wei AS tips_wei, t.transactions AS transactions,
                        t.pays_somebody AS pays_somebody, t.names_builder AS names_builder,
                        t.is_deleted AS is_reverted, notEmpty(t.coinbase) AND NOT t.is_deleted AS is_known,
                        e.evidence AS evidence, e.claimed_values AS claimed_values, e.claimed_recipients AS claimed_recipients,
                        e.claimed_pubkeys AS claimed_pubkeys, k.pubkey AS pubkey, k.withdrawal_address AS withdrawal_address,
                        k.deposit_contract AS deposit_contract, if(t.has_evidence = 0, k.told_points, k.points) AS points,
                        arrayFilter(one -> arrayLast(point -> if(point.3 = one, point.1 <= day, 0), points).2 = 1, arrayDistinct(points.3)) AS told,
                        f.version + t.version + e.version AS block_version, k.version AS proposer_version
                      FROM (
                        SELECT
                          f.chain AS chain, f.slot AS slot, f.epoch AS epoch, f.day AS day, f.proposer_index AS validator_index,
                          f.execution_block_number AS block_number, toString(f.execution_block_hash) AS block_hash, f.version AS version
                        FROM finalized_blocks AS f FINAL
                        WHERE ${blocks}
                      ) AS f
                      LEFT JOIN (
                        SELECT
                          chain, toString(block_hash) AS block_hash, time, toString(coinbase) AS coinbase, pays_somebody, names_builder,
                          has_evidence, transactions, priority_fees_wei, is_deleted, version
                        FROM execution_blocks
                        WHERE ${wanted}
                        ORDER BY version DESC
                        LIMIT 1 BY chain, block_hash
                      ) AS t USING (chain, block_hash)
                      LEFT JOIN (${blockEvidenceSql(wanted)}) AS e USING (chain, block_hash)
                      LEFT JOIN (${knownRecipientsSql(blocks, recipients)}) AS k USING (chain, validator_index)
                    )
                    WINDOW proposals AS (PARTITION BY chain, proposer_index, day)`
}

/** Withdrawal credentials that name an address: 0x01 and 0x02, eleven zero bytes, the address. */
const WITHDRAWAL_ADDRESS = `if(
      substring(v.withdrawal_credentials, 1, 4) IN ('0x01', '0x02'), concat('0x', substring(v.withdrawal_credentials, 27)), '')`

/**
 * Addresses that are known to be a proposer's own, of proposers of the wanted blocks alone: what was told of each from a day on, until the next day that was named for it, and
 * before all that the one of its creation. What was taken back counts in the version: it grows with every fact.
 */
function knownRecipientsSql(blocks: string, recipients: string): string {
  return `
        SELECT
          v.chain AS chain, v.validator_index AS validator_index, any(toString(v.pubkey)) AS pubkey,
          arraySort(groupArrayIf((r.from_day, r.is_own, toString(r.fee_recipient)), r.version > 0)) AS told_points,
          anyIf(toString(c.fee_recipient), c.version > 0) AS created,
          if(created = '' OR arrayExists(point -> if(point.1 = toDate(0), point.3 = created, 0), told_points),
            told_points, arrayPushFront(told_points, (toDate(0), toUInt8(1), created))) AS points,
          any(${WITHDRAWAL_ADDRESS}) AS withdrawal_address, any(d.address) AS deposit_contract,
          any(v.version) + sum(r.version) + any(c.version) + any(d.version) AS version
        FROM validators AS v FINAL
        LEFT JOIN ${recipients} ON r.chain = v.chain AND r.pubkey = v.pubkey
        LEFT JOIN created_validators AS c FINAL ON c.chain = v.chain AND c.pubkey = v.pubkey
        LEFT JOIN (SELECT chain, toString(address) AS address, version FROM deposit_contracts FINAL) AS d ON d.chain = v.chain
        WHERE (v.chain, v.validator_index) IN (SELECT f.chain, f.proposer_index FROM finalized_blocks AS f WHERE ${blocks})
        GROUP BY chain, validator_index`
}
