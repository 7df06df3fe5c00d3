import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import type { ApiParts } from '../../api/http/api-parts.ts'
import type { ApiChain } from '../../api/http/chain-path.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { DEFAULT_UNFUNDED_RULES } from '../../schemas/validator-lifecycle.ts'
import { openEmptyWarehouse } from '../empty-warehouse.ts'
import { noJobs } from '../unit/no-jobs.ts'
import { insertRows } from './api-fixture.ts'

// An API over tables that a test fills itself, for what is no matter of validators.

/** Of the account `demo`. */
export const TOKEN = 'token-of-demo'

export interface GivenApi extends AsyncDisposable {
  readonly warehouse: Warehouse
  /** Errors that the API has logged. */
  readonly logged: string[]
  /** The API's parts over the tables. */
  partsOf(chains: readonly ApiChain[]): ApiParts
}

/** A warehouse with one access token, and with empty tables in a folder that goes with it, unless one is named that stays. */
export async function openGivenApi(kept?: string): Promise<GivenApi> {
  const directory = kept ?? (await mkdtemp(join(tmpdir(), 'epochline-given-api-')))
  const warehouse = await openEmptyWarehouse(directory)
  await insertRows(warehouse, 'access_tokens', [
    { token_hash: hashToken(TOKEN), account: 'demo', version: 1, is_deleted: 0 },
  ])
  const logged: string[] = []
  return {
    warehouse,
    logged,
    partsOf: (chains) => ({
      warehouse,
      jobs: noJobs,
      unfundedRules: DEFAULT_UNFUNDED_RULES,
      chains: () => chains,
      log: pino({ level: 'error' }, { write: (line: string) => logged.push(line) }),
      now: () => 0,
      wallNow: () => 0,
      health: () => Promise.reject(new Error('not asked')),
      accountsKnown: async () => true,
      tablesWhole: async () => true,
    }),
    async [Symbol.asyncDispose]() {
      await warehouse[Symbol.asyncDispose]()
      if (kept === undefined) await rm(directory, { recursive: true, force: true })
    },
  }
}
