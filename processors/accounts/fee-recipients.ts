import type { FeeRecipientsTold } from '../../schemas/events/fee-recipients.ts'
import { constantColumn, type Projected, textColumn } from '../loop/rows.ts'

/** A row for each validator and address; what blocks of these validators paid may change with them. */
export function projectFeeRecipients({ chain, recipients, isOwn }: FeeRecipientsTold, version: bigint): Projected {
  const pubkeys = recipients.map(({ pubkey }) => pubkey)
  const columns = {
    chain: textColumn(recipients.length, chain),
    pubkey: pubkeys,
    fee_recipient: recipients.map(({ address }) => address),
    is_own: new Uint8Array(recipients.length).fill(isOwn ? 1 : 0),
    version: constantColumn(recipients.length, version),
  }
  return { rows: [{ table: 'fee_recipients', columns }], touched: { kind: 'proposers', chain, pubkeys } }
}
