import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { validatorsCreated } from '../../schemas/events/created-validators.ts'
import type { Created } from '../../schemas/routes/validators/create-validators.ts'

/** 0x01 credentials: the prefix, eleven zero bytes, the address. */
const ETH1_PREFIX = `0x01${'00'.repeat(11)}`

/** The credentials of a withdrawal address (lower-case or with its checksum), lower-case. */
export function credentialsOf(withdrawalAddress: string): string {
  return `${ETH1_PREFIX}${withdrawalAddress.slice('0x'.length).toLowerCase()}`
}

export interface Announcement {
  readonly chain: string
  readonly account: string
  readonly requestId: string
  /** JSON text of what the request was answered. */
  readonly answer: string
  /** ISO 8601. */
  readonly time: string
  /** Undefined where nobody knows it. */
  readonly createdAtSlot: number | undefined
}

/** What the log is told of created validators: all of it is in the answer, which is kept with their keys. */
export function createdEvent(announcement: Announcement): EncodedEvent {
  const { chain, account, requestId, answer, time, createdAtSlot } = announcement
  const { validators } = JSON.parse(answer) as Created
  const [first] = validators
  if (first === undefined) throw new Error('a request that was answered has validators')
  const { withdrawal_address, deposit_from_address, fee_recipient_address, deposit_data } = first
  return encodeEvent(validatorsCreated, {
    id: `account.validators-created:${chain}:${account}:${first.pubkey}`,
    key: ACCOUNTS_KEY,
    time,
    data: {
      chain,
      account,
      requestId,
      pubkeys: validators.map(({ pubkey }) => pubkey),
      withdrawalCredentials: credentialsOf(withdrawal_address),
      depositFrom: deposit_from_address.toLowerCase(),
      feeRecipient: fee_recipient_address.toLowerCase(),
      amountGwei: String(deposit_data.amount),
      depositDataRoots: validators.map((validator) => validator.deposit_data.deposit_data_root),
      ...(createdAtSlot === undefined ? {} : { createdAtSlot }),
    },
  })
}
