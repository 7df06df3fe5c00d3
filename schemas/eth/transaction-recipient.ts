import { bytesOf, type Hex, hexOf } from './hex.ts'
import { decodeRlp, type RlpItem } from './rlp.ts'

/** Place of the recipient among the fields of a transaction, by its type (EIP-2718; EIP-2930, 1559, 4844 and 7702). */
const RECIPIENT_AT: Readonly<Record<number, number>> = { 0: 3, 1: 4, 2: 5, 3: 5, 4: 5 }
/** First bytes of what is no typed transaction: an RLP list. */
const LIST_FROM = 0xc0
const ADDRESS_BYTES = 20
/** Nothing is captured: what is, is remembered of each byte, and of a few million there is no room for that. */
const HEX_BYTES = /^0x(?:[0-9a-f]{2})+$/i

/**
 * Whom a signed transaction, as hex of its bytes, is sent to; lower-case hex. Undefined where it creates a contract, is of a type that is
 * not known, or is none: the rest of it is not looked at, and a node refuses what is wrong there.
 */
export function transactionRecipient(raw: string): Hex | undefined {
  if (!HEX_BYTES.test(raw)) return undefined
  const bytes = bytesOf(raw)
  const first = bytes[0] ?? 0
  const [type, body] = first >= LIST_FROM ? [0, bytes] : [first, bytes.subarray(1)]
  const at = RECIPIENT_AT[type]
  const item = decodeRlp(body)
  if (at === undefined || item === undefined || !isList(item)) return undefined
  // Beside the blobs of type 3 the transaction is a list within the list.
  const [inner] = item
  const fields = inner !== undefined && isList(inner) ? inner : item
  const recipient = fields[at]
  return recipient === undefined || isList(recipient) || recipient.length !== ADDRESS_BYTES
    ? undefined
    : hexOf(recipient)
}

function isList(item: RlpItem): item is readonly RlpItem[] {
  return Array.isArray(item)
}
