import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import type { Hex } from '../../schemas/eth/hex.ts'
import type { TokenStandard } from '../../schemas/eth/nft-transfers.ts'
import { bytesSql } from '../../schemas/tables/literals.ts'
import { REVERTED_SQL } from '../../schemas/tables/reverted-blocks.ts'
import type { ContractType, Deployed } from './read-contract.ts'

// What the tables say is to be read. Addresses are compared with literals, which the index is used for.

/** Of changes of one contract only the newest are told apart: those before them count as changes of all its tokens. */
const CHANGES_MAX = 100

const LAST_TOKEN: Hex = `0x${'ff'.repeat(32)}`
/** Rows of tokens of one contract that are looked at together: few where unread ones follow each other, more where none were found. */
const PAGE_ROWS_FIRST = 1_000
const PAGE_GROWTH = 8
const PAGE_ROWS_MAX = 64_000

export interface ContractPlace {
  readonly chain: string
  readonly contract: string
}

export interface UnreadToken {
  readonly tokenId: Hex
  readonly standard: TokenStandard
  readonly attempts: number
}

interface TokenRow {
  readonly token: string
  readonly standard: TokenStandard
  readonly attempts: number
}

const toToken = ({ token, standard, attempts }: TokenRow): UnreadToken => ({
  tokenId: `0x${token}`,
  standard,
  attempts,
})

/** A way over the tokens of a contract by their ids: from `after` to the last one, then from the first one to `after`. */
export interface Walk {
  /** The walk begins behind this token, and with the first one where there is none. */
  readonly after: Hex | undefined
  /** So many tokens end it; fewer are all that there are. */
  readonly limit: number
}

/** Tokens that nobody has read, those that are due again, and those that came or went since they could not be read. */
export async function unreadTokens(
  warehouse: WarehouseReader,
  place: ContractPlace,
  walk: Walk & { readonly nowSec: number },
): Promise<readonly UnreadToken[]> {
  return await walked(warehouse, place, walk, (page, limit) =>
    unreadOf(warehouse, place, page, { nowSec: walk.nowSec, limit }),
  )
}

/** What `find` finds in one page after the other. */
async function walked(
  warehouse: WarehouseReader,
  place: ContractPlace,
  { after, limit }: Walk,
  find: (page: TokenRange, limit: number) => Promise<readonly UnreadToken[]>,
): Promise<readonly UnreadToken[]> {
  const found: UnreadToken[] = []
  const toEnd: TokenRange = { after, to: LAST_TOKEN }
  let rows = PAGE_ROWS_FIRST
  for (let range of after === undefined ? [toEnd] : [toEnd, { after: undefined, to: after }])
    while (found.length < limit) {
      const page = await pageOf(warehouse, place, range, rows)
      found.push(...(await find(page, limit - found.length)))
      if (page.to === range.to) break
      range = { after: page.to, to: range.to }
      rows = Math.min(PAGE_GROWTH * rows, PAGE_ROWS_MAX)
    }
  return found
}

/** Tokens of a contract, by their ids. */
interface TokenRange {
  /** The last one that is not in it. */
  readonly after: Hex | undefined
  readonly to: Hex
}

/** The beginning of a range, of so many rows of `nft_tokens` and what is left of their last token. */
async function pageOf(
  warehouse: WarehouseReader,
  place: ContractPlace,
  range: TokenRange,
  rows: number,
): Promise<TokenRange> {
  const [last] = await warehouse.query<{ token: string }>(
    `SELECT lower(hex(token_id)) AS token FROM nft_tokens WHERE ${rangeSql(place, range)}
     ORDER BY chain, contract, token_id LIMIT 1 OFFSET {rows:UInt32}`,
    { chain: place.chain, rows: rows - 1 },
  )
  return last === undefined ? range : { ...range, to: `0x${last.token}` }
}

function rangeSql({ contract }: ContractPlace, { after, to }: TokenRange): string {
  const place = `chain = {chain:String} AND contract = unhex('${contract.slice(2)}')`
  const begin = after === undefined ? '' : ` AND token_id > ${bytesSql(after.slice(2))}`
  return `${place}${begin} AND token_id <= ${bytesSql(to.slice(2))}`
}

async function unreadOf(
  warehouse: WarehouseReader,
  at: ContractPlace,
  range: TokenRange,
  { nowSec, limit }: { readonly nowSec: number; readonly limit: number },
): Promise<readonly UnreadToken[]> {
  const place = rangeSql(at, range)
  const rows = await warehouse.query<TokenRow>(
    `WITH failed AS (
       SELECT token_id, attempts, block_number AS read FROM nft_token_states FINAL WHERE ${place} AND error != ''
     )
     SELECT lower(hex(t.token_id)) AS token, toString(t.standard) AS standard, s.attempts AS attempts
     FROM (
       SELECT token_id, standard FROM nft_tokens WHERE ${place} AND (token_id NOT IN (
         SELECT token_id FROM nft_token_states FINAL
         WHERE ${place} AND (error = '' OR next_retry > toDateTime({nowSec:UInt32}))
       ) OR token_id IN (
         SELECT token_id FROM nft_tokens INNER JOIN failed USING token_id WHERE ${place} AND supply_block > read
       ))
       ORDER BY token_id, version DESC LIMIT 1 BY token_id LIMIT {limit:UInt32}
     ) AS t
     LEFT JOIN failed AS s USING token_id
     ORDER BY t.token_id`,
    { chain: at.chain, nowSec, limit },
  )
  return rows.map(toToken)
}

/** Tokens that were read before the contract said that they have changed, or after a block that was reverted. */
export async function changedTokens(
  warehouse: WarehouseReader,
  place: ContractPlace,
  walk: Walk,
): Promise<readonly UnreadToken[]> {
  const changes = await newestChanges(warehouse, place)
  return await walked(warehouse, place, walk, (page, limit) =>
    changedOf(warehouse, { ...place, page }, { changes, limit }),
  )
}

/** Tokens of which a contract has said in a block that they have changed. Ids are hex. */
interface Change {
  readonly first: string
  readonly last: string
  readonly number: string
}

async function newestChanges(
  warehouse: WarehouseReader,
  { chain, contract }: ContractPlace,
): Promise<readonly Change[]> {
  const changes = await warehouse.query<Change>(
    `SELECT hex(first_id) AS first, hex(last_id) AS last, block_number AS number FROM nft_metadata_changes
     WHERE chain = {chain:String} AND contract = unhex('${contract.slice(2)}') AND event != 'ContractURIUpdated'
     ORDER BY block_number DESC LIMIT {limit:UInt32}`,
    { chain, limit: CHANGES_MAX },
  )
  const oldest = changes.length === CHANGES_MAX ? changes.at(-1) : undefined
  if (oldest === undefined) return changes
  return [...changes, { first: '00'.repeat(32), last: 'FF'.repeat(32), number: oldest.number }]
}

async function changedOf(
  warehouse: WarehouseReader,
  { page, ...at }: ContractPlace & { readonly page: TokenRange },
  { changes, limit }: { readonly changes: readonly Change[]; readonly limit: number },
): Promise<readonly UnreadToken[]> {
  const place = rangeSql(at, page)
  const rows = await warehouse.query<TokenRow>(
    `SELECT lower(hex(token_id)) AS token, toString(t.standard) AS standard, s.attempts AS attempts
     FROM (
       SELECT token_id, attempts FROM nft_token_states FINAL
       WHERE ${place} AND (block_hash IN (${REVERTED_SQL})
         OR arrayExists((first, last, number) -> token_id >= toFixedString(unhex(first), 32)
           AND token_id <= toFixedString(unhex(last), 32) AND block_number < number,
           {firsts:Array(String)}, {lasts:Array(String)}, {numbers:Array(UInt64)}))
     ) AS s
     INNER JOIN (SELECT token_id, any(standard) AS standard FROM nft_tokens WHERE ${place} GROUP BY token_id) AS t USING token_id
     ORDER BY token_id LIMIT {limit:UInt32}`,
    {
      ...{ chain: at.chain, limit },
      firsts: changes.map(({ first }) => first),
      lasts: changes.map(({ last }) => last),
      numbers: changes.map(({ number }) => Number(number)),
    },
  )
  return rows.map(toToken)
}

/** One token, where there is one. */
export async function tokenOf(
  warehouse: WarehouseReader,
  place: ContractPlace,
  tokenId: string,
): Promise<UnreadToken | undefined> {
  const [row] = await warehouse.query<Omit<TokenRow, 'attempts'>>(
    `SELECT lower(hex(token_id)) AS token, toString(standard) AS standard
     FROM nft_tokens WHERE ${placeOfToken(place, tokenId)} LIMIT 1`,
    { chain: place.chain },
  )
  return row === undefined ? undefined : toToken({ ...row, attempts: await attemptsOf(warehouse, place, tokenId) })
}

/** To read a token, that have failed since it was read last. */
export async function attemptsOf(warehouse: WarehouseReader, place: ContractPlace, tokenId: string): Promise<number> {
  const [row] = await warehouse.query<{ attempts: number }>(
    `SELECT attempts FROM nft_token_states FINAL WHERE ${placeOfToken(place, tokenId)}`,
    { chain: place.chain },
  )
  return row?.attempts ?? 0
}

const placeOfToken = ({ contract }: ContractPlace, tokenId: string): string =>
  `chain = {chain:String} AND contract = unhex('${contract.slice(2)}') AND token_id = unhex('${tokenId.slice(2)}')`

/** What is known of a contract itself; undefined of one that nobody has read. */
export interface KnownContract {
  readonly blockNumber: number
  readonly readSec: number
  readonly tokenType: ContractType
  readonly hasSupply: boolean
  /** The block that it was read after was reverted. */
  readonly isReverted: boolean
  readonly deployed: Deployed
}

export async function knownContract(
  warehouse: WarehouseReader,
  { chain, contract }: ContractPlace,
): Promise<KnownContract | undefined> {
  const [row] = await warehouse.query<{
    number: string
    read_sec: number
    type: Exclude<ContractType, null> | ''
    has_supply: number
    is_reverted: number
    deployer: string
    deploy_block: string
    deploy_reason: string
  }>(
    `SELECT block_number AS number, toUnixTimestamp(read_at) AS read_sec, toString(token_type) AS type,
       has_total_supply AS has_supply, block_hash IN (${REVERTED_SQL}) AS is_reverted, lower(hex(deployer)) AS deployer, deploy_block, toString(deploy_reason) AS deploy_reason
     FROM nft_contracts FINAL WHERE chain = {chain:String} AND contract = unhex('${contract.slice(2)}')`,
    { chain },
  )
  if (row === undefined) return undefined
  const deployed: Deployed = {
    deployer: /^0*$/.test(row.deployer) ? null : `0x${row.deployer}`,
    deployBlock: row.deploy_block === '-1' ? null : Number(row.deploy_block),
    deployReason: row.deploy_reason === '' ? null : row.deploy_reason,
  }
  const tokenType = row.type === '' ? null : row.type
  return {
    ...{ blockNumber: Number(row.number), readSec: row.read_sec, tokenType, deployed },
    ...{ hasSupply: row.has_supply === 1, isReverted: row.is_reverted === 1 },
  }
}

/** The newest block after which what a contract says of itself may be other than it was: it said so, or a token was minted or burned. */
export async function changedAt(
  warehouse: WarehouseReader,
  { chain, contract }: ContractPlace,
  { hasSupply }: Pick<KnownContract, 'hasSupply'>,
): Promise<number> {
  const place = `chain = {chain:String} AND contract = unhex('${contract.slice(2)}')`
  const supply = hasSupply ? `UNION ALL SELECT max(supply_block) FROM nft_tokens WHERE ${place}` : ''
  const rows = await warehouse.query<{ number: string }>(
    `SELECT max(block_number) AS number FROM nft_metadata_changes WHERE ${place} AND event = 'ContractURIUpdated' ${supply}`,
    { chain },
  )
  return Math.max(...rows.map(({ number }) => Number(number)))
}

/** As what tokens of a contract were moved. */
export async function movedAs(
  warehouse: WarehouseReader,
  { chain, contract }: ContractPlace,
): Promise<ReadonlySet<TokenStandard>> {
  const rows = await warehouse.query<{ standard: TokenStandard }>(
    `SELECT DISTINCT toString(standard) AS standard FROM nft_tokens
     WHERE chain = {chain:String} AND contract = unhex('${contract.slice(2)}')`,
    { chain },
  )
  return new Set(rows.map(({ standard }) => standard))
}
