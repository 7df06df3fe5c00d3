import type { ValidatorSet, ValidatorStates } from '../../infra/ports/beacon-source.ts'

/**
 * Whom to ask attestation rewards about: those of the tracked validators who were active by the duty epoch. Some nodes refuse a
 * whole question for one index that was not in the registry then.
 */
export class DutySets {
  /** The set that `#allFrom` tells of. */
  #of: ValidatorSet = new Uint32Array(0)
  /** The epoch from which on all of the set are active; Infinity while that is not known. */
  #allFrom = Number.POSITIVE_INFINITY
  #last: ValidatorSet = new Uint32Array(0)

  /** The set, when all of it is known to have been active by then: whoever asks need not wait for the states. */
  known(validators: ValidatorSet, dutyEpoch: number): ValidatorSet | undefined {
    return this.#of === validators && this.#allFrom <= dutyEpoch ? validators : undefined
  }

  /** Those of the set who were active by the duty epoch, as the states of a later one tell; the same array while they are the same. */
  of(validators: ValidatorSet, states: ValidatorStates, dutyEpoch: number): ValidatorSet {
    const { validatorIndex, activationEpoch } = states
    const duty = BigInt(dutyEpoch)
    const active = validatorIndex.filter((_, i) => (activationEpoch[i] as bigint) <= duty)
    if (active.length === validators.length) {
      this.#allFrom = this.#of === validators ? Math.min(this.#allFrom, dutyEpoch) : dutyEpoch
      this.#of = validators
      return validators
    }
    if (active.length !== this.#last.length || active.some((index, i) => index !== this.#last[i])) this.#last = active
    return this.#last
  }
}
