import type { PublicAccess } from '../../schemas/protocols/public-methods.ts'
import type { AllowedUse } from '../http/allowed-use.ts'
import { type Call, type Calls, type Item, MEMBERS_MAX } from './calls.ts'
import { nameNode, readFilterCall } from './filters.ts'
import { foldedKey, isArrayAt, isObjectAt, itemsOf, membersOf } from './json-text.ts'
import type { MethodRules } from './method-rules.ts'
import { foreignContract } from './named-contract.ts'
import type { OwnAnswer } from './own-among.ts'
import { type Refusal, rpcRefusal, type Told, tellRefusal } from './refusals.ts'

/** Calls as they go to a node, and what is answered here. */
export interface PreparedCalls {
  /** Undefined: nothing is left to send. */
  readonly body: Buffer | undefined
  /** Answers of ours, to those that are not sent. */
  readonly answers: readonly OwnAnswer[]
  /** HTTP's statuses of these, by what they answer. */
  readonly own: ReadonlyMap<Item, number>
  /** HTTP's, where nothing else is answered: that of a batch is 200, unless something in it may not be called. */
  readonly status: 200 | 403
  /** The node that has their filters: no other one can answer. */
  readonly node: string | undefined
  /** Whether one of what is sent has an id, and so an answer. */
  readonly isOwed: boolean
  /** They make filters: the next ones are best made at the same node. */
  readonly isSticky: boolean
  readonly editAnswer: ((answer: Buffer, node: string) => Buffer) | undefined
}

export interface Preparing {
  readonly rules: MethodRules
  readonly publicAccess: PublicAccess | undefined
  /** Of the key. */
  readonly allowed: AllowedUse
  /** Has to be sent alone, and why; undefined: it may stand in a batch. */
  readonly aloneWhy?: (method: string) => string | undefined
  /** Whether there is a node of that id; where nobody knows, there may be. */
  readonly hasNode: (id: string) => boolean
}

/** What an unknown filter is answered with by nodes, too; one whose node is gone is unknown to all others. */
const NO_FILTER = { status: 200, code: -32000, message: 'filter not found' }

/**
 * Leaves out what is no call or may not be called, and finds the node of filters: that of the first one in a batch, at which filters of another node are
 * not found.
 */
export function prepareCalls(body: Buffer, read: Calls, preparing: Preparing): PreparedCalls {
  const { rules, hasNode } = preparing
  const { calls, items } = read
  if (items === calls && calls.every((call) => isPlain(body, call, preparing, read.isBatch)))
    return asTheyCame(body, calls)
  const answers: OwnAnswer[] = []
  const own = new Map<Item, number>()
  const sent: Buffer[] = []
  /** How many answers a node owes. */
  let before = 0
  const answer = (item: Item, told: Pick<Told, 'status' | 'code' | 'message' | 'data'>): void => {
    answers.push({ text: rpcRefusal(told, item.id), before })
    own.set(item, told.status)
  }
  const made: string[] = []
  let node: string | undefined
  let [isChanged, isRefused] = [false, false]
  for (const call of items) {
    const { method } = call
    if (method === undefined) {
      answer(call, tellRefusal({ kind: 'unreadable', fault: 'request', why: call.why }))
      continue
    }
    const refusal = refusalOfCall(body, call, preparing)
    if (refusal !== undefined) {
      answer(call, tellRefusal(refusal))
      isRefused = true
      continue
    }
    const why = read.isBatch ? preparing.aloneWhy?.(method) : undefined
    if (why !== undefined) {
      answer(call, tellRefusal({ kind: 'unreadable', fault: 'request', why }))
      continue
    }
    const filter = rules.takesFilter(method) ? readFilterCall(body, call) : undefined
    if (rules.takesFilter(method)) {
      node ??= filter?.node
      if (filter === undefined || filter.node !== node || !hasNode(node)) {
        answer(call, NO_FILTER)
        continue
      }
      isChanged = true
    }
    if (rules.makesFilter(method)) made.push(call.id ?? 'null')
    sent.push(filter?.bytes ?? bytesOf(body, call))
    // What has no id is not answered.
    if (call.id !== undefined) before++
  }
  isChanged ||= answers.length > 0
  return {
    body: sent.length === 0 ? undefined : isChanged ? join(sent, read.isBatch) : body,
    answers,
    own,
    status: isRefused ? 403 : 200,
    node,
    isOwed: before > 0,
    isSticky: made.length > 0,
    editAnswer: made.length === 0 ? undefined : (answer, by) => nameNode(answer, by, read.isBatch ? made : undefined),
  }
}

/** What a body is answered with where what was to be sent of it is refused: what was refused before stays so. */
export function refusalBody(
  { items, isBatch }: Calls,
  told: Told,
  { own, answers }: Pick<PreparedCalls, 'own' | 'answers'> = NOTHING_OWN,
): string {
  let next = 0
  const texts = items.map((item) => (own.has(item) ? (answers[next++] as OwnAnswer).text : rpcRefusal(told, item.id)))
  return isBatch ? `[${texts.join(',')}]` : (texts[0] as string)
}

const NO_ANSWERS: readonly OwnAnswer[] = []
const NO_STATUSES: ReadonlyMap<Item, number> = new Map()
const NOTHING_OWN = { own: NO_STATUSES, answers: NO_ANSWERS }

/** What most calls are. */
function asTheyCame(body: Buffer, calls: readonly Call[]): PreparedCalls {
  const [answers, own] = [NO_ANSWERS, NO_STATUSES]
  const isOwed = calls.some(({ id }) => id !== undefined)
  return { body, answers, own, status: 200, node: undefined, isOwed, isSticky: false, editAnswer: undefined }
}

function isPlain(body: Buffer, call: Call, preparing: Preparing, isOfBatch: boolean): boolean {
  const { takesFilter, makesFilter } = preparing.rules
  if (takesFilter(call.method) || makesFilter(call.method)) return false
  if (isOfBatch && preparing.aloneWhy?.(call.method) !== undefined) return false
  return refusalOfCall(body, call, preparing) === undefined
}

/** Why the call is nobody's, not public, or not the key's; undefined where it may be sent. */
export function refusalOfCall(
  body: Buffer,
  call: Call,
  { rules, publicAccess, allowed: { isMethod, contracts } }: Preparing,
): Refusal | undefined {
  const { method } = call
  const isOpen = !rules.isRefused(method) && publicAccess?.methods.has(method) !== false
  if (!isOpen || isMethod?.(method) === false) return { kind: 'method', method }
  const refusedWith = rules.refusedWith(method)
  if (refusedWith !== undefined && hasMember(body, call, refusedWith))
    return { kind: 'method', method: `${method} with any of ${refusedWith.join(', ')}` }
  const place = contracts === undefined ? undefined : rules.contractPlaceOf(method)
  if (contracts === undefined || place === undefined) return undefined
  const named = foreignContract(body, call, { place, contracts })
  return named === undefined ? undefined : { kind: 'not-allowed', of: { what: 'contract', named } }
}

/** Of the call, or of its first parameter; names are read whatever their letters' case is, as some nodes do. */
function hasMember(body: Buffer, { from, params }: Call, names: readonly string[]): boolean {
  const first = params !== undefined && isArrayAt(body, params.from) ? itemsOf(body, params.from)[0] : params?.from
  const objects = [from, ...(first !== undefined && isObjectAt(body, first) ? [first] : [])]
  return objects.some((at) => {
    const members = membersOf(body, at, MEMBERS_MAX + 1)
    // What is not looked through may have one.
    return members.length > MEMBERS_MAX || members.some((member) => names.includes(foldedKey(body, member) ?? ''))
  })
}

const bytesOf = (body: Buffer, { from, to }: Call): Buffer => body.subarray(from, to)

function join(calls: readonly Buffer[], isBatch: boolean): Buffer {
  if (!isBatch) return calls[0] as Buffer
  const pieces = calls.flatMap((call, i) => (i === 0 ? [call] : [COMMA, call]))
  return Buffer.concat([OPEN, ...pieces, CLOSE])
}

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')
