import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { validatorsIdentified } from '../../schemas/events/validators.ts'
import { constantColumn, type TableRows, versionOf } from '../loop/rows.ts'

/** Rows of one event of `validators`. */
export function identityRows(stored: StoredEvent): readonly TableRows[] {
  const { validators } = decodeEvent(validatorsIdentified, stored.event)
  return [
    {
      table: 'validators',
      columns: {
        validator_index: Uint32Array.from(validators, (v) => v.index),
        pubkey: validators.map((v) => v.pubkey),
        withdrawal_credentials: validators.map((v) => v.withdrawalCredentials),
        version: constantColumn(validators.length, versionOf(stored.position)),
      },
    },
  ]
}
