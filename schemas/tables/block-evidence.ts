/** What a piece of a block's evidence has, in its order: of a transaction, or of the balance of an address (`recipient`). */
export const EVIDENCE_COLUMNS = [
  ...['transaction_index', 'is_transaction', 'sender', 'recipient', 'value', 'internal', 'succeeded', 'is_coinbase'],
  ...['pays_tip', 'runs_code'],
] as const

/**
 * The evidence of blocks, one row for each that has some: `evidence` in pieces of `EVIDENCE_COLUMNS`, what relays claim, and the sum of
 * the versions of all of it. `wanted` is a condition on (chain, block_hash).
 */
export function blockEvidenceSql(wanted: string): string {
  return `
          SELECT
            chain, block_hash, groupArrayIf(piece, relay = '') AS evidence, sum(version) AS version,
            arraySort(groupArrayIf((relay, claim), relay != '')).2 AS claims,
            claims.1 AS claimed_values, claims.2 AS claimed_recipients, claims.3 AS claimed_pubkeys
          FROM (
            SELECT chain, toString(block_hash) AS block_hash, version, '' AS relay, (toUInt256(0), '', '') AS claim,
              (transaction_index, toUInt8(1), toString(sender), toString(recipient), value_wei, toInt256(0), succeeded,
                toUInt8(payer = 'coinbase'), pays_tip, runs_code) AS piece
            FROM block_payments FINAL WHERE ${wanted}
            UNION ALL
            SELECT chain, toString(block_hash), version, '', (toUInt256(0), '', ''),
              (toUInt32(0), toUInt8(0), '', toString(address), toUInt256(0), internal_wei, toUInt8(0), toUInt8(0), toUInt8(0), toUInt8(0))
            FROM block_balances FINAL WHERE ${wanted}
            UNION ALL
            SELECT chain, toString(block_hash), version, relay, (value_wei, toString(fee_recipient), toString(proposer_pubkey)),
              (toUInt32(0), toUInt8(0), '', '', toUInt256(0), toInt256(0), toUInt8(0), toUInt8(0), toUInt8(0), toUInt8(0))
            FROM relay_claims FINAL WHERE ${wanted}
          )
          GROUP BY chain, block_hash`
}
