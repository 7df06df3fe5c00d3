import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import type { Hex } from '../../schemas/eth/hex.ts'
import type { TokenStandard } from '../../schemas/eth/nft-transfers.ts'
import { REVERTED_SQL } from '../../schemas/tables/reverted-blocks.ts'
import type { ContractType, Deployed } from './read-contract.ts'

// What the tables say is to be read. Addresses are compared with literals, which the index is used for.

/** Of changes of one contract only the newest are told apart: those before them count as changes of all its tokens. */
const CHANGES_MAX = 100

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

/** Tokens that nobody has read, in their order, those that are due again, and those that came or went since they could not be read. */
export async function unreadTokens(
  warehouse: WarehouseReader,
  { chain, contract }: ContractPlace,
  { nowSec, limit }: { readonly nowSec: number; readonly limit: number },
): Promise<readonly UnreadToken[]> {
  const place = `chain = {chain:String} AND contract = unhex('${contract.slice(2)}')`
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
    { chain, nowSec, limit },
  )
  return rows.map(toToken)
}

/** Tokens that were read before the contract said that they have changed, or after a block that was reverted: those first that were read longest ago. */
export async function changedTokens(
  warehouse: WarehouseReader,
  { chain, contract }: ContractPlace,
  limit: number,
): Promise<readonly UnreadToken[]> {
  const place = `chain = {chain:String} AND contract = unhex('${contract.slice(2)}')`
  const changes = await warehouse.query<{ first: string; last: string; number: string }>(
    `SELECT hex(first_id) AS first, hex(last_id) AS last, block_number AS number FROM nft_metadata_changes
     WHERE ${place} AND event != 'ContractURIUpdated' ORDER BY block_number DESC LIMIT {limit:UInt32}`,
    { chain, limit: CHANGES_MAX },
  )
  const oldest = changes.at(-1)
  if (oldest !== undefined && changes.length === CHANGES_MAX)
    changes.push({ first: '00'.repeat(32), last: 'FF'.repeat(32), number: oldest.number })
  const rows = await warehouse.query<TokenRow>(
    `SELECT lower(hex(token_id)) AS token, toString(t.standard) AS standard, s.attempts AS attempts
     FROM (
       SELECT token_id, attempts, block_number FROM nft_token_states FINAL
       WHERE ${place} AND (block_hash IN (${REVERTED_SQL})
         OR arrayExists((first, last, number) -> token_id >= toFixedString(unhex(first), 32)
           AND token_id <= toFixedString(unhex(last), 32) AND block_number < number,
           {firsts:Array(String)}, {lasts:Array(String)}, {numbers:Array(UInt64)}))
       ORDER BY block_number, token_id LIMIT {limit:UInt32}
     ) AS s
     INNER JOIN (SELECT token_id, any(standard) AS standard FROM nft_tokens WHERE ${place} GROUP BY token_id) AS t USING token_id
     ORDER BY s.block_number, s.token_id`,
    {
      ...{ chain, limit },
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
