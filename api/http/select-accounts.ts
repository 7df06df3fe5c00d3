import type { WarehouseReader } from '../../infra/ports/warehouse.ts'

/** The account of an access token that was created and not revoked; the warehouse knows only the token's hash. */
export async function selectAccountOfToken(warehouse: WarehouseReader, tokenHash: string): Promise<string | undefined> {
  const [row] = await warehouse.query<{ account: string }>(
    // FINAL leaves out what was deleted: a revoked token.
    'SELECT account FROM access_tokens FINAL WHERE token_hash = {tokenHash:String}',
    { tokenHash },
  )
  return row?.account
}

/** Indices of the account's validators that the chain's registry knows, as a subquery: `chain` and `account` must be bound. */
export const ACCOUNT_INDICES = `
  SELECT validator_index FROM validators FINAL
  WHERE chain = {chain:String} AND pubkey IN
    (SELECT pubkey FROM account_validators FINAL WHERE account = {account:String} AND chain = {chain:String})`
