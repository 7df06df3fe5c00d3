import type { Batch, KafkaMessage } from 'kafkajs'
import { expect, test } from 'vitest'
import { committedMessages } from '../../infra/event-log/kafka-committed.ts'

/** A record of a fetched batch: `offset producer kind`. Without a kind it is a message of a transaction. */
type Line = `${number} ${string}` | `${number} ${string} ${'commit' | 'abort' | 'alone'}`

/** A batch as kafkajs hands it over, with all messages shown: what it hides by itself is not what is tested here. */
function batchOf(lines: readonly Line[]): Batch {
  const rawMessages = lines.map((line) => {
    const [offset = '', producerId = '', kind = 'message'] = line.split(' ')
    const isControlRecord = kind === 'commit' || kind === 'abort'
    return {
      offset,
      key: isControlRecord ? Buffer.from([0, 0, 0, kind === 'commit' ? 1 : 0]) : Buffer.from('key'),
      value: null,
      timestamp: '0',
      attributes: 0,
      headers: {},
      isControlRecord,
      batchContext: { producerId, inTransaction: kind !== 'alone' },
    }
  })
  const messages: KafkaMessage[] = rawMessages.filter(({ isControlRecord }) => !isControlRecord)
  const firstOffset = rawMessages.at(0)?.offset ?? null
  const lastOffset = rawMessages.at(-1)?.offset ?? '-1'
  return {
    topic: 't',
    partition: 0,
    highWatermark: '1000',
    messages,
    isEmpty: () => messages.length === 0,
    firstOffset: () => firstOffset,
    lastOffset: () => lastOffset,
    offsetLag: () => '0',
    offsetLagLow: () => '0',
    ...{ rawMessages },
  }
}

const cases: readonly {
  readonly name: string
  readonly batch: readonly Line[]
  readonly shown: string
  readonly last: bigint
}[] = [
  { name: 'shows messages that are in no transaction', batch: ['0 p alone', '1 p alone'], shown: '0 1', last: 1n },
  {
    name: 'shows those of a committed transaction, and ends behind its marker',
    batch: ['0 p', '1 p', '2 p commit'],
    shown: '0 1',
    last: 2n,
  },
  { name: 'hides those of an aborted one', batch: ['0 p', '1 q alone', '2 p abort'], shown: '1', last: 2n },
  {
    name: 'tells one transaction of a producer from its next',
    batch: ['0 p', '1 p abort', '2 p', '3 p commit', '4 p', '5 p abort'],
    shown: '2',
    last: 5n,
  },
  {
    name: 'hides two that overlap and end in another order',
    batch: ['0 a', '1 b', '2 a', '3 b abort', '4 a abort'],
    shown: '',
    last: 4n,
  },
  {
    name: 'hides one of two that overlap',
    batch: ['0 a', '1 b', '2 a', '3 b commit', '4 a abort'],
    shown: '1',
    last: 4n,
  },
  {
    name: 'ends before a transaction whose end was not fetched any more',
    batch: ['0 p', '1 p commit', '2 q', '3 q'],
    shown: '0',
    last: 1n,
  },
  {
    name: 'ends before it although something committed follows',
    batch: ['0 p alone', '1 q', '2 p alone'],
    shown: '0',
    last: 0n,
  },
  {
    name: 'takes what kafkajs shows of a transaction that begins the batch and does not end in it',
    batch: ['5 q', '6 q'],
    shown: '5 6',
    last: 6n,
  },
]

test.each(cases)('a fetched batch $name', ({ batch, shown, last }) => {
  const committed = committedMessages(batchOf(batch))
  expect(committed.messages.map(({ offset }) => offset).join(' ')).toBe(shown)
  expect(committed.last).toBe(last)
})
