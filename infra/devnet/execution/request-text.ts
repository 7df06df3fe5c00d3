import { INVALID_REQUEST, PARSE_ERROR, RpcFault } from './rpc-fault.ts'

/** Of a request or batch, over HTTP and WebSocket alike. */
export const REQUEST_BYTES_MAX = 4 * 1024 * 1024
const BATCH_MAX = 1_000

/** JSON text of the answer to a request. */
export type AnswerOne = (request: unknown) => Promise<string>

/**
 * JSON text of the answer to a request or batch, whatever the text is. An id comes back as JavaScript reads it: a number above 2^53 is
 * rounded.
 */
export async function answerText(text: string, answerOne: AnswerOne): Promise<string> {
  try {
    const parsed = parseJson(text)
    if (!Array.isArray(parsed)) return await answerOne(parsed)
    if (parsed.length === 0 || parsed.length > BATCH_MAX) {
      throw new RpcFault(INVALID_REQUEST, `a batch has 1 to ${BATCH_MAX} requests`)
    }
    return `[${(await Promise.all(parsed.map(answerOne))).join(',')}]`
  } catch (error) {
    if (error instanceof RpcFault) return errorText(null, error)
    throw error
  }
}

export function errorText(
  id: unknown,
  error: { readonly code: number; readonly message: string; readonly data?: unknown },
): string {
  const { code, message, data } = error
  return JSON.stringify({ jsonrpc: '2.0', id, error: data === undefined ? { code, message } : { code, message, data } })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new RpcFault(PARSE_ERROR, 'parse error')
  }
}
