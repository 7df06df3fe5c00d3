import { idOfAnswer, meantBy } from './call-ids.ts'
import type { Call } from './calls.ts'
import { endOfValue, isArrayAt, isStringAt, itemsOf, membersOf, skipBlanks } from './json-text.ts'

// A filter lives in the node that has made it. The id that a client gets has that node's at its end, and goes back without it.

/** Hex digits of a node's id (`Upstream.id`). */
const NODE_DIGITS = 8
const FILTER_ID = new RegExp(`^"0x[0-9a-fA-F]{${NODE_DIGITS + 1},}"$`)
const NODE_FILTER_ID = /^"0x[0-9a-fA-F]+"$/

/** The node that has the filter of a call, and the call's bytes as that node takes them; undefined: no id of ours is there. */
export function readFilterCall(
  body: Buffer,
  call: Call,
): { readonly node: string; readonly bytes: Buffer } | undefined {
  if (call.params === undefined || !isArrayAt(body, call.params.from)) return undefined
  const from = skipBlanks(body, call.params.from + 1)
  if (!isStringAt(body, from)) return undefined
  const to = endOfValue(body, from)
  const id = body.toString('latin1', from, to)
  if (!FILTER_ID.test(id)) return undefined
  const end = to - 1 - NODE_DIGITS
  const bytes = Buffer.concat([body.subarray(call.from, end), body.subarray(to - 1, call.to)])
  return { node: body.toString('latin1', end, to - 1).toLowerCase(), bytes }
}

/**
 * The answer with the node's id in the ids of the filters that it has made. `calls` are the ids of the calls of a batch that asked for them, as
 * clients have written them; undefined: one call alone was asked, so that the answer is its.
 */
export function nameNode(answer: Buffer, node: string, calls: readonly string[] | undefined): Buffer {
  try {
    JSON.parse(answer.toString())
  } catch {
    // What is no JSON has no filter in it.
    return answer
  }
  const start = skipBlanks(answer, 0)
  const objects = isArrayAt(answer, start) ? itemsOf(answer, start) : [start]
  const ids = calls === undefined ? undefined : new Set(calls.map(meantBy))
  const pieces: Buffer[] = []
  let copied = 0
  for (const object of objects) {
    const end = endOfFilterId(answer, object, ids)
    if (end === undefined) continue
    pieces.push(answer.subarray(copied, end), Buffer.from(node))
    copied = end
  }
  return Buffer.concat([...pieces, answer.subarray(copied)])
}

/** Where the last digit of a filter's id ends, in one answer. `ids`: of these calls, as `meantBy` has them; undefined: of any. */
function endOfFilterId(answer: Buffer, object: number, ids: ReadonlySet<string> | undefined): number | undefined {
  const result = membersOf(answer, object).find(
    ({ keyFrom, keyTo }) => answer.toString('latin1', keyFrom, keyTo) === '"result"',
  )
  if (result === undefined) return undefined
  if (ids !== undefined && !ids.has(idOfAnswer(answer, object) ?? '')) return undefined
  return NODE_FILTER_ID.test(answer.toString('latin1', result.from, result.to)) ? result.to - 1 : undefined
}
