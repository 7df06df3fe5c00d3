import { describe, expect, test } from 'vitest'
import type { Offsets, ReadOptions, StoredEvent } from '../../infra/ports/event-log.ts'
import { OwnersOnLog } from '../../processors/validators/exit/owners-on-log.ts'
import { RegisteredKeys } from '../../processors/validators/registered-keys.ts'
import { TopicReading } from '../../processors/validators/topic-reading.ts'
import { ACCOUNTS_KEY, validatorsTracked } from '../../schemas/events/accounts.ts'
import { type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'

const NEVER = new AbortController().signal
const PUBKEY = `0x${'ab'.repeat(48)}`
const DAY = 20_000 as never

/** A log in which a marker follows each event, as a lease's in Kafka are; it counts the readers that it opens. */
class MarkedLog {
  readonly #events: EncodedEvent[] = []
  readers = 0
  /** Whether a reader ends with a failure before the last event. */
  fails = false

  append(...events: readonly EncodedEvent[]): void {
    this.#events.push(...events)
  }

  ends = async (): Promise<Offsets> => new Map(this.#events.length === 0 ? [] : [[0, 2n * BigInt(this.#events.length)]])

  async *read({ from = new Map() }: ReadOptions): AsyncGenerator<StoredEvent> {
    const [start, end] = [from.get(0) ?? 0n, (await this.ends()).get(0) ?? 0n]
    if (start >= end) return
    this.readers++
    for (const [i, event] of this.#events.entries()) {
      if (this.fails && i === this.#events.length - 1) throw new Error('the log is away')
      const offset = 2n * BigInt(i)
      if (offset >= start) yield { position: { partition: 0, offset } as never, event }
    }
  }
}

function tracked(account: string): EncodedEvent {
  const data = { chain: 'mainnet', account, pubkeys: [PUBKEY], from: '1970-01-01' }
  return encodeEvent(validatorsTracked, {
    id: `tracked:${account}`,
    key: ACCOUNTS_KEY,
    time: '2026-01-01T00:00:00.000Z',
    data,
  })
}

function reading(log: MarkedLog): { readonly seen: string[]; readonly topic: TopicReading } {
  const seen: string[] = []
  const topic = new TopicReading(log, { topic: 'accounts', signal: NEVER, add: ({ id }) => void seen.push(id) })
  return { seen, topic }
}

describe('a topic that is read on', () => {
  test('opens a reader for what is new alone, and gives each event once', async () => {
    const log = new MarkedLog()
    const { seen, topic } = reading(log)
    await topic.readOn()
    log.append(tracked('a'), tracked('b'))
    await Promise.all([topic.readOn(), topic.readOn(), topic.readOn()])
    expect([log.readers, seen]).toEqual([1, ['tracked:a', 'tracked:b']])
    log.append(tracked('c'))
    await topic.readOn()
    await topic.readOn()
    expect([log.readers, seen]).toEqual([2, ['tracked:a', 'tracked:b', 'tracked:c']])
  })

  test('goes on behind the last event that it got before a failure', async () => {
    const log = new MarkedLog()
    const { seen, topic } = reading(log)
    log.append(tracked('a'), tracked('b'))
    log.fails = true
    await expect(topic.readOn()).rejects.toThrow('away')
    log.fails = false
    await topic.readOn()
    expect(seen).toEqual(['tracked:a', 'tracked:b'])
  })

  test('costs whoever asks for owners and registered keys one reader for what is new', async () => {
    const log = new MarkedLog()
    log.append(tracked('a'))
    const owners = new OwnersOnLog(log as never, NEVER)
    for (let i = 0; i < 3; i++)
      expect(await owners.ownersOf({ chain: 'mainnet', pubkeys: [PUBKEY] }, DAY)).toEqual(new Map([[PUBKEY, 'a']]))
    const keys = new RegisteredKeys(log as never, NEVER)
    for (let i = 0; i < 3; i++) await keys.readOn()
    expect(log.readers).toBe(2)
    log.append(tracked('b'))
    expect(await owners.ownersOf({ chain: 'mainnet', pubkeys: [] }, DAY)).toEqual(new Map())
    expect(log.readers).toBe(2)
  })
})
