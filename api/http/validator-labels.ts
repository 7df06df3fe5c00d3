import type { AccountScope } from './seen-validators.ts'
import { byAccount, readTogether } from './small-accounts.ts'
import { StandingMemo } from './standing-memo.ts'

const LABELS = `
  SELECT account, toString(pubkey) AS pubkey, label FROM validator_labels FINAL
  WHERE chain = {chain:String} AND account IN {accounts:Array(String)} AND label != ''`

interface LabelRow {
  readonly account: string
  readonly pubkey: string
  readonly label: string
}

const labelMemo = new StandingMemo<ReadonlyMap<string, string>>((labels) => labels.size)

/** What the account calls validators of the chain, by public key; those without a label are left out. */
export function validatorLabels(scope: AccountScope): Promise<ReadonlyMap<string, string>> {
  const { standing, account } = scope
  return labelMemo.of(standing, account, async () => {
    const rows = await readTogether(scope, 'labels', account, async (warehouse, accounts) =>
      byAccount(accounts, await warehouse.query<LabelRow>(LABELS, { chain: standing.chain, accounts })),
    )
    return new Map(rows.map(({ pubkey, label }) => [pubkey, label]))
  })
}
