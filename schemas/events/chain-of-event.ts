import { chainOfKey } from '../chains.ts'
import type { EncodedEvent } from './codec.ts'

/** Types whose first version did not name the chain: a log held one chain then. */
const UNNAMED_IN_VERSION_1: ReadonlySet<string> = new Set([
  'beacon.block',
  'beacon.missed-slot',
  'beacon.block-reverted',
  'execution.block',
  'execution.block-reverted',
  'beacon.epoch-validators',
  'beacon.day-balances',
  'beacon.epoch-blocks',
  'validator.identified',
  'ingest.cursor',
])

/** The chain of an event of a chain's topic, told by its envelope: undecodable events have one too. */
export function chainOfEvent({ type, version, key }: EncodedEvent, unnamedChain: string): string {
  return version === 1 && UNNAMED_IN_VERSION_1.has(type) ? unnamedChain : chainOfKey(key)
}
