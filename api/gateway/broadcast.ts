import type { Upstream, UpstreamFault } from '../../infra/ports/upstreams.ts'
import { CLIENT_LEFT } from './bill.ts'
import type { ExchangeOptions } from './exchange.ts'
import { toClientHeaders } from './headers.ts'
import { isOfRpc, verdictOf } from './node-answer.ts'
import { refusalOf } from './refusals.ts'
import { hearWhole, lookFor, type SentTransaction, type WholeAnswer } from './sent-transaction.ts'

interface Refused extends WholeAnswer {
  readonly upstream: Upstream
}

/**
 * A signed transaction on its way to all nodes: whoever takes it answers for all, for those that have it already may say so as an error. It
 * stays on its way when its client has gone.
 */
export class Broadcast {
  readonly #options: ExchangeOptions
  /** What may be looked for where a node took it and was lost before it said so; undefined: nothing. */
  readonly #sent: SentTransaction | undefined
  #waiting: number
  #refused: Refused | undefined
  #fault: UpstreamFault = 'unreached'
  #isAnswered = false

  constructor(options: ExchangeOptions, upstreams: readonly Upstream[]) {
    this.#options = options
    this.#sent = options.sent?.[0]
    this.#waiting = upstreams.length
    options.group.countCall()
    for (const upstream of upstreams)
      upstream.send(
        options.request,
        hearWhole(
          (answer) => this.#onAnswer(answer, upstream),
          (fault) => this.#onFault(fault),
        ),
      )
  }

  /** False: it is none. */
  #onAnswer(answer: WholeAnswer, upstream: Upstream): boolean {
    const verdict = verdictOf(answer.body, answer, this.#options.expected)
    const said = verdict === 'answer' ? saidOf(answer.body) : undefined
    if (said === 'taken') this.#answer(answer)
    else if (said === 'refused') this.#refused ??= { ...answer, upstream }
    else this.#note(verdict === 'refused' ? 'refused' : 'lost')
    this.#onEnd()
    return said !== undefined
  }

  #onFault(fault: UpstreamFault): void {
    this.#note(fault)
    this.#onEnd()
  }

  /** A node that has not had it says less than one that may have. */
  #note(fault: UpstreamFault): void {
    if (fault !== 'unreached' && fault !== 'refused') this.#fault = fault
    else if (this.#fault === 'unreached') this.#fault = fault
  }

  #onEnd(): void {
    this.#waiting--
    if (this.#waiting > 0 || this.#isAnswered) return
    const refused = this.#refused
    if (refused === undefined) this.#options.refuse(refusalOf(this.#fault))
    else if (this.#sent === undefined || this.#fault === 'unreached' || this.#fault === 'refused') this.#answer(refused)
    else this.#lookFor(this.#sent, refused)
  }

  /** A node that was lost may have taken it and passed it on: others then refuse what they have, or what is in a block already. */
  #lookFor(sent: SentTransaction, refused: Refused): void {
    const { upstream } = refused
    lookFor({ sent: [sent], upstream, request: this.#options.request }, (found) =>
      this.#answer(found.length > 0 ? { ...refused, status: 200, body: sent.taken } : refused),
    )
  }

  #answer({ status, headers, body }: WholeAnswer): void {
    if (this.#isAnswered) return
    this.#isAnswered = true
    const { response, ownHeaders, bill } = this.#options
    if (response.destroyed) {
      bill?.answered(CLIENT_LEFT, 0)
      return
    }
    bill?.answered(status, body.length)
    const passed = toClientHeaders({ ...headers, 'content-length': String(body.length) }, true)
    response.writeHead(status, [...passed, ...ownHeaders])
    response.end(body)
  }
}

function saidOf(body: Buffer): 'taken' | 'refused' | undefined {
  try {
    const answer: unknown = JSON.parse(body.toString())
    if (!isOfRpc(answer)) return undefined
    return answer.error !== undefined && answer.error !== null ? 'refused' : 'taken'
  } catch {
    // What is no JSON is no answer of a node.
    return undefined
  }
}
