import type { EventLog } from '../../infra/ports/event-log.ts'
import { decodeEvent, unlessUndecodable } from '../../schemas/events/codec.ts'
import { validatorsIdentified } from '../../schemas/events/validators.ts'
import { TopicReading } from './topic-reading.ts'

/** The keys that the registries of the chains know, as far as the log tells: it is read on when somebody asks, and never twice. */
export class RegisteredKeys {
  /** With their newest withdrawal credentials. */
  readonly #credentials = new Map<string, string>()
  readonly #reading: TopicReading

  constructor(eventLog: Pick<EventLog, 'read' | 'ends'>, signal: AbortSignal) {
    this.#reading = new TopicReading(eventLog, {
      topic: validatorsIdentified.topic,
      signal,
      add: (event) => {
        const told = unlessUndecodable(() => decodeEvent(validatorsIdentified, event))
        for (const { pubkey, withdrawalCredentials } of told?.validators ?? [])
          this.#credentials.set(`${told?.chain}:${pubkey}`, withdrawalCredentials)
      },
    })
  }

  /** As far as the log was read. */
  has(chain: string, pubkey: string): boolean {
    return this.#credentials.has(`${chain}:${pubkey}`)
  }

  /** 32 bytes, lower-case hex, as far as the log was read; undefined for a key that no registry knows. */
  credentialsOf(chain: string, pubkey: string): string | undefined {
    return this.#credentials.get(`${chain}:${pubkey}`)
  }

  /** Resolves when everything is known that the log held at the call. */
  readOn(): Promise<void> {
    return this.#reading.readOn()
  }
}
