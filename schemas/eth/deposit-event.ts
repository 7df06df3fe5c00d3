import { DEPOSIT_EVENT_TOPIC } from './kept-logs.ts'

/** What the deposit contract says of one deposit (EIP-6110). */
export interface DepositEvent {
  /** 48 bytes. */
  readonly pubkey: Uint8Array
  /** 32 bytes. */
  readonly withdrawalCredentials: Uint8Array
  readonly amountGwei: bigint
  /** 96 bytes. */
  readonly signature: Uint8Array
  /** Of the contract's deposits, counted from 0. */
  readonly index: bigint
}

/** The five `bytes` of `DepositEvent(pubkey, withdrawal_credentials, amount, signature, index)` by their lengths. */
const FIELD_BYTES = [48, 32, 8, 96, 8] as const
const WORD_BYTES = 32
const TOPIC = Buffer.from(DEPOSIT_EVENT_TOPIC.slice(2), 'hex')

/** Where each field's length stands and its bytes begin, in the one encoding that the contract has (EIP-6110). */
const FIELDS = fieldPlaces()
/** Length of the whole data. */
export const DEPOSIT_EVENT_BYTES = 576

function fieldPlaces(): readonly { readonly offset: number; readonly bytes: number }[] {
  let offset = FIELD_BYTES.length * WORD_BYTES
  return FIELD_BYTES.map((bytes) => {
    const place = { offset, bytes }
    offset += WORD_BYTES + paddedLength(bytes)
    return place
  })
}

function paddedLength(bytes: number): number {
  return Math.ceil(bytes / WORD_BYTES) * WORD_BYTES
}

/**
 * A deposit, from a log's topics (32 bytes each, joined) and data; undefined for any other log, and for one that says the same in another
 * encoding than the contract's: offsets, lengths and padding are looked at. Whether the log is of a chain's deposit contract is for the
 * caller to see: anybody can emit such a log.
 */
export function decodeDepositEvent(topics: Uint8Array, data: Uint8Array): DepositEvent | undefined {
  if (data.length !== DEPOSIT_EVENT_BYTES || !TOPIC.equals(topics)) return undefined
  const fields: Uint8Array[] = []
  for (const [i, { offset, bytes }] of FIELDS.entries()) {
    const end = offset + WORD_BYTES + bytes
    const padding = data.subarray(end, offset + WORD_BYTES + paddedLength(bytes))
    if (!isWord(data, i * WORD_BYTES, offset) || !isWord(data, offset, bytes) || padding.some((byte) => byte !== 0))
      return undefined
    fields.push(data.subarray(offset + WORD_BYTES, end))
  }
  const [pubkey, withdrawalCredentials, amount, signature, index] = fields as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ]
  return { pubkey, withdrawalCredentials, amountGwei: littleEndian(amount), signature, index: littleEndian(index) }
}

/** Whether the word at an offset is the number, which is below 2^32. */
function isWord(data: Uint8Array, offset: number, value: number): boolean {
  const low = offset + WORD_BYTES - 4
  return data.subarray(offset, low).every((byte) => byte === 0) && viewOf(data).getUint32(low) === value
}

function littleEndian(bytes: Uint8Array): bigint {
  return viewOf(bytes).getBigUint64(0, true)
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}
