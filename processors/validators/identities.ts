import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { validatorsIdentified } from '../../schemas/events/validators.ts'
import { constantColumn, type Projected, textColumn, versionOf } from '../loop/rows.ts'

/** What one event that names validators becomes. */
export function projectIdentities(stored: StoredEvent, unnamedChain: string): Projected {
  const { chain, validators } = decodeEvent(validatorsIdentified, stored.event, unnamedChain)
  const pubkeys = validators.map((v) => v.pubkey)
  const version = versionOf(stored.position)
  const columns = {
    chain: textColumn(validators.length, chain),
    validator_index: Uint32Array.from(validators, (v) => v.index),
    pubkey: pubkeys,
    withdrawal_credentials: validators.map((v) => v.withdrawalCredentials),
    version: constantColumn(validators.length, version),
  }
  const touched = { kind: 'proposers', chain, pubkeys, rows: { table: 'validators', version } } as const
  return { rows: [{ table: 'validators', columns }], touched }
}
