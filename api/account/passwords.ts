import type { ScryptOptions } from 'node:crypto'
import type { Password } from '../../schemas/events/users.ts'
import { ScryptThreads } from './scrypt-threads.ts'
import type { AccountSecrets } from './secrets.ts'

/** The first choice of OWASP's Password Storage Cheat Sheet: 128 MiB, and about half a second of a core. */
const COST = { N: 2 ** 17, r: 8, p: 1 } as const
const SCHEME = `scrypt-${COST.N}-${COST.r}-${COST.p}`
const DERIVED_BYTES = 32
/** 128 · N · r bytes, and a little. */
const MEMORY_BYTES_MAX = 160 * 1024 * 1024
const OPTIONS: ScryptOptions = { ...COST, maxmem: MEMORY_BYTES_MAX }

/** A thread and 128 MiB each. */
export const AT_ONCE_MAX = 2
/** Half a minute's work on two cores: whoever came after these would not wait that long. */
export const WAITING_MAX = 64

/** What a password becomes, of a salt; 32 bytes. */
export type Derive = (password: string, salt: Uint8Array) => Promise<Uint8Array>

/** Makes what is kept of passwords, off the event loop, two at a time. */
export class Passwords {
  readonly #secrets: AccountSecrets
  readonly #derive: Derive
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(secrets: AccountSecrets, derive: Derive = deriveInThreads()) {
    this.#secrets = secrets
    this.#derive = derive
  }

  /** Undefined where too many wait already: nothing was done. */
  async of(email: string, password: string): Promise<Password | undefined> {
    if (this.#running >= AT_ONCE_MAX) {
      if (this.#waiting.length >= WAITING_MAX) return undefined
      // Whoever has done hands its place on.
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    } else this.#running++
    try {
      // What looks equal is equal, whichever way a keyboard writes it.
      const derived = await this.#derive(password.normalize('NFKC'), this.#secrets.saltOf(email))
      return { scheme: SCHEME, proof: this.#secrets.proofOf(derived) }
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}

function deriveInThreads(): Derive {
  const threads = new ScryptThreads({ bytes: DERIVED_BYTES, options: OPTIONS })
  return (password, salt) => threads.derive(password, salt)
}
