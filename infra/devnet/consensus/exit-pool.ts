import type { CachedBeaconStateFulu } from '@lodestar/state-transition'
import type { phase0 } from '@lodestar/types'
import type { Journal } from '../journal.ts'
import { exitFault, isValidExit } from './incidents.ts'

/** More are refused: no test needs them, and every one is checked against the state in every block. */
const PENDING_EXITS_MAX = 1_024

type Submitted = { readonly status: 'accepted' | 'full' } | { readonly status: 'invalid'; readonly fault: string }

/** Voluntary exits from outside. They enter the journal with their slot before their block is made, so a restart repeats them. */
export class ExitPool {
  readonly #journal: Journal
  readonly #pending = new Map<number, phase0.SignedVoluntaryExit>()

  constructor(journal: Journal) {
    this.#journal = journal
  }

  pending(): readonly phase0.SignedVoluntaryExit[] {
    return [...this.#pending.values()]
  }

  /** Checks the exit as a node does, signature included; an exit that is already pending is accepted again. */
  submit(exit: phase0.SignedVoluntaryExit, headState: CachedBeaconStateFulu): Submitted {
    const fault = exitFault(headState, exit, { verifySignature: true })
    if (fault !== undefined) return { status: 'invalid', fault }
    if (this.#pending.size >= PENDING_EXITS_MAX) return { status: 'full' }
    this.#pending.set(exit.message.validatorIndex, exit)
    return { status: 'accepted' }
  }

  /** The exits that the block of the state's slot contains. */
  take(state: CachedBeaconStateFulu, limit: number): readonly phase0.SignedVoluntaryExit[] {
    if (state.slot <= this.#journal.lastSlot) return this.#journal.exitsAt(state.slot)
    const taken: phase0.SignedVoluntaryExit[] = []
    for (const [validator, exit] of this.#pending) {
      if (taken.length === limit) break
      this.#pending.delete(validator)
      // One that became invalid while it waited (exited otherwise, slashed) is dropped.
      if (isValidExit(state, exit, { verifySignature: false })) taken.push(exit)
    }
    if (taken.length > 0) this.#journal.append(state.slot, taken)
    return taken
  }
}
