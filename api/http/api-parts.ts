import type { Log } from '../../infra/ports/log.ts'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import type { ApiChain } from './chain-path.ts'
import type { Health } from './health.ts'

/** What the API is made from; every family's plugin gets it. */
export interface ApiParts {
  readonly warehouse: WarehouseReader
  /** The chains that are served now: asked at each request, for they may be added and removed meanwhile. */
  readonly chains: () => readonly ApiChain[]
  /** Origins of pages that may ask from a browser, `*` for all; without them none may. */
  readonly corsOrigins?: readonly string[]
  readonly log: Log
  /** Unix milliseconds. */
  readonly now: () => number
  readonly health: () => Promise<Health>
}
