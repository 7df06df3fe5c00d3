import { type Static, Type } from 'typebox'
import { jsonEvent } from './codec.ts'
import { Chain } from './fields.ts'

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

/** The log's identity: of several, the first counts; id `log.made:<log id>`. */
export const logMade = jsonEvent({ name: 'log.made', version: 1, topic: 'log' }, LogMade)

/** A chain whose events no longer count; id `log.chain-removed:<chain>:<time>`. */
export const chainRemoved = jsonEvent({ name: 'log.chain-removed', version: 1, topic: 'log' }, ChainRemoved)
