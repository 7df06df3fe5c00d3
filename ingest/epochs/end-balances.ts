import type { Balances, ValidatorStates } from '../../infra/ports/beacon-source.ts'

/** Balances that epochs of one run end with, of one set of validators: the next epoch begins with them, and need not ask for them. */
export class EndBalances {
  readonly #byEpoch = new Map<number, Promise<Balances>>()

  /** What the states after an epoch say, until it is taken. */
  keep(epoch: number, states: Promise<ValidatorStates>): void {
    const balances = states.then(({ validatorIndex, balanceGwei }) => ({ validatorIndex, balanceGwei }))
    balances.catch(() => {}) // the epoch itself fails with it
    this.#byEpoch.set(epoch, balances)
  }

  /** Those after an epoch; undefined where nobody has asked for its states. */
  take(epoch: number): Promise<Balances> | undefined {
    const balances = this.#byEpoch.get(epoch)
    this.#byEpoch.delete(epoch)
    return balances
  }
}
