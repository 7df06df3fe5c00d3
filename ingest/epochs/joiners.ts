import type { ValidatorSet, ValidatorStates } from '../../infra/ports/beacon-source.ts'
import { missingRow } from './registry-rows.ts'

/**
 * When the last of the tracked validators joined the registry, as the state of one checkpoint tells it of those who are missing in
 * earlier ones. Epochs that are read one after the other miss fewer and fewer: what was asked for the first of them serves them
 * all. It serves no later checkpoint: who is not eligible by one may be by the next.
 */
export class Joiners {
  readonly #validators: ValidatorSet
  readonly #ask: (joiners: ValidatorSet) => Promise<ValidatorStates>
  #asked: { readonly from: number; readonly since: Promise<BigUint64Array> } | undefined

  /** `ask` answers with rows of the checkpoint's state, in which all of the validators are. */
  constructor(validators: ValidatorSet, ask: (joiners: ValidatorSet) => Promise<ValidatorStates>) {
    this.#validators = validators
    this.#ask = ask
  }

  /**
   * Epochs of eligibility of the validators from a position on. Throws AppError `node_malformed` when one of them is not in the
   * state.
   */
  async eligibleSince(from: number): Promise<BigUint64Array> {
    if (this.#asked === undefined || from < this.#asked.from) {
      const asked = { from, since: this.#eligibility(this.#validators.slice(from)) }
      this.#asked = asked
      // Who waits for it now learns of the failure; the next one asks again.
      asked.since.catch(() => {
        if (this.#asked === asked) this.#asked = undefined
      })
    }
    const { from: first, since } = this.#asked
    return (await since).subarray(from - first)
  }

  async #eligibility(joiners: ValidatorSet): Promise<BigUint64Array> {
    const { validatorIndex, activationEligibilityEpoch } = await this.#ask(joiners)
    const lost = joiners.find((index, i) => validatorIndex[i] !== index)
    if (lost !== undefined) throw missingRow('validators of the finalized state', lost)
    return activationEligibilityEpoch
  }
}
