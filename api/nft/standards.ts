import { bytesSql } from '../../schemas/tables/literals.ts'
import { lookUpMany } from '../http/lookups.ts'
import { tokenHex } from './amounts.ts'
import type { NftPin } from './asking.ts'
import { foldSql } from './literals.ts'
import type { Standard, Token } from './metadata.ts'
import { inList, LISTS, orderOf } from './transfer-rows.ts'

// What logs tell that contracts and tokens are. Reverted blocks count here, too: a contract does not become another one with them.

/** Rows of tokens that are looked at together. */
const LOOKED_AT_MAX = 16_000
const READ_ROWS = 1_024

/** A contract; `standard` where the row that led to it has told it. */
export interface AskedContract {
  readonly contract: string
  readonly standard?: Standard | null
}

export interface AskedToken extends AskedContract {
  /** Decimal. */
  readonly tokenId: string
}

/** The tokens with what they are; null where there are no logs of them. */
export async function withStandards(scope: NftPin, asked: readonly AskedToken[]): Promise<readonly Token[]> {
  const untold = asked.filter(({ standard }) => standard === undefined)
  const standards = await standardsOfTokens(scope, untold)
  return asked.map(({ contract, tokenId, standard = standards.get(keyOf({ contract, tokenId })) ?? null }) => ({
    contract,
    tokenId,
    standard,
  }))
}

const keyOf = ({ contract, tokenId }: AskedToken): string => `${contract.slice(2)} ${tokenHex(tokenId)}`

/** By address: what the first transfer of its tokens was of, so that none which comes later makes it another one. */
export function standardsOfContracts(
  scope: NftPin,
  contracts: readonly string[],
): Promise<ReadonlyMap<string, Standard>> {
  return lookUpEach(
    scope,
    contracts.map((contract) => [
      contract,
      `${LISTS} WHERE ${foldSql(scope)} AND ${inList('contract', contract.slice(2))} ORDER BY ${orderOf(true)}`,
    ]),
  )
}

interface Row {
  readonly key: string
  readonly standard: Standard
  readonly looked_at: string
}

/** By `keyOf`: those that a stretch of the table has are found together, and others each at its place. */
async function standardsOfTokens(scope: NftPin, tokens: readonly AskedToken[]): Promise<ReadonlyMap<string, Standard>> {
  if (tokens.length === 0) return new Map()
  const places = new Map(tokens.map((token) => [keyOf(token), token]))
  const pairs = [...places.values()].map(
    ({ contract, tokenId }) => `(${bytesSql(contract.slice(2))}, ${bytesSql(tokenHex(tokenId))})`,
  )
  const rows = await scope.warehouse.query<Row>(
    `SELECT concat(lower(hex(contract)), ' ', lower(hex(token_id))) AS key, min(toString(standard)) AS standard,
       toString(sum(count()) OVER ()) AS looked_at
     FROM (
       SELECT contract, token_id, standard FROM nft_token_holders
       WHERE ${foldSql(scope)} AND (contract, token_id) IN (${pairs.join(', ')})
       ORDER BY contract, token_id, standard, holder, block_number LIMIT ${LOOKED_AT_MAX}
     )
     GROUP BY contract, token_id
     SETTINGS max_block_size = ${READ_ROWS}, read_in_order_use_buffering = 0, max_threads = 1`,
  )
  const found = new Map(rows.map(({ key, standard }) => [key, standard]))
  if (Number(rows[0]?.looked_at ?? 0) < LOOKED_AT_MAX) return found
  const others = [...places].filter(([key]) => !found.has(key))
  const rowsOf = others.map(
    ([key, { contract, tokenId }]) =>
      [
        key,
        `nft_token_holders WHERE ${foldSql(scope)} AND contract = ${bytesSql(contract.slice(2))} AND token_id = ${bytesSql(tokenHex(tokenId))}`,
      ] as const,
  )
  return new Map([...found, ...(await lookUpEach(scope, rowsOf))])
}

/** The standard of the first of some rows, each at their place in the order of their table. */
async function lookUpEach(
  scope: NftPin,
  places: readonly (readonly [key: string, rows: string])[],
): Promise<ReadonlyMap<string, Standard>> {
  const selects = places.map(([, rows]) => `SELECT toString(standard) AS standard FROM ${rows} LIMIT 1`)
  const found = await lookUpMany<Pick<Row, 'standard'>>(scope.warehouse, selects)
  const standards = new Map<string, Standard>()
  for (const [i, [key]] of places.entries()) {
    const first = found[i]?.[0]
    if (first !== undefined) standards.set(key, first.standard)
  }
  return standards
}
