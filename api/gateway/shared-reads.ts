import { LRUCache } from 'lru-cache'
import type { ReadSharing, UpstreamGroup } from '../../infra/ports/upstreams.ts'
import type { Protocol } from '../../schemas/protocols/protocol.ts'
import type { Call, Calls } from './calls.ts'
import { Exchange, type ExchangeOptions } from './exchange.ts'
import { RPC_HEADERS } from './headers.ts'
import { membersOf } from './json-text.ts'
import { type AnsweredCall, mayBeKept } from './kept-reads.ts'
import { rulesOf } from './method-rules.ts'
import { type SharedAnswer, SharedRead, tellAnswer, type Waiting } from './shared-read.ts'

/** Of an answer that is told to several, or kept: a block with all its transactions has a few hundred kB. */
export const SHARED_BYTES_MAX = 1024 * 1024
/** Of a call that is compared with others. */
const QUESTION_BYTES_MAX = 64 * 1024

/** A call, or several, and the body that they lie in. */
export interface AskedRead {
  readonly protocol: Protocol
  readonly read: Calls
  readonly body: Buffer
}

/** The reads that clients share where that is configured: those in flight, and answers that change no more. */
export class SharedReads {
  /** With a group all that is known of its chain goes. */
  readonly #ofGroups = new WeakMap<UpstreamGroup, GroupReads>()

  /**
   * Has the call answered without a node of its own, or by one that others may join; false: it is to be sent by itself. Whether it is allowed
   * has been looked at, and its unit is taken.
   */
  answer(options: ExchangeOptions, { protocol, read, body }: AskedRead): boolean {
    const { group, key, node } = options
    const { sharing } = group
    // What is to go to one node is not answered by another one's.
    if (sharing === undefined || read.isBatch || key !== undefined || node !== undefined) return false
    const [call] = read.calls as [Call, ...Call[]]
    if (!rulesOf(protocol).isRead(call.method)) return false
    const question = questionOf(body, call)
    if (question === undefined) return false
    const reads = this.#ofGroups.get(group) ?? new GroupReads(group, sharing)
    this.#ofGroups.set(group, reads)
    reads.answer(
      { options, id: call.id as string },
      { protocol, call, body, question: `${options.request.path} ${question}` },
    )
    return true
  }
}

interface Asked extends AnsweredCall {
  /** What equal calls have in common. */
  readonly question: string
}

/** Of one network. */
class GroupReads {
  readonly #group: UpstreamGroup
  readonly #coalesce: boolean
  readonly #inFlight = new Map<string, SharedRead>()
  readonly #kept: LRUCache<string, SharedAnswer> | undefined
  #strays = 0

  constructor(group: UpstreamGroup, { coalesce, keptBytes }: ReadSharing) {
    this.#group = group
    this.#coalesce = coalesce
    if (keptBytes === 0) return
    this.#kept = new LRUCache({
      maxSize: keptBytes,
      maxEntrySize: SHARED_BYTES_MAX + QUESTION_BYTES_MAX,
      sizeCalculation: ({ beforeId, afterId = '' }, question) => question.length + beforeId.length + afterId.length,
    })
  }

  answer(waiting: Waiting, asked: Asked): void {
    const kept = this.#answersKept()?.get(asked.question)
    const running = this.#inFlight.get(asked.question)
    if (kept !== undefined) tellAnswer(kept, waiting.options, waiting.id)
    else if (running !== undefined) running.join(waiting)
    else this.#ask(waiting, asked)
  }

  #ask(waiting: Waiting, asked: Asked): void {
    const { question } = asked
    // As they are before it is asked: what was not final then may have been another block's, in a node that had not heard of a reorg.
    const { strays, final } = this.#group
    const shared = new SharedRead(waiting, (answer, parsed) => {
      this.#inFlight.delete(question)
      if (answer?.status !== 200 || this.#kept === undefined || strays !== this.#group.strays) return
      if (mayBeKept(asked, parsed, final)) this.#answersKept()?.set(question, { ...answer, headers: KEPT_HEADERS })
    })
    if (this.#coalesce) this.#inFlight.set(question, shared)
    const { request } = waiting.options
    new Exchange({
      ...waiting.options,
      // For whoever joins, and to be looked into: as the node has it.
      request: { ...request, headers: RPC_HEADERS },
      ...{ response: shared, refuse: shared.refuse, bill: undefined, ownHeaders: [], heldBytesMax: SHARED_BYTES_MAX },
    })
  }

  /** Without what a node may have said of another chain before that was noticed. */
  #answersKept(): LRUCache<string, SharedAnswer> | undefined {
    const { strays } = this.#group
    if (strays !== this.#strays) this.#kept?.clear()
    this.#strays = strays
    return this.#kept
  }
}

/** Of the node that has answered once nothing is told. */
const KEPT_HEADERS = ['content-type', 'application/json'] as const

/**
 * What equal calls have in common: all but their ids. Undefined: it is too long to be compared, has members that nobody knows, or no id, so
 * that no answer is due.
 */
function questionOf(body: Buffer, { method, params, id, from, to }: Call): string | undefined {
  if (id === undefined || to - from > QUESTION_BYTES_MAX) return undefined
  let version = ''
  for (const { keyFrom, keyTo, from: valueFrom, to: valueTo } of membersOf(body, from)) {
    const key = body.toString('latin1', keyFrom + 1, keyTo - 1)
    if (key === 'jsonrpc') version = body.toString('utf8', valueFrom, valueTo)
    else if (key !== 'method' && key !== 'params' && key !== 'id') return undefined
  }
  return `${method} ${version} ${params === undefined ? '' : body.toString('utf8', params.from, params.to)}`
}
