import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { keccak256 } from '../../schemas/eth/keccak.ts'
import type { Call } from './calls.ts'

const HEX_BYTES = /^0x([0-9a-f]{2})+$/i

/** A transaction that was broadcast, as a node is asked for it by its hash. */
export interface SentTransaction {
  readonly question: Buffer
  /** The answer of a node that has taken it. */
  readonly taken: Buffer
  /** Whether a node's answer says that it has it. */
  isIn(answer: Buffer): boolean
}

/** Undefined where the call has no bytes of a transaction, or none finds them; `method` is the one that does (`Methods.findsBroadcast`). */
export function sentTransactionOf(
  body: Buffer,
  { id = 'null', params }: Call,
  method: string | undefined,
): SentTransaction | undefined {
  if (params === undefined || method === undefined) return undefined
  const parsed: unknown = JSON.parse(body.toString('utf8', params.from, params.to))
  const raw: unknown = Array.isArray(parsed) ? parsed[0] : undefined
  if (typeof raw !== 'string' || !HEX_BYTES.test(raw)) return undefined
  const hash = hexOf(keccak256(bytesOf(raw)))
  return {
    question: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [hash] })),
    taken: Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":"${hash}"}`),
    isIn(answer) {
      try {
        const found = JSON.parse(answer.toString()) as { readonly result?: { readonly hash?: unknown } | null } | null
        return found?.result?.hash === hash
      } catch {
        // What is no JSON is no answer of a node.
        return false
      }
    },
  }
}
