import type { CreatedAt } from '../../schemas/validator-lifecycle.ts'
import type { AccountScope } from '../http/seen-validators.ts'
import { byAccount, OWN_KEYS, readTogether } from '../http/small-accounts.ts'
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
  readonly account: string
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
    own.account AS account, c.pubkey AS pubkey, toString(withdrawal_credentials) AS withdrawal_credentials, toString(deposit_from) AS deposit_from,
    toString(fee_recipient) AS fee_recipient, deposit_data_root,
    toUnixTimestamp(created_at) AS created_sec, toInt32(created_at_slot) AS created_slot
  FROM created_validators AS c FINAL
  INNER JOIN (${OWN_KEYS}) AS own ON own.pubkey = c.pubkey
  WHERE c.chain = {chain:String}
  ORDER BY created_at DESC, pubkey`

const createdMemo = new StandingMemo<ReadonlyMap<string, CreatedValidator>>((created) => created.size)

/** Of the validators that the account has or had on the chain those that were created here, by public key, newest first. */
export function createdValidators(scope: AccountScope): Promise<ReadonlyMap<string, CreatedValidator>> {
  const { standing, account } = scope
  return createdMemo.of(standing, account, async () => {
    const rows = await readTogether(scope, 'created', account, async (warehouse, accounts) =>
      byAccount(accounts, await warehouse.query<CreatedRow>(CREATED, { chain: standing.chain, accounts })),
    )
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
