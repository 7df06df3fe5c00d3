import type { EventWriter } from '../../infra/ports/event-log.ts'
import type { VaultState } from '../../infra/ports/key-keeping.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import {
  MISSING_NAMED_MAX,
  type VaultState as ToldState,
  VAULT_KEY,
  vaultStateTold,
} from '../../schemas/events/vault-state.ts'

/** A word is renewed after so long: whoever hears none for some of these misses the vault. */
export const RENEWED_MS = 60_000

/** Tells the log how the vault is, for processes that do not have it. */
export class VaultTelling {
  readonly #writer: EventWriter
  readonly #missing: ToldState['missing']
  /** Unix milliseconds. */
  readonly #now: () => number
  #told: { readonly text: string; readonly atMs: number } | undefined

  constructor(writer: EventWriter, missing: readonly string[], now: () => number) {
    this.#writer = writer
    this.#missing = { count: missing.length, pubkeys: missing.slice(0, MISSING_NAMED_MAX) }
    this.#now = now
  }

  /** Tells it where it has changed, or was not told for a while. */
  async tell({ state, sinceMs, fault = '' }: VaultState): Promise<void> {
    await this.#tell({ state, since: instantOf(sinceMs), fault, missing: this.#missing })
  }

  /** Tells that it was stopped, and did not die. */
  async tellStopped(): Promise<void> {
    await this.#tell({ state: 'stopped', since: instantOf(this.#now()), fault: '', missing: this.#missing })
  }

  async #tell(data: ToldState): Promise<void> {
    const [text, atMs] = [JSON.stringify(data), this.#now()]
    if (this.#told?.text === text && atMs - this.#told.atMs < RENEWED_MS) return
    const time = instantOf(atMs)
    await this.#writer.append('roles', [
      encodeEvent(vaultStateTold, { id: `${vaultStateTold.name}:${time}`, key: VAULT_KEY, time, data }),
    ])
    this.#told = { text, atMs }
  }
}

function instantOf(ms: number): string {
  return formatInstant(Math.floor(ms / 1_000))
}
