import type { IncomingHttpHeaders } from 'node:http'
import { CALLS_MAX } from './calls.ts'

/** What a node is asked for. */
export interface Expected {
  /** Answers to calls of JSON-RPC; otherwise any bytes, as its native interface has them. */
  readonly isJson: boolean
  /** Whether a body has to come: calls without an id are not answered. */
  readonly isOwed: boolean
}

/** Of a native interface. */
export const NATIVE: Expected = { isJson: false, isOwed: false }

/**
 * `answer`: the client's, whatever its status;
 * `refused`: about us (our key, our bill, our rate): no client sees it;
 * `partly`: some answers of a batch are `refused`, and others are not;
 * `unwell`: a native interface that cannot answer now: another node may, and otherwise these are the node's words;
 * `none`: a page of something in between, or nothing.
 */
export type Verdict = 'answer' | 'refused' | 'partly' | 'unwell' | 'none'

/** Of a server that is there and cannot answer, or of one in between that does not reach it. 500 is what native interfaces say of some questions. */
const UNWELL: ReadonlySet<number> = new Set([502, 503, 504])
/** Statuses of HTTP that providers put into an error of JSON-RPC, with a 200 about it. */
const ABOUT_US: ReadonlySet<unknown> = new Set([401, 402, 403, 429])
const FAILED_MIN = 400
/** A longer answer is not one such error, and is not looked through. */
const ERROR_BYTES_MAX = 4 * 1024
/** Likewise one to a batch, of which each call may have its own. */
const ERRORS_BYTES_MAX = CALLS_MAX * ERROR_BYTES_MAX
const [OPEN_OBJECT, OPEN_ARRAY, SPACE] = [0x7b, 0x5b, 0x20]

/** Of a body that is whole. */
export function verdictOf(
  body: Buffer,
  { status, headers }: { readonly status: number; readonly headers: IncomingHttpHeaders },
  { isJson, isOwed }: Expected,
): Verdict {
  if (!isJson) return UNWELL.has(status) ? 'unwell' : 'answer'
  if (body.length === 0) return isOwed || status >= 300 ? 'none' : 'answer'
  if (isPacked(headers)) return status >= FAILED_MIN || body.length <= ERROR_BYTES_MAX ? 'none' : 'answer'
  const first = firstOf(body)
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return 'none'
  const bytesMax = first === OPEN_ARRAY ? ERRORS_BYTES_MAX : ERROR_BYTES_MAX
  const mayBeError = body.length <= bytesMax && body.includes('"error"')
  if (status < FAILED_MIN && !mayBeError) return 'answer'
  const answers = answersIn(body)
  // A proxy's own words are JSON, too.
  if (status >= FAILED_MIN && !answers.some(isOfRpc)) return 'none'
  const refused = answers.filter(isAboutUs).length
  if (refused === 0) return 'answer'
  return refused === answers.length ? 'refused' : 'partly'
}

/** Whether what begins so, and is longer than is waited for, may be an answer: of the rest nobody looks at more. */
export function mayBegin(
  begun: Buffer,
  { status, headers }: { readonly status: number; readonly headers: IncomingHttpHeaders },
  { isJson }: Expected,
): boolean {
  if (!isJson) return true
  if (isPacked(headers)) return status < FAILED_MIN
  const first = firstOf(begun)
  return first === OPEN_OBJECT || first === OPEN_ARRAY
}

/** Undefined: there are blanks alone. */
function firstOf(body: Buffer): number | undefined {
  let at = 0
  while (at < body.length && (body[at] as number) <= SPACE) at++
  return body[at]
}

/** Nobody asks for it, and nobody unpacks it here: of what is short, or says that it failed, it is not known whether it is a node's answer. */
function isPacked({ 'content-encoding': coding }: IncomingHttpHeaders): boolean {
  return coding !== undefined && String(coding).toLowerCase() !== 'identity'
}

/** One, or those of a batch; none where it is no JSON. */
function answersIn(body: Buffer): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(body.toString())
    return Array.isArray(parsed) ? parsed : [parsed]
  } catch {
    return []
  }
}

/** Whether something that was parsed answers a call, be it with an error. */
export function isOfRpc(answer: unknown): answer is { readonly result?: unknown; readonly error?: unknown } {
  if (typeof answer !== 'object' || answer === null) return false
  return 'result' in answer || ('error' in answer && typeof answer.error === 'object')
}

/** Whether an answer to a call says that our key, our bill or our rate is at fault, as providers wrap it. */
export function isAboutUs(answer: unknown): boolean {
  if (!isOfRpc(answer) || typeof answer.error !== 'object' || answer.error === null) return false
  return 'code' in answer.error && ABOUT_US.has(answer.error.code)
}
