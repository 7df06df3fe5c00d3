import { type AccountStanding, STANDING_AGE_MS_MAX, type Standings } from '../http/standings.ts'

/** So old may be what is known of keys before it is looked for again, while calls go on. */
const FRESH_MS = 200
/** So long a revoked key works at most after the tables know of it. */
const REVOKED_MS_MAX = 800
/** Older than this nobody is let in by it: what is found may be as old already as a look at the tables. */
const AGE_MS_MAX = REVOKED_MS_MAX - STANDING_AGE_MS_MAX

/** Who has which key, at once: calls do not wait while it is looked for again, unless it is too old. */
export class Keys {
  readonly #standings: Pick<Standings, 'accounts'>
  #known: AccountStanding | undefined
  #foundMs = Number.NEGATIVE_INFINITY
  #looking: Promise<AccountStanding> | undefined

  constructor(standings: Pick<Standings, 'accounts'>) {
    this.#standings = standings
  }

  /** What is known now, or what is found when that is too old. */
  get(): AccountStanding | Promise<AccountStanding> {
    const ageMs = performance.now() - this.#foundMs
    if (this.#known !== undefined && ageMs < FRESH_MS) return this.#known
    const looking = this.look()
    if (this.#known === undefined || ageMs > AGE_MS_MAX) return looking
    looking.catch(() => {
      // Whoever waits for it hears of it.
    })
    return this.#known
  }

  /** What the tables have now. */
  look(): Promise<AccountStanding> {
    this.#looking ??= this.#find().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #find(): Promise<AccountStanding> {
    const beganMs = performance.now()
    const found = await this.#standings.accounts()
    this.#known = found
    this.#foundMs = beganMs
    return found
  }
}
