import type { FeeRecipientsTold } from '../../schemas/events/fee-recipients.ts'
import { storedDay } from '../../schemas/ownership.ts'
import { constantColumn, type Projected, textColumn } from '../loop/rows.ts'

/** A point for each validator and address; what blocks of these validators paid may change with them. */
export function projectFeeRecipients(
  { chain, recipients, isOwn, from }: FeeRecipientsTold,
  version: bigint,
): Projected {
  const pubkeys = recipients.map(({ pubkey }) => pubkey)
  const columns = {
    chain: textColumn(recipients.length, chain),
    pubkey: pubkeys,
    fee_recipient: recipients.map(({ address }) => address),
    from_day: new Uint16Array(recipients.length).fill(storedDay(from)),
    is_own: new Uint8Array(recipients.length).fill(isOwn ? 1 : 0),
    version: constantColumn(recipients.length, version),
  }
  const touched = { kind: 'proposers', chain, pubkeys, rows: { table: 'fee_recipients', version } } as const
  return { rows: [{ table: 'fee_recipients', columns }], touched }
}
