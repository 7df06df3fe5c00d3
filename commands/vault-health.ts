import type { VaultState } from '../infra/ports/key-keeping.ts'

/** The key vault of this process, as it was last seen. */
export interface VaultHealth extends VaultState {
  /** Validators of the log whose secret it lacks, lower-case hex. */
  readonly missing: readonly string[]
}
