import type { CreatedAt } from '../../schemas/validator-lifecycle.ts'
import type { AccountScope } from '../http/seen-validators.ts'
import { StandingMemo } from '../http/standing-memo.ts'

/** A validator whose key was made here; addresses are lower-case hex. */
export interface CreatedValidator extends CreatedAt {
  readonly pubkey: string
  readonly withdrawalCredentials: string
  readonly depositFrom: string
  readonly feeRecipient: string
  /** Of the deposit that was signed; undefined where the log does not tell it. */
  readonly depositDataRoot: string | undefined
}

interface CreatedRow {
  readonly pubkey: string
  readonly withdrawal_credentials: string
  readonly deposit_from: string
  readonly fee_recipient: string
  readonly deposit_data_root: string
  readonly created_sec: number
  /** -1 where the log does not tell it. */
  readonly created_slot: number
}

const CREATED = `
  SELECT
    pubkey, toString(withdrawal_credentials) AS withdrawal_credentials, toString(deposit_from) AS deposit_from,
    toString(fee_recipient) AS fee_recipient, deposit_data_root,
    toUnixTimestamp(created_at) AS created_sec, toInt32(created_at_slot) AS created_slot
  FROM created_validators FINAL
  WHERE chain = {chain:String} AND pubkey IN
    (SELECT pubkey FROM account_validators WHERE account = {account:String} AND chain = {chain:String})
  ORDER BY created_at DESC, pubkey`

const createdMemo = new StandingMemo<ReadonlyMap<string, CreatedValidator>>((created) => created.size)

/** Of the validators that the account has or had on the chain those that were created here, by public key, newest first. */
export function createdValidators(scope: AccountScope): Promise<ReadonlyMap<string, CreatedValidator>> {
  const { standing, account, shared } = scope
  return createdMemo.of(standing, account, async () => {
    const rows = await shared.query<CreatedRow>(CREATED, { chain: standing.chain, account })
    return new Map(
      rows.map((row) => [
        row.pubkey,
        {
          pubkey: row.pubkey,
          withdrawalCredentials: row.withdrawal_credentials,
          depositFrom: row.deposit_from,
          feeRecipient: row.fee_recipient,
          depositDataRoot: row.deposit_data_root === '' ? undefined : row.deposit_data_root,
          createdAtSec: row.created_sec,
          createdAtSlot: row.created_slot < 0 ? undefined : row.created_slot,
        },
      ]),
    )
  })
}
