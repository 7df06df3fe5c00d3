import { AppError } from '../../schemas/errors.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/** A node's answer as JSON; `what` names it in the AppError `node_malformed` for one that is cut off or no JSON. */
export function parseJson(what: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes))
  } catch {
    throw malformed(`${what} is not whole JSON (${bytes.length} bytes)`)
  }
}

/** An answer that is not of the documented shape: worth another try, then another node. */
export function malformed(what: string): AppError {
  return new AppError('node_malformed', what, { retryable: true })
}
