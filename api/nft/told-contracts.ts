import { ADDRESS_BYTES } from '../../schemas/events/execution-block.ts'
import { textSql } from '../../schemas/tables/literals.ts'
import { hexKeys, lookUpKeys } from '../http/lookups.ts'
import type { NftPin } from './asking.ts'
import type { KeptTold } from './kept-told.ts'
import type { Standard } from './metadata.ts'
import { foundOnce, isNewer, type Versioned } from './newest-rows.ts'

/** What a contract said of itself when it was read last. */
export interface ToldContract {
  readonly name: string | null
  readonly symbol: string | null
  readonly type: '' | Standard | 'UNKNOWN'
  readonly total_supply: string | null
  /** Without `0x`; zeros: unknown. */
  readonly deployer: string
  /** -1: unknown. */
  readonly deploy_block: string
  /** Why one of the two, or both, are unknown; empty where neither is. */
  readonly deploy_reason: string
  readonly read_sec: number
  /** It was read after this block. */
  readonly block: string | number
  /** Of the row that was written last. */
  readonly version: string
}

/** Where contracts are looked up; without a standing nothing is kept. */
export type ContractTables = Pick<NftPin, 'warehouse' | 'chain'> & {
  readonly standing?: { readonly toldContracts: KeptTold<ToldContract> }
}

interface ContractRow extends Versioned {
  readonly address: string
  /** JSON. */
  readonly told: string
}

/** By address, those that were read. */
export async function selectContracts(
  { warehouse, chain, standing }: ContractTables,
  contracts: readonly string[],
): Promise<ReadonlyMap<string, ToldContract>> {
  const told = new Map<string, ToldContract>()
  const unknown: string[] = []
  for (const contract of new Set(contracts)) {
    const known = standing?.toldContracts.of(contract)
    if (known === undefined) unknown.push(contract)
    else if (known !== null) told.set(contract, known)
  }
  if (unknown.length === 0) return told
  const rows = await lookUpKeys<ContractRow>(
    warehouse,
    `SELECT hex(contract) AS address, told, version FROM nft_contracts
     WHERE chain = ${textSql(chain)} AND contract IN (${hexKeys(ADDRESS_BYTES)})`,
    unknown.map((one) => one.slice(2)).join(''),
  )
  const newest = foundOnce(rows, newestOfContracts)
  for (const contract of unknown) {
    const row = newest.get(contract)
    const own = row === undefined ? null : toContract(row)
    standing?.toldContracts.keep(contract, own, (own?.name?.length ?? 0) + (own?.symbol?.length ?? 0))
    if (own !== null) told.set(contract, own)
  }
  return told
}

/** Not a copy: a page has a hundred. */
function toContract({ told, version }: ContractRow): ToldContract {
  return Object.assign(JSON.parse(told), { version })
}

/** Of each contract the row that was written last. */
function newestOfContracts(rows: readonly ContractRow[]): ReadonlyMap<string, ContractRow> {
  const newest = new Map<string, ContractRow>()
  for (const row of rows) {
    const contract = `0x${row.address.toLowerCase()}`
    if (isNewer(row, newest.get(contract))) newest.set(contract, row)
  }
  return newest
}
