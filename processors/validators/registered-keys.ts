import type { EventLog } from '../../infra/ports/event-log.ts'
import { decodeEvent, unlessUndecodable } from '../../schemas/events/codec.ts'
import { validatorsIdentified } from '../../schemas/events/validators.ts'

/** The keys that the registries of the chains know, as far as the log tells: it is read on when somebody asks, and never twice. */
export class RegisteredKeys {
  readonly #eventLog: EventLog
  readonly #signal: AbortSignal
  readonly #keys = new Set<string>()
  readonly #next = new Map<number, bigint>()
  #reading: Promise<void> = Promise.resolve()

  constructor(eventLog: EventLog, signal: AbortSignal) {
    this.#eventLog = eventLog
    this.#signal = signal
  }

  /** As far as the log was read. */
  has(chain: string, pubkey: string): boolean {
    return this.#keys.has(`${chain}:${pubkey}`)
  }

  /** Resolves when everything is known that the log held at the call. */
  readOn(): Promise<void> {
    const reading = this.#reading.catch(() => {}).then(() => this.#read()) // who asked before has the failure
    this.#reading = reading
    return reading
  }

  async #read(): Promise<void> {
    const { topic } = validatorsIdentified
    for await (const { event, position } of this.#eventLog.read({ topic, from: this.#next, signal: this.#signal })) {
      const told = unlessUndecodable(() => decodeEvent(validatorsIdentified, event))
      for (const { pubkey } of told?.validators ?? []) this.#keys.add(`${told?.chain}:${pubkey}`)
      this.#next.set(position.partition, position.offset + 1n)
    }
  }
}
