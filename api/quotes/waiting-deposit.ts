import { canonicalBlocks } from '../http/account-deposits.ts'
import type { AccountScope } from '../http/seen-validators.ts'

interface DepositRow {
  readonly block_hash: string
  readonly block_number: string
  readonly transaction_hash: string
}

/** Anybody may deposit for a key, again and again: the newest are looked at. */
const DEPOSITS_LOOKED_AT = 100

// Of whoever has sent them: a wallet may stake without asking anybody here.
const DEPOSITS = `
  SELECT toString(block_hash) AS block_hash, toString(block_number) AS block_number, toString(transaction_hash) AS transaction_hash
  FROM deposits FINAL
  WHERE chain = {chain:String} AND pubkey = {pubkey:String} AND withdrawal_credentials IN {credentials:Array(String)}
    AND contract = (SELECT address FROM deposit_contracts FINAL WHERE chain = {chain:String})
  ORDER BY deposits.block_number DESC, log_index DESC
  LIMIT ${DEPOSITS_LOOKED_AT}`

/**
 * Hash of the newest transaction on chain that deposits for a public key with these withdrawal credentials (32 bytes each, lower-case
 * hex); undefined where there is none. Not said: that its signature holds, so that the chain ever makes a validator of it.
 */
export async function waitingDeposit(
  scope: AccountScope,
  pubkey: string,
  credentials: readonly string[],
): Promise<string | undefined> {
  const { standing, shared } = scope
  const rows = await shared.query<DepositRow>(DEPOSITS, {
    chain: standing.chain,
    pubkey,
    credentials: [...credentials],
  })
  const canonical = await canonicalBlocks(scope, rows)
  return rows.find((row) => canonical.has(row.block_hash))?.transaction_hash
}
