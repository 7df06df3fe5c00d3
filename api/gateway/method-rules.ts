import { methodMatcher } from '../../schemas/protocols/method-patterns.ts'
import type { ContractMethods, FinalResult, KeptReads, Methods, Protocol } from '../../schemas/protocols/protocol.ts'
import { PROTOCOLS } from '../../schemas/protocols/protocols.ts'

type Matcher = (name: string) => boolean
/** `closed`: nobody here knows. */
export type ContractPlace = Exclude<keyof ContractMethods, 'none'> | 'closed'

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
  /** `Methods.refusedWith`. */
  readonly refusedWith: (name: string) => readonly string[] | undefined
  readonly makesFilter: Matcher
  readonly takesFilter: Matcher
  /** When its answer may be kept: always, or by what its result says; undefined: never. */
  readonly keptAs: (name: string) => 'always' | FinalResult | undefined
  /** Where a call of the method names a contract; undefined: it names none. */
  readonly contractPlaceOf: (name: string) => ContractPlace | undefined
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
      isRefused: refusedMethods(methods),
      refusedWith: (name: string) => methods.refusedWith?.[name],
      makesFilter: methodMatcher(methods.makesFilter),
      takesFilter: methodMatcher(methods.takesFilter),
      keptAs: keptReads(methods.kept),
      contractPlaceOf: contractPlaces(methods.contracts),
    }
    return [[protocol, rules] as const]
  }),
)

function keptReads(kept: KeptReads | undefined): MethodRules['keptAs'] {
  const names = new Map<string, 'always' | FinalResult>(Object.entries(kept?.ofFinal ?? {}))
  for (const name of kept?.always ?? []) names.set(name, 'always')
  return (name) => names.get(name)
}

function contractPlaces(methods: ContractMethods | undefined): MethodRules['contractPlaceOf'] {
  if (methods === undefined) return () => undefined
  const { none, ...named } = methods
  const namesNone = methodMatcher(none)
  const places = Object.entries(named).map(([place, names]) => [place as ContractPlace, methodMatcher(names)] as const)
  return (name) => (namesNone(name) ? undefined : (places.find(([, isOne]) => isOne(name))?.[0] ?? 'closed'))
}

function refusedMethods({ refused, closed = [], others, ...known }: Methods): Matcher {
  const isRefused = methodMatcher(refused)
  const isClosed = others === undefined ? methodMatcher(closed) : () => true
  const isKnown = methodMatcher([
    ...[...(others ?? []), ...known.reads, ...known.broadcasts, ...known.makesFilter, ...known.takesFilter],
    ...Object.entries(known.subscribes).flat(),
  ])
  return (name) => isRefused(name) || (isClosed(name) && !isKnown(name))
}

/** Of a protocol that has JSON-RPC. */
export function rulesOf(protocol: Protocol): MethodRules {
  const rules = RULES.get(protocol)
  if (rules === undefined) throw new Error(`${protocol.name} has no JSON-RPC`)
  return rules
}
