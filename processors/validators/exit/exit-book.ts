import { decodeEvent, type EncodedEvent } from '../../../schemas/events/codec.ts'
import {
  type ExitEnded,
  type ExitSigned,
  exitCancelled,
  exitEnded,
  exitRequested,
  exitSigned,
  exitSubmitted,
} from '../../../schemas/events/exits.ts'

/** An exit that somebody wants and that is not over. */
export interface OpenExit {
  readonly chain: string
  readonly pubkey: string
  readonly account: string
  /** Undefined while it can be cancelled. */
  readonly signed: ExitSigned | undefined
  /** The chain's epoch when a node first accepted it. */
  readonly submittedInEpoch: number | undefined
}

/** How it stands with the exit of a validator; undefined where nobody has asked for one. */
export type ExitStanding =
  | { readonly status: 'open'; readonly exit: OpenExit }
  | { readonly status: 'cancelled' }
  | { readonly status: 'ended'; readonly end: ExitEnded['end'] }
  | undefined

/** What the log says of exits. */
export class ExitBook {
  readonly #requests = new Set<string>()
  readonly #open = new Map<string, Map<string, OpenExit>>()
  readonly #closed = new Map<string, Exclude<ExitStanding, { status: 'open' } | undefined>>()

  /** Throws AppError `undecodable` for an event that is not what its type says. */
  add(event: EncodedEvent): void {
    switch (event.type) {
      case exitRequested.name: {
        const { chain, account, requestId, pubkeys } = decodeEvent(exitRequested, event)
        this.#requests.add(requestId)
        for (const pubkey of pubkeys)
          this.#set({ chain, pubkey, account, signed: undefined, submittedInEpoch: undefined })
        return
      }
      case exitCancelled.name: {
        const { chain, requestId, pubkeys } = decodeEvent(exitCancelled, event)
        this.#requests.add(requestId)
        for (const pubkey of pubkeys) this.#close(chain, pubkey, { status: 'cancelled' })
        return
      }
      case exitSigned.name: {
        const signed = decodeEvent(exitSigned, event)
        const exit = this.#openExit(signed.chain, signed.pubkey)
        if (exit !== undefined) this.#set({ ...exit, signed })
        return
      }
      case exitSubmitted.name: {
        const { chain, pubkey, headEpoch } = decodeEvent(exitSubmitted, event)
        const exit = this.#openExit(chain, pubkey)
        if (exit !== undefined) this.#set({ ...exit, submittedInEpoch: exit.submittedInEpoch ?? headEpoch })
        return
      }
      case exitEnded.name: {
        const { chain, pubkey, end } = decodeEvent(exitEnded, event)
        this.#close(chain, pubkey, { status: 'ended', end })
      }
    }
  }

  /** Whether a request of this id, or its cancelling, was done. */
  hasRequest(requestId: string): boolean {
    return this.#requests.has(requestId)
  }

  of(chain: string, pubkey: string): ExitStanding {
    const exit = this.#openExit(chain, pubkey)
    return exit === undefined ? this.#closed.get(keyOf(chain, pubkey)) : { status: 'open', exit }
  }

  /** In the order in which they were asked for. */
  open(chain: string): readonly OpenExit[] {
    return [...(this.#open.get(chain)?.values() ?? [])]
  }

  /** Those with open exits. */
  chains(): readonly string[] {
    return [...this.#open].filter(([, exits]) => exits.size > 0).map(([chain]) => chain)
  }

  #openExit(chain: string, pubkey: string): OpenExit | undefined {
    return this.#open.get(chain)?.get(pubkey)
  }

  #set(exit: OpenExit): void {
    const exits = this.#open.get(exit.chain) ?? new Map<string, OpenExit>()
    this.#open.set(exit.chain, exits.set(exit.pubkey, exit))
  }

  #close(chain: string, pubkey: string, standing: Exclude<ExitStanding, { status: 'open' } | undefined>): void {
    this.#open.get(chain)?.delete(pubkey)
    this.#closed.set(keyOf(chain, pubkey), standing)
  }
}

function keyOf(chain: string, pubkey: string): string {
  return `${chain}:${pubkey}`
}
