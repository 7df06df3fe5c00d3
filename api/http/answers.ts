import { LRUCache } from 'lru-cache'
import { AskedBefore } from './asked-before.ts'

/** An answer as it is sent. */
export interface SentAnswer {
  readonly httpStatus: number
  readonly type: string
  /** Text goes out with its headers in one write; of a long one, its bytes (`toBody`). */
  readonly body: string | Buffer
  /** False where the same question may be answered otherwise the next time although nothing has changed: a failure. */
  readonly isKept: boolean
  /** Beside its type. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Longer texts are bytes, once and for all: V8 copies what is kept from one place of its heap to the other, and encodes it for each client. */
const TEXT_CHARACTERS_MAX = 16 * 1024

/** An answer's text as it is kept and sent. */
export const toBody = (text: string): string | Buffer => (text.length > TEXT_CHARACTERS_MAX ? Buffer.from(text) : text)

/** What is kept of all accounts together; a character of JSON is a byte. */
const CHARACTERS_MAX = 64 * 1024 * 1024
/** A page of 1,000 validators has 400,000. */
const ANSWER_CHARACTERS_MAX = 4 * 1024 * 1024

interface Kept {
  readonly position: string
  readonly answer: SentAnswer
}

interface Pending {
  readonly position: string
  readonly answer: Promise<SentAnswer>
  readonly abandon: AbortController
  askers: number
}

/** Whose question it is: the key tells account, chain, operation and parameters. */
export interface Question {
  readonly key: string
  /** Of the tables: an answer is kept for as long as it stays. */
  readonly position: string
  /** Aborts when the asker is gone. */
  readonly signal: AbortSignal
}

/**
 * Answers that nothing has changed since, and those that are being made: equal questions at one time are asked once. Long ones are kept from
 * the second time on: five hundred pages would be all that there is room for.
 */
export class Answers {
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: CHARACTERS_MAX,
    maxEntrySize: ANSWER_CHARACTERS_MAX,
    sizeCalculation: ({ position, answer }, key) => key.length + position.length + answer.body.length,
  })
  readonly #pending = new Map<string, Pending>()
  readonly #asked = new AskedBefore()

  /** What was answered while the tables stood as they do. */
  kept(key: string, position: string): SentAnswer | undefined {
    const kept = this.#kept.get(key)
    return kept?.position === position ? kept.answer : undefined
  }

  /** `ask` gets a signal that aborts when nobody waits for the answer any more. Rejects with the asker's reason when it is gone. */
  async of(question: Question, ask: (signal: AbortSignal) => Promise<SentAnswer>): Promise<SentAnswer> {
    const { key, position, signal } = question
    const known = this.#pending.get(key)
    const isShared = known?.position === position && !known.abandon.signal.aborted
    const pending = isShared ? known : this.#begin(question, ask)
    pending.askers++
    const { promise: gone, reject } = Promise.withResolvers<never>()
    const leave = (): void => {
      if (--pending.askers === 0) pending.abandon.abort(signal.reason)
      reject(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
    try {
      if (signal.aborted) leave()
      return await Promise.race([pending.answer, gone])
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  #begin({ key, position }: Question, ask: (signal: AbortSignal) => Promise<SentAnswer>): Pending {
    const abandon = new AbortController()
    const pending: Pending = { position, abandon, askers: 0, answer: ask(abandon.signal) }
    this.#pending.set(key, pending)
    pending.answer
      .then((answer) => {
        if (answer.isKept && (this.#asked.isAgain(key) || typeof answer.body === 'string'))
          this.#kept.set(key, { position, answer })
      })
      .catch(() => {}) // the askers hear of it
      .finally(() => {
        if (this.#pending.get(key) === pending) this.#pending.delete(key)
      })
    return pending
  }
}
