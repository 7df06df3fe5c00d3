/** Topics of the event log. One topic holds few event types; ARCHITECTURE.md lists who writes and who reads each. */
export const TOPICS = [
  'beacon.blocks',
  'beacon.epochs',
  'execution.blocks',
  'execution.logs',
  'nft.metadata',
  'validators',
  'accounts',
  'webhooks',
  'ingest.cursors',
  'dead-letters',
  'log',
  'roles',
  'users',
  'usage',
] as const

export type Topic = (typeof TOPICS)[number]

/** Topics whose events belong to no chain, or name it in their data only. */
export const CHAINLESS_TOPICS: ReadonlySet<Topic> = new Set<Topic>([
  'accounts',
  'webhooks',
  'dead-letters',
  'log',
  'roles',
  'users',
  'usage',
])

/** Topics of which only the newest event of a key has to be kept: an adapter may drop the older ones. */
export const COMPACTED_TOPICS: ReadonlySet<Topic> = new Set<Topic>(['ingest.cursors', 'roles', 'users', 'usage'])

/** A fact of the log. `Name` fixes the shape of `data`; the codec of each type lies beside its definition. */
export interface Envelope<Name extends string = string, Data = unknown> {
  /** From chain identity ("beacon.block:0x8f…"), never random for chain facts: ingesting twice gives the same id. */
  readonly id: string
  readonly type: Name
  readonly version: number
  /** Ordering key: events of one topic with one key are delivered in append order. */
  readonly key: string
  /** Chain time (or the request's time for operator facts), ISO 8601 UTC; never the ingester's clock. */
  readonly time: string
  readonly data: Data
}

/**
 * Place of an event in its topic. `version` grows with every append to the same key and is what rows carry
 * (ReplacingMergeTree), so a replay of the same log writes the same versions.
 */
export interface Position {
  readonly partition: number
  readonly offset: bigint
}
