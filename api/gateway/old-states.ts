import type { UpstreamGroup } from '../../infra/ports/upstreams.ts'
import type { Protocol, Route } from '../../schemas/protocols/protocol.ts'
import type { Call } from './calls.ts'
import { rulesOf } from './method-rules.ts'

// Which calls need a state that only archives have. A hash or a tag is of a block that is not known to be old.

/** Of JSON-RPC and of the Beacon API. */
const FIRST_BLOCKS: ReadonlySet<string> = new Set(['earliest', 'genesis'])
const NUMBER = /^(0x[0-9a-f]{1,13}|\d{1,15})$/i
/** Members that name a block, where it is named by an object. */
const MEMBERS = ['blockNumber', 'fromBlock'] as const

export interface AskedCalls {
  /** The body that the calls lie in. */
  readonly body: Buffer
  readonly calls: readonly Call[]
}

/** Whether any of the calls needs the state of an old block. Only to be asked where archives are told from others. */
export function needOldState(
  protocol: Protocol,
  group: Pick<UpstreamGroup, 'head'>,
  { body, calls }: AskedCalls,
): boolean {
  if (protocol.statesKept === undefined) return false
  const { blockAt } = rulesOf(protocol)
  const oldest = (group.head ?? 0) - protocol.statesKept
  return calls.some(({ method, params }) => {
    const at = blockAt.get(method)
    if (at === undefined || params === undefined) return false
    const given: unknown = JSON.parse(body.toString('utf8', params.from, params.to))
    return Array.isArray(given) && isOld(given[at], oldest)
  })
}

/** As `needOldState`, of a native request whose path has the route's form. */
export function needsOldState(
  protocol: Protocol,
  group: Pick<UpstreamGroup, 'head'>,
  { route, path }: { readonly route: Route; readonly path: string },
): boolean {
  if (protocol.statesKept === undefined || route.blockAt === undefined) return false
  return isOld(path.split('/')[route.blockAt], (group.head ?? 0) - protocol.statesKept)
}

function isOld(block: unknown, oldest: number): boolean {
  if (typeof block === 'object' && block !== null)
    return MEMBERS.some((name) => isOld((block as { readonly [member in typeof name]?: unknown })[name], oldest))
  if (typeof block !== 'string') return false
  return FIRST_BLOCKS.has(block) || (NUMBER.test(block) && Number(block) < oldest)
}
