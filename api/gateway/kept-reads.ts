import type { Protocol } from '../../schemas/protocols/protocol.ts'
import type { Call } from './calls.ts'
import { rulesOf } from './method-rules.ts'

type Json = Readonly<Record<string, unknown>>

const NUMBER = /^0x[0-9a-f]{1,13}$/i

/** A call that was answered, and the body that it lies in. */
export interface AnsweredCall {
  readonly protocol: Protocol
  readonly call: Call
  readonly body: Buffer
}

/**
 * Whether the answer stays true: it is a result, and of a block up to the final one or of none at all. That there is nothing may change; so may what
 * a tag stands for.
 */
export function mayBeKept({ protocol, call, body }: AnsweredCall, answer: unknown, final: number | undefined): boolean {
  const kept = rulesOf(protocol).keptAs(call.method)
  if (kept === undefined || typeof answer !== 'object' || answer === null) return false
  const { result, error } = answer as Json
  if (result === undefined || result === null || (error !== undefined && error !== null)) return false
  if (kept === 'always') return true
  if (final === undefined || typeof result !== 'object') return false
  const { [kept.block]: block, [kept.named]: named } = result as Json
  if (typeof block !== 'string' || !NUMBER.test(block) || Number(block) > final) return false
  return typeof named === 'string' && named.toLowerCase() === firstParameter(body, call)?.toLowerCase()
}

/** Undefined where it is no text. */
function firstParameter(body: Buffer, { params }: Call): string | undefined {
  if (params === undefined) return undefined
  const given: unknown = JSON.parse(body.toString('utf8', params.from, params.to))
  return Array.isArray(given) && typeof given[0] === 'string' ? given[0] : undefined
}
