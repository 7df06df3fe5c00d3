import type { ExitCallFault } from '../exit-reasons.ts'
import { type Hex, hexOf } from './hex.ts'
import { ALL_EXITS_REQUESTED_TOPIC, EXITS_REQUESTED_TOPIC } from './kept-logs.ts'
import { REQUESTED_EXITS_MAX } from './withdrawal-request.ts'
import { addressAt, isZero, numberAt, WORD_BYTES } from './words.ts'

/** Which validators a withdrawal address wants to exit: lower-case hex, each once; or why the call asks for nothing. */
export type CalledFor =
  | { readonly kind: 'listed'; readonly pubkeys: readonly string[] }
  | { readonly kind: 'all' }
  | { readonly kind: 'faulty'; readonly fault: Extract<ExitCallFault, 'malformed' | 'too_many_validators'> }

/** What an exit-request contract has logged. */
export interface ExitCall {
  readonly withdrawalAddress: Hex
  readonly calledFor: CalledFor
}

const PUBKEY_BYTES = 48
/** Of the one argument: its offset and its length stand before it. */
const HEAD_BYTES = 2 * WORD_BYTES
const LISTED = Buffer.from(EXITS_REQUESTED_TOPIC.slice(2), 'hex')
const ALL = Buffer.from(ALL_EXITS_REQUESTED_TOPIC.slice(2), 'hex')

/**
 * A call to an exit-request contract, from its log's topics (32 bytes each, joined) and data, of which `dataTotal` bytes were logged;
 * undefined for any other log. Whether the contract is the chain's is for the caller to see: anybody can emit such a log, of any length.
 */
export function decodeExitCall(topics: Uint8Array, data: Uint8Array, dataTotal: number): ExitCall | undefined {
  if (topics.length !== 2 * WORD_BYTES) return undefined
  const event = topics.subarray(0, WORD_BYTES)
  const isAll = ALL.equals(event)
  if (!isAll && !LISTED.equals(event)) return undefined
  const sender = addressAt(topics, WORD_BYTES)
  if (sender === undefined) return undefined
  return {
    withdrawalAddress: hexOf(sender),
    calledFor: isAll ? (dataTotal === 0 ? { kind: 'all' } : MALFORMED) : decodeList(data, dataTotal),
  }
}

const MALFORMED: CalledFor = { kind: 'faulty', fault: 'malformed' }

/** Offset, length and padding are those of the contract, or it is malformed. */
function decodeList(data: Uint8Array, dataTotal: number): CalledFor {
  if (dataTotal > HEAD_BYTES + paddedLength(REQUESTED_EXITS_MAX * PUBKEY_BYTES))
    return { kind: 'faulty', fault: 'too_many_validators' }
  if (data.length !== dataTotal || data.length < HEAD_BYTES) return MALFORMED
  const length = numberAt(data, WORD_BYTES)
  if (numberAt(data, 0) !== WORD_BYTES || length === undefined || length === 0 || length % PUBKEY_BYTES !== 0)
    return MALFORMED
  const end = HEAD_BYTES + length
  if (data.length !== HEAD_BYTES + paddedLength(length) || !isZero(data, end)) return MALFORMED
  const pubkeys = Array.from({ length: length / PUBKEY_BYTES }, (_, i) => {
    const from = HEAD_BYTES + i * PUBKEY_BYTES
    return hexOf(data.subarray(from, from + PUBKEY_BYTES))
  })
  return { kind: 'listed', pubkeys: [...new Set(pubkeys)] }
}

function paddedLength(bytes: number): number {
  return Math.ceil(bytes / WORD_BYTES) * WORD_BYTES
}
