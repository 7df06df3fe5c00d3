import { methodMatcher } from '../../schemas/protocols/method-patterns.ts'
import type { Protocol } from '../../schemas/protocols/protocol.ts'
import { PROTOCOLS } from '../../schemas/protocols/protocols.ts'

type Matcher = (name: string) => boolean

/** What of a protocol's methods is asked at every call. */
export interface MethodRules {
  /** Changes nothing: may be under way at two nodes. */
  readonly isRead: Matcher
  /** Which parameter names the block whose state it needs. */
  readonly blockAt: ReadonlyMap<string, number>
  /** May be sent again, to another node too. */
  readonly isRepeatable: Matcher
  /** Goes to all nodes. */
  readonly isBroadcast: Matcher
  /** `Methods.findsBroadcast`. */
  readonly findsBroadcast: string | undefined
  readonly isRefused: Matcher
  readonly makesFilter: Matcher
  readonly takesFilter: Matcher
}

const RULES: ReadonlyMap<Protocol, MethodRules> = new Map(
  PROTOCOLS.flatMap((protocol) => {
    const { methods } = protocol
    if (methods === undefined) return []
    const rules = {
      isRead: methodMatcher(methods.reads),
      blockAt: new Map(Object.entries(methods.blockAt ?? {})),
      isRepeatable: methodMatcher([...methods.reads, ...methods.broadcasts]),
      isBroadcast: methodMatcher(methods.broadcasts),
      findsBroadcast: methods.findsBroadcast,
      isRefused: methodMatcher(methods.refused),
      makesFilter: methodMatcher(methods.makesFilter),
      takesFilter: methodMatcher(methods.takesFilter),
    }
    return [[protocol, rules] as const]
  }),
)

/** Of a protocol that has JSON-RPC. */
export function rulesOf(protocol: Protocol): MethodRules {
  const rules = RULES.get(protocol)
  if (rules === undefined) throw new Error(`${protocol.name} has no JSON-RPC`)
  return rules
}
