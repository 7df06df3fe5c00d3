import { randomBytes, randomInt } from 'node:crypto'
import type { Methods } from '../../../schemas/protocols/protocol.ts'
import type { Call } from '../calls.ts'

/** What an EVM node selects logs by. */
export interface LogFilter {
  readonly address?: unknown
  readonly topics?: unknown
}

/** A client's wish to be told of something. */
export interface SubscribeCall {
  readonly method: string
  readonly unsubscribe: string
  /** JSON as the client has written it; undefined: it has none. */
  readonly params: string | undefined
  /** Equal for all that one subscription at a node will do for; undefined: it needs one of its own. */
  readonly key: string | undefined
  /** Whoever comes later is told the last thing that was told. */
  readonly tellsLatest: boolean
  /** What is told twice nowhere and can be looked up: heads of blocks, or logs. Undefined: what is missed is gone. */
  readonly replayed: 'heads' | LogFilter | undefined
}

/** Levels of parameters: filters of logs have four, and what has thousands cannot be written in one way for all. */
export const SUBSCRIBE_DEPTH_MAX = 32

/** Undefined: the call subscribes to nothing. Its parameters are known to have no more levels than there may be. */
export function readSubscribeCall(body: Buffer, { method, params }: Call, methods: Methods): SubscribeCall | undefined {
  if (!Object.hasOwn(methods.subscribes, method)) return undefined
  const text = params === undefined ? undefined : body.toString('utf8', params.from, params.to)
  const replayed = method === EVM_SUBSCRIBE ? replayedOf(text) : undefined
  const isOwn = methods.ownSubscriptions?.includes(method) === true
  const isShared = method === EVM_SUBSCRIBE ? replayed !== undefined || isOfPending(text) : !isOwn
  return {
    method,
    unsubscribe: methods.subscribes[method] as string,
    params: text,
    key: isShared ? `${method} ${canonical(text)}` : undefined,
    tellsLatest: methods.latestFirst?.includes(method) === true,
    replayed,
  }
}

const EVM_SUBSCRIBE = 'eth_subscribe'
/** What the newest heads of an EVM chain are asked for by, whoever asks. */
export const HEADS_CALL: SubscribeCall = {
  method: EVM_SUBSCRIBE,
  unsubscribe: 'eth_unsubscribe',
  params: '["newHeads"]',
  key: `${EVM_SUBSCRIBE} ["newHeads"]`,
  tellsLatest: false,
  replayed: 'heads',
}

function itemsIn(params: string | undefined): readonly unknown[] {
  const parsed: unknown = params === undefined ? [] : JSON.parse(params)
  return Array.isArray(parsed) ? parsed : []
}

function replayedOf(params: string | undefined): SubscribeCall['replayed'] {
  const [kind, filter = null, ...more] = itemsIn(params)
  if (kind === 'newHeads' && filter === null && itemsIn(params).length === 1) return 'heads'
  if (kind !== 'logs' || more.length > 0 || typeof filter !== 'object' || Array.isArray(filter)) return undefined
  const { address, topics } = (filter ?? {}) as LogFilter
  return { ...(address == null ? {} : { address }), ...(topics == null ? {} : { topics }) }
}

const isOfPending = (params: string | undefined): boolean => itemsIn(params)[0] === 'newPendingTransactions'

/** One text for all that mean the same. Numbers that a double does not hold leave the text as it is. */
function canonical(params: string | undefined): string {
  // No list and an empty one ask for the same.
  if (params === undefined || /^\[\s*\]$/.test(params)) return ''
  let isExact = true
  const sorted = JSON.stringify(JSON.parse(params), (_name, value: unknown) => {
    if (typeof value === 'number' && !Number.isSafeInteger(value)) isExact = false
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
  })
  return isExact ? sorted : params
}

/** Below the numbers that a double holds exactly, as clients read them. */
const NUMBER_MAX = 2 ** 48 - 1

/** A new id of the kind that clients of the chain expect, which is the kind of the node's. All are JSON. */
export function newSubscriptionId(ofNode: string): string {
  if (!ofNode.startsWith('"')) return String(randomInt(1, NUMBER_MAX))
  return ofNode.startsWith('"0x')
    ? `"0x${randomBytes(16).toString('hex')}"`
    : `"${randomBytes(12).toString('base64url')}"`
}
