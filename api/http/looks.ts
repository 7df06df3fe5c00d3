import type { Writing } from '../../infra/ports/warehouse.ts'

/** From this share of its age on the next look is on its way, so that whoever asks all the time waits for none. */
const AHEAD_AGE_SHARE = 0.6

interface Look<Found> {
  /** Later ones have higher numbers. */
  readonly number: number
  readonly found: Promise<Found>
  readonly atMs: number
  /** What was written before the look; undefined where nobody knows, or something was being written. */
  readonly writes: number | undefined
  /** The same of the news. */
  readonly news: number | undefined
}

export interface LooksOptions<Found> {
  /** Looks at the tables. */
  readonly look: (key: string) => Promise<Found>
  /** Tells what was written to these tables, as `writesOf` of the warehouse does. */
  readonly writes: () => number | undefined
  /** The same of tables that are written seldom, and whose news nobody is to wait for: they are looked at at once. */
  readonly news?: () => number | undefined
  /** What is being written to the first ones, as `writing` of the warehouse tells it. */
  readonly writing?: () => Pick<Writing, 'before' | 'sinceMs'> | undefined
  /** So old a look may be, unless nothing was written since. */
  readonly ageMsMax: number
  /** So old where nothing was. */
  readonly keptMsMax?: number
  readonly nowMs?: () => number
}

/** Looks at tables when somebody asks and something was written, all askers together, and but for news at most every so many milliseconds. */
export class Looks<Found> {
  readonly #options: Required<LooksOptions<Found>>
  /** The newest one that has ended, by its key. */
  readonly #ended = new Map<string, Look<Found>>()
  readonly #underWay = new Map<string, Look<Found>>()
  /** Looks before this one are good for nobody. */
  readonly #forgotten = new Map<string, number>()
  #begun = 0

  constructor(options: LooksOptions<Found>) {
    const [none, nowMs] = [() => undefined, () => performance.now()]
    const patient = { news: none, writing: none, keptMsMax: Number.POSITIVE_INFINITY, nowMs }
    this.#options = { ...patient, ...options }
  }

  /** What the last look has found; of a new one where there is none, or it is too old. Rejects as the look does. */
  of(key: string): Promise<Found> {
    const last = this.#ended.get(key)
    if (last === undefined) return this.#begin(key).found
    const { ageMsMax, keptMsMax, nowMs } = this.#options
    const ageMs = nowMs() - last.atMs
    if (ageMs < keptMsMax && this.#isAsNew(last)) return last.found
    if (ageMs >= ageMsMax || this.#hasNews(last)) return this.#begin(key).found
    // Its failure is nobody's yet: whoever asks when the last look is too old looks again.
    if (ageMs >= ageMsMax * AHEAD_AGE_SHARE) this.#begin(key).found.catch(() => {})
    return last.found
  }

  /** What was found is not good any more. */
  forget(key: string): void {
    this.#ended.delete(key)
    this.#underWay.delete(key)
    this.#forgotten.set(key, this.#begun)
  }

  /** Whether nothing was written since a look, or what was is still being written, and not for long: to look at half of it helps nobody. */
  #isAsNew({ writes: seen }: Look<Found>): boolean {
    if (seen === undefined) return false
    const { writes, writing, ageMsMax, nowMs } = this.#options
    if (seen === writes()) return true
    const now = writing()
    return now !== undefined && now.before === seen && nowMs() - now.sinceMs < ageMsMax
  }

  /** Whether news have come since a look, and are there. */
  #hasNews(look: Look<Found>): boolean {
    const news = this.#options.news()
    return news !== undefined && news !== look.news
  }

  /** The look that is under way, or a new one: `of` gives it out once it has ended. */
  #begin(key: string): Look<Found> {
    const { look, writes, news, ageMsMax, nowMs } = this.#options
    const atMs = nowMs()
    const underWay = this.#underWay.get(key)
    if (underWay !== undefined && atMs - underWay.atMs < ageMsMax && !this.#hasNews(underWay)) return underWay
    const begun = { number: this.#begun++, atMs, writes: writes(), news: news(), found: look(key) }
    this.#underWay.set(key, begun)
    const end = (): void => {
      if (this.#underWay.get(key) === begun) this.#underWay.delete(key)
    }
    begun.found.then(() => {
      const newest = Math.max(this.#ended.get(key)?.number ?? -1, (this.#forgotten.get(key) ?? 0) - 1)
      if (begun.number > newest) this.#ended.set(key, begun)
      end()
    }, end)
    return begun
  }
}
