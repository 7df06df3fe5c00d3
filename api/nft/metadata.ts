import { parseExactly } from '../../schemas/nft/exact-json.ts'
import type { MetadataState, NftAsset, NftContract } from '../../schemas/routes/nft/fields.ts'
import { bytesSql, textSql } from '../../schemas/tables/literals.ts'
import { KEYS, lookUpKeys } from '../http/lookups.ts'
import { tokenHex } from './amounts.ts'
import type { NftPin } from './asking.ts'
import { newestOf, type Versioned } from './newest-rows.ts'
import { selectContracts, type ToldContract } from './told-contracts.ts'

// What contracts and tokens say of themselves, as it was read last: the block of the question does not matter here.

/** Of a list of tokens, longer documents, media and attributes are left out: a page of them would be fifty megabytes. */
const LISTED_CHARACTERS_MAX = 32_768

export type Standard = 'ERC721' | 'ERC1155'

export interface ContractOfToken {
  readonly contract: string
  /** As its logs tell; null where there are none. */
  readonly standard: Standard | null
}

export interface Token extends ContractOfToken {
  /** Decimal. */
  readonly tokenId: string
}

/** What is said of a token, and when it was read: Unix seconds, 0 for never. */
export interface SaidOfToken {
  readonly asset: Omit<NftAsset, 'contract'>
  /** Its document. */
  readonly documentSec: number
  /** Its contract was asked for it. */
  readonly askedSec: number
}

export interface ToldToken extends SaidOfToken {
  readonly asset: NftAsset
}

function noState(withMetadata: boolean, standard: Standard | null): MetadataState {
  // What was ever moved is read.
  const status = withMetadata ? (standard === null ? 'not_fetched' : 'pending') : 'left_out'
  return { status, error: null, attempts: 0, last_attempt: null, next_retry: null }
}

/** Of each contract, in the order of the question. */
export async function contractsMetadata(
  scope: NftPin,
  contracts: readonly ContractOfToken[],
  withMetadata: boolean,
): Promise<readonly NftContract[]> {
  const known = withMetadata
    ? await selectContracts(
        scope,
        contracts.map(({ contract }) => contract),
      )
    : new Map<string, ToldContract>()
  return contracts.map((one) => toContract(one, known.get(one.contract), withMetadata))
}

export function toContract(
  { contract, standard }: ContractOfToken,
  told: ToldContract | undefined,
  withMetadata: boolean,
): NftContract {
  return {
    contract_address: contract,
    name: told?.name ?? null,
    symbol: told?.symbol ?? null,
    token_type: told === undefined || told.type === '' ? standard : told.type,
    total_supply: told?.total_supply ?? null,
    total_supply_block_number: told === undefined || told.total_supply === null ? null : Number(told.block),
    deployer: told === undefined || /^0*$/.test(told.deployer) ? null : `0x${told.deployer}`,
    deploy_block_number: told === undefined || told.deploy_block === '-1' ? null : Number(told.deploy_block),
    metadata_state:
      told === undefined
        ? noState(withMetadata, standard)
        : { status: 'fetched', error: null, attempts: 0, last_attempt: told.read_sec, next_retry: null },
  }
}

const hexOf = (address: string): string => address.slice(2)

interface TokenRow extends Versioned {
  readonly address: string
  readonly token: string
}

interface StateRow extends TokenRow {
  readonly token_uri: string
  readonly has_token_uri: number
  readonly error: string
  readonly attempts: number
  readonly read_sec: number
  readonly retry_sec: number
}

interface DocumentRow extends TokenRow {
  readonly json: string
  readonly title: string
  readonly has_title: number
  readonly description: string
  readonly has_description: number
  readonly media: string
  readonly media_type: string
  readonly media_external: string
  readonly attributes: string
  readonly read_sec: number
}

const keyOf = ({ address, token }: Pick<TokenRow, 'address' | 'token'>): string => `${address} ${token}`.toLowerCase()

interface TokenTable {
  readonly table: string
  readonly columns: string
}

/** The newest row of each token, by contract and token. */
async function selectTokens<Row extends TokenRow>(
  { warehouse, chain }: NftPin,
  tokens: readonly Token[],
  { table, columns }: TokenTable,
): Promise<ReadonlyMap<string, Row>> {
  if (tokens.length === 0) return new Map()
  const pairs = tokens.map(({ contract, tokenId }) => `(${bytesSql(hexOf(contract))}, ${bytesSql(tokenHex(tokenId))})`)
  const rows = await lookUpKeys<Row>(
    warehouse,
    `SELECT hex(contract) AS address, hex(token_id) AS token, toUnixTimestamp(read_at) AS read_sec, version, ${columns}
     FROM ${table} WHERE chain = ${textSql(chain)} AND (contract, token_id) IN (${KEYS})`,
    [...new Set(pairs)].join(', '),
  )
  return newestOf(rows, keyOf)
}

const STATE = {
  table: 'nft_token_states',
  columns: 'token_uri, has_token_uri, error, attempts, toUnixTimestamp(next_retry) AS retry_sec',
}

function documentColumns(isList: boolean) {
  const long = (column: string) =>
    isList ? `if(length(${column}) > ${LISTED_CHARACTERS_MAX}, '', ${column}) AS ${column}` : column
  const columns = ['json', 'media', 'media_external', 'attributes'].map(long).join(', ')
  return {
    table: 'nft_documents',
    columns: `${columns}, title, has_title, description, has_description, media_type`,
  }
}

/** Of each token, in the order of the question. */
export async function toldTokens(
  scope: NftPin,
  tokens: readonly Token[],
  withMetadata: boolean,
): Promise<readonly ToldToken[]> {
  const [contracts, said] = await Promise.all([
    contractsMetadata(scope, tokens, withMetadata),
    saidOfTokens(scope, tokens, withMetadata),
  ])
  return said.map(({ asset, ...read }, i) => ({ ...read, asset: { ...asset, contract: contracts[i] as NftContract } }))
}

/** The same without what their contracts say of themselves. */
export async function saidOfTokens(
  scope: NftPin,
  tokens: readonly Token[],
  withMetadata: boolean,
): Promise<readonly SaidOfToken[]> {
  const asked = withMetadata ? tokens : []
  const [states, documents] = await Promise.all([
    selectTokens<StateRow>(scope, asked, STATE),
    selectTokens<DocumentRow>(scope, asked, documentColumns(asked.length > 1)),
  ])
  return tokens.map((token) => {
    const key = keyOf({ address: hexOf(token.contract), token: tokenHex(token.tokenId) })
    const [state, document] = [states.get(key), documents.get(key)]
    const asset = {
      contract_address: token.contract,
      token_id: token.tokenId,
      token_type: token.standard,
      token_uri: state?.has_token_uri === 1 ? state.token_uri : null,
      metadata_json: textOf(document?.json),
      metadata: {
        title: document?.has_title === 1 ? document.title : null,
        description: document?.has_description === 1 ? document.description : null,
        media: textOf(document?.media),
        media_type: textOf(document?.media_type),
        media_external: textOf(document?.media_external),
        // Its numbers stay as they are written, through `JSON.stringify`.
        attributes: document === undefined || document.attributes === '' ? null : parseExactly(document.attributes),
      },
      error: textOf(state?.error),
      metadata_state: state === undefined ? noState(withMetadata, token.standard) : toState(state),
    }
    return { asset, documentSec: document?.read_sec ?? 0, askedSec: state?.read_sec ?? 0 }
  })
}

export async function tokensMetadata(
  scope: NftPin,
  tokens: readonly Token[],
  withMetadata: boolean,
): Promise<readonly NftAsset[]> {
  return (await toldTokens(scope, tokens, withMetadata)).map(({ asset }) => asset)
}

const textOf = (text: string | undefined): string | null => (text === undefined || text === '' ? null : text)

function toState({ error, attempts, read_sec, retry_sec }: StateRow): MetadataState {
  return {
    status: error === '' ? 'fetched' : 'failed',
    error: textOf(error),
    attempts,
    last_attempt: read_sec,
    // What nobody saw moved is not tried again by itself.
    next_retry: error === '' || retry_sec === 0 ? null : retry_sec,
  }
}

/** The block that a contract begins with; undefined where nobody knows. */
export async function contractBeginning(scope: NftPin, contract: string): Promise<number | undefined> {
  const row = (await selectContracts(scope, [contract])).get(contract)
  return row === undefined || row.deploy_block === '-1' ? undefined : Number(row.deploy_block)
}
