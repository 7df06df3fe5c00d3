import type { FundedKeys } from './quoted-keys.ts'
import type { RegisteredKeys } from './registered-keys.ts'
import type { SentStakings } from './sent-stakings.ts'

export interface DepositedKeysOptions {
  readonly registered: Pick<RegisteredKeys, 'has' | 'readOn'>
  readonly sent: SentStakings
}

/**
 * The keys whose deposits the chain has taken. The final registry knows a validator hours or weeks after its deposit, as long as the
 * queue of deposits is: before that the end of a staking transaction tells of it, or who has seen the deposit on the chain.
 */
export class DepositedKeys implements FundedKeys {
  readonly #options: DepositedKeysOptions
  /** Forgotten with the process: who asks tells it again. */
  readonly #seen = new Set<string>()

  constructor(options: DepositedKeysOptions) {
    this.#options = options
  }

  has(chain: string, pubkey: string): boolean {
    const { registered, sent } = this.#options
    if (registered.has(chain, pubkey) || this.#seen.has(nameOf(chain, pubkey))) return true
    return sent.depositing(chain, pubkey) !== undefined
  }

  readOn(): Promise<void> {
    return this.#options.registered.readOn()
  }

  addSeen(chain: string, pubkeys: readonly string[]): void {
    for (const pubkey of pubkeys) this.#seen.add(nameOf(chain, pubkey))
  }
}

function nameOf(chain: string, pubkey: string): string {
  return `${chain}:${pubkey}`
}
