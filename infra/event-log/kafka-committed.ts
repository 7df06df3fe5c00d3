import type { Batch, KafkaMessage } from 'kafkajs'

/** What kafkajs keeps of every record that it has fetched, markers included, and does not declare. */
interface FetchedRecord {
  readonly offset: string
  readonly key: Buffer | null
  readonly isControlRecord?: boolean
  readonly batchContext?: { readonly producerId: string; readonly inTransaction: boolean }
}

export interface CommittedMessages {
  readonly messages: readonly KafkaMessage[]
  /** Offset of the last record that was looked at, which may be a marker; fetching goes on behind it. */
  readonly last: bigint
}

/** Type in the key of a marker, behind two bytes of version: https://kafka.apache.org/documentation/#controlbatch */
const MARKER_TYPE_AT = 2
const ABORT_MARKER = 0

/**
 * The messages of a fetched batch without those of aborted transactions.
 *
 * kafkajs leaves most of them out, but expects the broker's list of aborted transactions in the order in which they began,
 * and it comes in the order in which they ended: of two that overlap (a process that wrote two chains was killed) it lets
 * messages through. The marker that ends a transaction lies behind its messages, so here each message is judged by its
 * producer's next marker. Where that was not fetched any more, the batch ends before the message, and the next begins with it;
 * only of a transaction that begins a batch and does not end in it kafkajs's judgement has to be taken.
 */
export function committedMessages(batch: Batch): CommittedMessages {
  const aborted = new Set<string>()
  const ends = new Map<string, 'aborted' | 'committed'>()
  let undecided: string | undefined
  for (const record of fetchedRecords(batch).toReversed()) {
    const { producerId, inTransaction } = record.batchContext ?? { producerId: '', inTransaction: false }
    const end = ends.get(producerId)
    if (record.isControlRecord === true) ends.set(producerId, isAbort(record) ? 'aborted' : 'committed')
    else if (inTransaction && end === 'aborted') aborted.add(record.offset)
    else if (inTransaction && end === undefined) undecided = record.offset
  }
  const messages = batch.messages.filter(({ offset }) => !aborted.has(offset))
  const end = BigInt(undecided ?? -1)
  if (end <= BigInt(batch.firstOffset() ?? 0)) return { messages, last: BigInt(batch.lastOffset()) }
  return { messages: messages.filter(({ offset }) => BigInt(offset) < end), last: end - 1n }
}

function isAbort({ key }: FetchedRecord): boolean {
  return key !== null && key.length >= MARKER_TYPE_AT + 2 && key.readInt16BE(MARKER_TYPE_AT) === ABORT_MARKER
}

function fetchedRecords(batch: Batch): readonly FetchedRecord[] {
  const { rawMessages } = batch as Batch & { readonly rawMessages?: readonly FetchedRecord[] }
  if (rawMessages === undefined) throw new Error('kafkajs has changed: a batch does not tell its raw messages')
  return rawMessages
}
