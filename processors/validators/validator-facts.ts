import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { depositContractTold } from '../../schemas/events/deposit-contract.ts'
import { type Projected, versionOf } from '../loop/rows.ts'
import { projectIdentities } from './identities.ts'

/** What one event of `validators` becomes. */
export function projectValidatorFact(stored: StoredEvent, unnamedChain: string): Projected {
  if (stored.event.type !== depositContractTold.name) return projectIdentities(stored, unnamedChain)
  const { chain, address } = decodeEvent(depositContractTold, stored.event)
  const columns = { chain: [chain], address: [address], version: BigUint64Array.of(versionOf(stored.position)) }
  return { rows: [{ table: 'deposit_contracts', columns }], touched: { kind: 'deposit contract', chain } }
}
