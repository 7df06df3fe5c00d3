import type { AccountScope } from './seen-validators.ts'
import { StandingMemo } from './standing-memo.ts'

const LABELS = `
  SELECT toString(pubkey) AS pubkey, label FROM validator_labels FINAL
  WHERE chain = {chain:String} AND account = {account:String} AND label != ''`

const labelMemo = new StandingMemo<ReadonlyMap<string, string>>((labels) => labels.size)

/** What the account calls validators of the chain, by public key; those without a label are left out. */
export function validatorLabels({ standing, account, shared }: AccountScope): Promise<ReadonlyMap<string, string>> {
  return labelMemo.of(standing, account, async () => {
    const rows = await shared.query<{ pubkey: string; label: string }>(LABELS, { chain: standing.chain, account })
    return new Map(rows.map(({ pubkey, label }) => [pubkey, label]))
  })
}
