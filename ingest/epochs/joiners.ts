import type { ValidatorSet, ValidatorStates } from '../../infra/ports/beacon-source.ts'
import { missingRow } from './registry-rows.ts'

/**
 * When tracked validators joined the registry, as a later state tells it of those who are missing in earlier ones. Epochs that are
 * read one after the other miss fewer and fewer: what was asked for the first of them serves them all.
 */
export class Joiners {
  #asked: { readonly of: ValidatorSet; readonly from: number; readonly since: Promise<BigUint64Array> } | undefined

  /**
   * Epochs of eligibility of the set's validators from a position on. `ask` answers with the rows of a state in which all of them
   * are; throws AppError `node_malformed` when they are not.
   */
  async eligibleSince(validators: ValidatorSet, from: number, ask: Ask): Promise<BigUint64Array> {
    if (this.#asked?.of !== validators || from < this.#asked.from) {
      const asked = { of: validators, from, since: eligibilityOf(validators.slice(from), ask) }
      this.#asked = asked
      // Who waits for it now learns of the failure; the next one asks again.
      asked.since.catch(() => {
        if (this.#asked === asked) this.#asked = undefined
      })
    }
    const { from: first, since } = this.#asked
    return (await since).subarray(from - first)
  }
}

type Ask = (joiners: ValidatorSet) => Promise<ValidatorStates>

async function eligibilityOf(joiners: ValidatorSet, ask: Ask): Promise<BigUint64Array> {
  const { validatorIndex, activationEligibilityEpoch } = await ask(joiners)
  const lost = joiners.find((index, i) => validatorIndex[i] !== index)
  if (lost !== undefined) throw missingRow('validators of the finalized state', lost)
  return activationEligibilityEpoch
}
