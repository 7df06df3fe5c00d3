import type { StoredEvent } from '../../infra/ports/event-log.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { depositContractTold } from '../../schemas/events/deposit-contract.ts'
import { registryLookedAt } from '../../schemas/events/validators.ts'
import { type Projected, versionOf } from '../loop/rows.ts'
import { projectIdentities } from './identities.ts'

/** What one event of `validators` becomes. */
export function projectValidatorFact(stored: StoredEvent, unnamedChain: string): Projected {
  if (stored.event.type === registryLookedAt.name) return projectLook(stored)
  if (stored.event.type !== depositContractTold.name) return projectIdentities(stored, unnamedChain)
  const { chain, address } = decodeEvent(depositContractTold, stored.event)
  const columns = { chain: [chain], address: [address], version: BigUint64Array.of(versionOf(stored.position)) }
  return { rows: [{ table: 'deposit_contracts', columns }], touched: { kind: 'deposit contract', chain } }
}

/** Higher than that of any epoch. */
const NO_EPOCH = 0xffff_ffff

function projectLook({ event, position }: StoredEvent): Projected {
  const { chain, accountsThrough, fromEpoch } = decodeEvent(registryLookedAt, event)
  const columns = {
    chain: [chain],
    // As rows of this fact have it.
    accounts_version: BigUint64Array.of(versionOf({ ...position, offset: BigInt(accountsThrough) })),
    from_epoch: Uint32Array.of(fromEpoch ?? NO_EPOCH),
    version: BigUint64Array.of(versionOf(position)),
  }
  return { rows: [{ table: 'registry_looks', columns }] }
}
