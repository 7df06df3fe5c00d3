import { type Static, Type } from 'typebox'
import { DEFAULT_TOPIC_EVENT_BYTES_MAX, type Packed, packedEvent } from './codec.ts'
import { UInt } from './fields.ts'

/** Of one event, which is encoded at once: a millisecond or two. */
export const USAGE_ROWS_MAX = 500

const UsageHeader = Type.Object({
  /** The process, since its start: what it counts nobody else does. */
  writer: Type.String({ pattern: '^[0-9a-f]{16}$' }),
  /** Unix seconds at which the minute begins. */
  minuteSec: UInt,
  /** A minute of many rows has several parts; a row stays in its own. */
  part: UInt,
})
export type UsageHeader = Static<typeof UsageHeader>

export const USAGE_LAYOUT = {
  account: 'bytes',
  /** SHA-256 of the key. */
  tokenHash: 'bytes32',
  /** Protocol and network with a slash between them. */
  place: 'bytes',
  method: 'bytes',
  /** HTTP's. */
  status: 'u32',
  calls: 'u32',
  /** Units of the plan that they have cost. */
  billed: 'u32',
  requestBytes: 'u64',
  answerBytes: 'u64',
  /** What was told over WebSocket without being asked. */
  pushes: 'u32',
  /** Of all calls together, microseconds. */
  timeUs: 'u64',
  /** Calls by how long they took: `TIME_BUCKETS` numbers of 32 bits, little-endian. */
  times: 'bytes',
} as const
export type UsageData = Packed<UsageHeader, typeof USAGE_LAYOUT>

/**
 * What a process has counted of a minute, all of it as it stands: the newest of a key has what the former ones had, which may be dropped.
 * Key: writer, minute and part; id `usage.counted:<key>:<how often it was told>`.
 */
export const usageCounted = packedEvent(
  { name: 'usage.counted', version: 1, topic: 'usage', bytesMax: DEFAULT_TOPIC_EVENT_BYTES_MAX },
  UsageHeader,
  USAGE_LAYOUT,
)
