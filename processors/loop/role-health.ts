import type { StoredEvent } from '../../infra/ports/event-log.ts'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { VAULT_KEY, type VaultState, vaultStateTold } from '../../schemas/events/vault-state.ts'
import { type Projected, versionOf } from './rows.ts'

/** What one event of `roles` becomes. */
export function projectRoleHealth({ event, position }: StoredEvent): Projected {
  const { state, since, fault, missing } = decodeEvent(vaultStateTold, event)
  const columns = {
    part: [VAULT_KEY],
    state: [state],
    since: Uint32Array.of(secOf(since)),
    told_at: Uint32Array.of(secOf(event.time)),
    fault: [fault],
    missing: Uint32Array.of(missing.count),
    missing_named: [missing.pubkeys.join(',')],
    version: BigUint64Array.of(versionOf(position)),
  }
  return { rows: [{ table: 'role_health', columns }] }
}

function secOf(instant: string): number {
  return Math.floor(Date.parse(instant) / 1_000)
}

/** What was last said of the key vault. */
export interface ToldVault {
  readonly state: VaultState['state']
  /** Unix seconds. */
  readonly sinceSec: number
  /** When it was said: Unix seconds. */
  readonly toldSec: number
  /** Empty where nothing is wrong. */
  readonly fault: string
  readonly missing: VaultState['missing']
}

interface HealthRow {
  readonly state: VaultState['state']
  readonly since_sec: number
  readonly told_sec: number
  readonly fault: string
  readonly missing: number
  readonly missing_named: string
}

const HEALTH = `
  SELECT toString(state) AS state, toUnixTimestamp(since) AS since_sec, toUnixTimestamp(told_at) AS told_sec, fault, missing, missing_named
  FROM role_health FINAL WHERE part = {part:String}`

/** Undefined where nobody ever had one. */
export async function toldVault(warehouse: WarehouseReader): Promise<ToldVault | undefined> {
  const [row] = await warehouse.query<HealthRow>(HEALTH, { part: VAULT_KEY })
  if (row === undefined) return undefined
  const pubkeys = row.missing_named === '' ? [] : row.missing_named.split(',')
  const { state, since_sec: sinceSec, told_sec: toldSec, fault, missing: count } = row
  return { state, sinceSec, toldSec, fault, missing: { count, pubkeys } }
}
