import type { ValidatorLabelled } from '../../schemas/events/validator-labels.ts'
import { constantColumn, type Projected, textColumn } from '../loop/rows.ts'

/** A row for each label; a label that was taken away is an empty one. */
export function projectLabels({ chain, account, labels }: ValidatorLabelled, version: bigint): Projected {
  // Of a key that is named twice the later label counts: rows of one event have one version.
  const last = [...new Map(labels.map(({ pubkey, label }) => [pubkey, label]))]
  const columns = {
    chain: textColumn(last.length, chain),
    account: textColumn(last.length, account),
    pubkey: last.map(([pubkey]) => pubkey),
    label: last.map(([, label]) => label),
    version: constantColumn(last.length, version),
  }
  return { rows: [{ table: 'validator_labels', columns }] }
}
