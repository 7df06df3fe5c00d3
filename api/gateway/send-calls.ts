import type { Service } from '../../schemas/protocols/protocol.ts'
import type { Bill } from './bill.ts'
import { Broadcast } from './broadcast.ts'
import { meantBy } from './call-ids.ts'
import type { Call, Calls } from './calls.ts'
import { Exchange, type ExchangeOptions } from './exchange.ts'
import type { Forwarded } from './forwarded.ts'
import { RPC_HEADERS } from './headers.ts'
import type { MethodRules } from './method-rules.ts'
import { headProbeOf } from './newest-block.ts'
import type { PreparedCalls } from './prepare-calls.ts'
import { tellRefusal } from './refusals.ts'
import { type SentTransaction, sentTransactionOf } from './sent-transaction.ts'
import type { AskedRead, SharedReads } from './shared-reads.ts'

interface ReadCalls {
  readonly rules: MethodRules
  readonly service: Service
  /** At the node, with the query. */
  readonly path: string
  readonly read: Calls
  readonly prepared: PreparedCalls
  /** As it came. */
  readonly body: Buffer
}

/** What is sent of calls, and what has to be known of them, whichever way they have come; some of them is left to send. */
export function toForwarded({ rules, service, path, read, prepared, body }: ReadCalls): Forwarded {
  const { answers, node, isSticky, editAnswer } = prepared
  return {
    read,
    prepared,
    body,
    answers,
    node,
    isSticky,
    editAnswer,
    isRepeatable: read.calls.every(({ method }) => rules.isRepeatable(method) || rules.isRefused(method)),
    sent: sentIn({ read, body }, rules),
    expected: { isJson: true, isOwed: prepared.isOwed },
    headProbe: headProbeOf(service, { path, read, body }),
    request: {
      verb: 'POST',
      path,
      headers: RPC_HEADERS,
      body: prepared.body as Buffer,
      isEndless: false,
    },
  }
}

/** The transactions in a body that can be looked for: of a batch those that a node's answer can be told by their ids. */
function sentIn(
  { read: { isBatch, calls }, body }: Pick<AskedRead, 'read' | 'body'>,
  rules: MethodRules,
): readonly SentTransaction[] {
  return calls.flatMap((call) => {
    if (!rules.isBroadcast(call.method) || (isBatch && !isToldById(call, calls))) return []
    return sentTransactionOf(body, call, rules.findsBroadcast) ?? []
  })
}

function isToldById({ id }: Call, calls: readonly Call[]): boolean {
  if (id === undefined) return false
  return calls.filter((one) => one.id !== undefined && meantBy(one.id) === meantBy(id)).length === 1
}

/** Whether it goes to all nodes: a signed transaction that stands alone. */
function isBroadcast({ read: { isBatch, calls } }: Pick<AskedRead, 'read'>, rules: MethodRules): boolean {
  const [first] = calls
  return !isBatch && first !== undefined && rules.isBroadcast(first.method)
}

/** Has nobody pay for calls of a batch that no node has answered (`ExchangeOptions.onUnanswered`). */
export function unansweredIn({ calls }: Calls, bill: Bill | undefined): ExchangeOptions['onUnanswered'] {
  const { status } = tellRefusal({ kind: 'bad-answer' })
  return (ids) =>
    bill?.failedOf(
      calls.filter(({ id }) => id !== undefined && ids.has(meantBy(id))),
      status,
    )
}

/** Sends calls as they are best sent: to all nodes, together with others that ask the same, or to one node after the other. */
export function sendCalls(
  options: ExchangeOptions,
  asked: AskedRead & { readonly rules: MethodRules },
  reads: SharedReads,
): void {
  const all = isBroadcast(asked, asked.rules) ? options.group.all() : []
  if (all.length > 1) new Broadcast(options, all)
  else if (!reads.answer(options, asked)) new Exchange(options)
}
