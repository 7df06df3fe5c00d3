import type { VaultState } from '../infra/ports/key-keeping.ts'

/** The key vault of this process, as it was last seen. */
export interface VaultHealth extends VaultState {
  /** Validators of the log whose secret it lacks, lower-case hex. */
  readonly missing: readonly string[]
}

/** How the vault is: the role that has it says so, whoever is asked for health reads it. */
export class VaultWatch {
  #read: (() => VaultHealth) | undefined

  /** `undefined` where this process has no vault now. */
  watch(read: (() => VaultHealth) | undefined): void {
    this.#read = read
  }

  /** Undefined where this process has no vault. */
  health(): VaultHealth | undefined {
    return this.#read?.()
  }
}
