import { decodeEvent, type EncodedEvent } from '../../schemas/events/codec.ts'
import { exitCancelled, exitEnded, exitRequested, exitSigned, exitSubmitted } from '../../schemas/events/exits.ts'
import type { Noticed } from '../../schemas/events/webhooks.ts'

type ExitNotice = Extract<Noticed, { kind: 'validator.exit' }>

/** A step of an exit, and the account that asked for it. */
export interface ExitStepOf {
  readonly chain: string
  readonly account: string
  readonly step: Omit<ExitNotice, 'offset' | 'kind'>
}

/** Whose exits are how far, by the facts of `accounts` in their order. */
export class ExitSteps {
  readonly #open = new Map<string, { readonly account: string; readonly step: ExitNotice['step'] }>()

  /** What the event tells that none before it has. Throws AppError `undecodable` for one that is not what its type says. */
  add(event: EncodedEvent): readonly ExitStepOf[] {
    switch (event.type) {
      case exitRequested.name: {
        const { chain, account, pubkeys } = decodeEvent(exitRequested, event)
        return pubkeys.flatMap((pubkey) => {
          const before = this.#open.get(keyOf(chain, pubkey))
          const isOpen = before !== undefined && !ENDS.has(before.step) && before.account === account
          return isOpen ? [] : this.#moved(chain, account, { pubkey, step: 'requested' })
        })
      }
      case exitCancelled.name: {
        const { chain, pubkeys } = decodeEvent(exitCancelled, event)
        return pubkeys.flatMap((pubkey) => this.#went(chain, { pubkey, step: 'cancelled' }))
      }
      case exitSigned.name: {
        const { chain, pubkey } = decodeEvent(exitSigned, event)
        return this.#went(chain, { pubkey, step: 'signed' })
      }
      case exitSubmitted.name: {
        const { chain, pubkey } = decodeEvent(exitSubmitted, event)
        return this.#went(chain, { pubkey, step: 'submitted' })
      }
      case exitEnded.name: {
        const { chain, pubkey, end } = decodeEvent(exitEnded, event)
        if (end.status === 'failed') return this.#went(chain, { pubkey, step: 'failed', reason: end.reason })
        return this.#went(chain, { pubkey, step: 'on_chain', exitEpoch: end.exitEpoch })
      }
      default:
        return []
    }
  }

  /** A step of an exit that was asked for; one that is told again is none. */
  #went(chain: string, step: ExitStepOf['step']): readonly ExitStepOf[] {
    const before = this.#open.get(keyOf(chain, step.pubkey))
    if (before === undefined || before.step === step.step) return []
    return this.#moved(chain, before.account, step)
  }

  #moved(chain: string, account: string, step: ExitStepOf['step']): readonly ExitStepOf[] {
    this.#open.set(keyOf(chain, step.pubkey), { account, step: step.step })
    return [{ chain, account, step }]
  }
}

/** After these another request begins anew. */
const ENDS: ReadonlySet<ExitNotice['step']> = new Set<ExitNotice['step']>(['cancelled', 'on_chain', 'failed'])

function keyOf(chain: string, pubkey: string): string {
  return `${chain}:${pubkey}`
}
