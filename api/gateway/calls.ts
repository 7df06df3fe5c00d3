import { isUtf8 } from 'node:buffer'
import { endOfObject, foldedKey, isDeeper, isKey, itemsOf, membersOf, skipBlanks } from './json-text.ts'

/** One JSON-RPC request as it stands in a body. */
export interface Call {
  readonly method: string
  /** As the client has written it, for answers that are ours; undefined where there is none. */
  readonly id: string | undefined
  /** Where its parameters lie; undefined where it has none. */
  readonly params: { readonly from: number; readonly to: number } | undefined
  /** Its bytes. */
  readonly from: number
  readonly to: number
}

/** What stands in a batch and is no call: it is answered, and never sent. */
export interface NoCall {
  readonly method?: undefined
  /** As the client has written it, where it is one that JSON-RPC knows. */
  readonly id: string | undefined
  readonly why: string
}

export type Item = Call | NoCall

export interface Calls {
  readonly status: 'read'
  readonly isBatch: boolean
  readonly calls: readonly Call[]
  /** What is to be answered, in its order: the calls themselves, where there is nothing else. */
  readonly items: readonly Item[]
}

export interface Unreadable {
  readonly status: 'unreadable'
  /** `parse`: no JSON; `request`: none that is a call; `large`: too many. */
  readonly fault: 'parse' | 'request' | 'large'
  readonly why: string
  readonly id?: string | undefined
}

/** Of one batch. */
export const CALLS_MAX = 100
export const METHOD_CHARACTERS_MAX = 128
/**
 * Of one call, and of an object of its parameters that is looked into. JSON-RPC has four; XRP's calls over WebSocket have their parameters beside them, a dozen for `account_tx`. A body of nothing
 * but members has a million, and to look at each would hold up all other calls for a second.
 */
export const MEMBERS_MAX = 64
/**
 * Of lists and objects that lie in one another. Nodes stop there, too (serde_json, at the same), and to parse the millions of them that a body
 * has room for would hold up all other calls for seconds.
 */
export const LEVELS_MAX = 128
/** Visible ASCII, or none: some nodes read a name up to its first NUL. */
const METHOD = /^[!-~]*$/

/** The member that names the method: XRP's over WebSocket is `command`. */
export type MethodKey = 'method' | 'command'

/** Nodes read these members of a call; some of them whatever their letters' case is, and some the first of two, some the last. */
const MEMBERS = ['method', 'params', 'id', 'jsonrpc', 'command'] as const
const MEMBER_BYTES = MEMBERS.map((name) => Buffer.from(name))
const ID_AT = MEMBERS.indexOf('id')
const PARAMS_AT = MEMBERS.indexOf('params')

/**
 * The calls in a body. Bytes that a node may read in another way than they are read here are refused: a member that is there twice, in
 * other letters or with escapes, a method that is not of visible ASCII, and what is no UTF-8.
 */
export function readCalls(body: Buffer, methodKey: MethodKey = 'method'): Calls | Unreadable {
  // Shorter ones have no room for so many.
  if (body.length > 2 * LEVELS_MAX && isDeeper(body, 0, LEVELS_MAX))
    return { status: 'unreadable', fault: 'request', why: `the body has more than ${LEVELS_MAX} levels` }
  const text = isUtf8(body) ? body.toString() : undefined
  let parsed: unknown
  try {
    parsed = text === undefined ? undefined : JSON.parse(text)
  } catch {
    // What a syntax error says of the text is nothing that the client does not know.
  }
  if (typeof parsed !== 'object' || parsed === null) {
    const why = parsed === undefined ? 'the body is not JSON' : 'the body is neither a call nor a batch of calls'
    return { status: 'unreadable', fault: parsed === undefined ? 'parse' : 'request', why }
  }
  const start = skipBlanks(body, 0)
  return Array.isArray(parsed)
    ? readBatch(body, parsed, { start, methodKey })
    : readSingle(body, parsed, { start, methodKey })
}

interface Reading {
  /** Where the object or the array begins. */
  readonly start: number
  readonly methodKey: MethodKey
}

function readSingle(body: Buffer, parsed: object, reading: Reading): Calls | Unreadable {
  const call = readCall(body, parsed, reading)
  if ('status' in call) return call
  const calls = [call]
  return { status: 'read', isBatch: false, calls, items: calls }
}

function readBatch(body: Buffer, parsed: readonly unknown[], { start, methodKey }: Reading): Calls | Unreadable {
  if (parsed.length === 0) return { status: 'unreadable', fault: 'request', why: 'the batch is empty' }
  if (parsed.length > CALLS_MAX) {
    return { status: 'unreadable', fault: 'large', why: `the batch has more than ${CALLS_MAX} calls` }
  }
  const calls: Call[] = []
  /** From the first one on that is no call. */
  let items: Item[] | undefined
  const starts = itemsOf(body, start)
  for (const [i, item] of parsed.entries()) {
    const read = readItem(body, item, { start: starts[i] as number, methodKey })
    if (read.method === undefined) items ??= [...calls]
    else calls.push(read)
    items?.push(read)
  }
  return { status: 'read', isBatch: true, calls, items: items ?? calls }
}

function readItem(body: Buffer, parsed: unknown, reading: Reading): Item {
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return { id: undefined, why: NO_CALL }
  const call = readCall(body, parsed, reading)
  if (!('status' in call)) return call
  const { id, why } = call
  return { id: id !== undefined && ID.test(id) ? id : undefined, why }
}

const NO_CALL = 'the batch has something here that is no call'
/** A text, a number or null, by what it begins with. */
const ID = /^["\d-]|^null$/

/** The call whose object begins at `start`: the text is known to be JSON, `parsed` is what it means. */
function readCall(body: Buffer, parsed: object, { start: from, methodKey }: Reading): Call | Unreadable {
  let id: string | undefined
  let params: Call['params']
  let fault: string | undefined
  /** A bit for each of `MEMBERS`. */
  let seen = 0
  const members = membersOf(body, from, MEMBERS_MAX + 1)
  if (members.length > MEMBERS_MAX) {
    const why = `the call has more than ${MEMBERS_MAX} members`
    return { status: 'unreadable', fault: 'request', why }
  }
  for (const member of members) {
    const { from: valueFrom, to } = member
    const plain = MEMBER_BYTES.findIndex((bytes) => isKey(body, member, bytes))
    const key = plain === -1 ? MEMBERS.indexOf(foldedKey(body, member) as (typeof MEMBERS)[number]) : plain
    if (key === -1) continue
    if (plain === -1 || (seen & (1 << key)) !== 0) fault = `the call has ${MEMBERS[key]} twice, or in other letters`
    seen |= 1 << key
    if (key === ID_AT) id = body.toString('utf8', valueFrom, to)
    if (key === PARAMS_AT) params = { from: valueFrom, to }
  }
  const method = (parsed as { readonly [key in MethodKey]?: unknown })[methodKey]
  // Nodes take either, and the other may name another one.
  const other = methodKey === 'command' ? 'method' : 'command'
  if ((seen & (1 << MEMBERS.indexOf(other))) !== 0) fault = `the call has ${other} beside ${methodKey}`
  if (fault === undefined && typeof method !== 'string') fault = `the call has no ${methodKey}`
  if (fault === undefined && (method as string).length > METHOD_CHARACTERS_MAX) fault = 'no method has so long a name'
  if (fault === undefined && !METHOD.test(method as string)) fault = 'no method has such a name'
  if (fault !== undefined) return { status: 'unreadable', fault: 'request', why: fault, id }
  return { method: method as string, id, params, from, to: endOfObject(body, from, members) }
}
