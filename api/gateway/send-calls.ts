import { Broadcast } from './broadcast.ts'
import type { Call } from './calls.ts'
import { Exchange, type ExchangeOptions } from './exchange.ts'
import type { MethodRules } from './method-rules.ts'
import { readId, type SentTransaction, sentTransactionOf } from './sent-transaction.ts'
import type { AskedRead, SharedReads } from './shared-reads.ts'

/** The transactions in a body that can be looked for: of a batch those that a node's answer can be told by their ids. */
export function sentIn(
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
  return calls.filter((one) => one.id !== undefined && readId(one.id) === readId(id)).length === 1
}

/** Whether it goes to all nodes: a signed transaction that stands alone. */
export function isBroadcast({ read: { isBatch, calls } }: Pick<AskedRead, 'read'>, rules: MethodRules): boolean {
  const [first] = calls
  return !isBatch && first !== undefined && rules.isBroadcast(first.method)
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
