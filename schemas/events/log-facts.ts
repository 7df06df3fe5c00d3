import { type Static, Type } from 'typebox'
import { dayBalances, epochBlocks } from './beacon-epoch.ts'
import { jsonEvent } from './codec.ts'
import type { Position } from './envelope.ts'
import { Chain, UInt } from './fields.ts'

/** Key of every fact about the log itself: which was first has to be told. */
export const LOG_FACTS_KEY = 'log'

const LogMade = Type.Object({
  /** Random; what a warehouse remembers of the log that it was filled from. */
  logId: Type.String({ pattern: '^[0-9a-f-]{36}$' }),
  /** The chain of events from before events named theirs. */
  unnamedChain: Chain,
})
export type LogMade = Static<typeof LogMade>

/** Offsets as decimal text, by topic and partition. */
const OffsetsByTopic = Type.Record(Type.String(), Type.Record(Type.String(), Type.String({ pattern: '^[0-9]+$' })))

const ChainRemoved = Type.Object({
  chain: Chain,
  /** Events of the chain before these offsets no longer count; those behind belong to a chain that was added again. */
  before: OffsetsByTopic,
})
export type ChainRemoved = Static<typeof ChainRemoved>

const EpochsRetracted = Type.Object({
  chain: Chain,
  /** Finalized epochs from this one on; its first slot. */
  fromEpoch: UInt,
  fromSlot: UInt,
  /** Day number (UTC+8) of the slot before: the first day whose figures rest on one of these epochs. */
  fromDay: UInt,
  /** By partition of `beacon.epochs`: only events before these offsets no longer count. */
  before: Type.Record(Type.String(), Type.String({ pattern: '^[0-9]+$' })),
})
export type EpochsRetracted = Static<typeof EpochsRetracted>

/** The log's identity: of several, the first counts; id `log.made:<log id>`. */
export const logMade = jsonEvent({ name: 'log.made', version: 1, topic: 'log' }, LogMade)

/** A chain whose events no longer count; id `log.chain-removed:<chain>:<time>`. */
export const chainRemoved = jsonEvent({ name: 'log.chain-removed', version: 1, topic: 'log' }, ChainRemoved)

/**
 * Epochs of a chain that were not those of its final chain: their events no longer count, and the chain's ingester reads them
 * again; id `log.epochs-retracted:<chain>:<epoch>:<time>`.
 */
export const epochsRetracted = jsonEvent({ name: 'log.epochs-retracted', version: 1, topic: 'log' }, EpochsRetracted)

/** Whether an event of the chain's `beacon.epochs` is one of those. Told by its name alone: its data may be unreadable. */
export function isRetracted(
  { fromEpoch, fromDay, before }: EpochsRetracted,
  { type, id }: { readonly type: string; readonly id: string },
  { partition, offset }: Position,
): boolean {
  if (offset >= BigInt(before[String(partition)] ?? 0)) return false
  const numbers = id.split(':')
  if (type === epochBlocks.name) return Number(numbers.at(-1)) >= fromEpoch
  if (type === dayBalances.name) return Number(numbers.at(-2)) > fromDay
  return Number(numbers.at(-2)) >= fromEpoch
}
