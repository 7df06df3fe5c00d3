import { parseExactly } from '../../schemas/nft/exact-json.ts'
import type { ToldState } from '../../schemas/nft/told-token.ts'
import type { MetadataState, NftAsset, NftContract } from '../../schemas/routes/nft/fields.ts'
import type { NftPin } from './asking.ts'
import { selectContracts, type ToldContract } from './told-contracts.ts'
import { selectTokens } from './told-tokens.ts'

// What contracts and tokens say of themselves, as it was read last: the block of the question does not matter here.

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

export interface ToldAsset extends SaidOfToken {
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
    deploy_reason: told === undefined || told.deploy_reason === '' ? null : told.deploy_reason,
    metadata_state:
      told === undefined
        ? noState(withMetadata, standard)
        : { status: 'fetched', error: null, attempts: 0, last_attempt: told.read_sec, next_retry: null },
  }
}

/** Of each token, in the order of the question. */
export async function toldTokens(
  scope: NftPin,
  tokens: readonly Token[],
  withMetadata: boolean,
): Promise<readonly ToldAsset[]> {
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
  const told = withMetadata ? await selectTokens(scope, tokens) : []
  return tokens.map((token, i) => {
    const { state, document } = told[i] ?? {}
    const asset = {
      contract_address: token.contract,
      token_id: token.tokenId,
      token_type: token.standard,
      token_uri: state?.token_uri ?? null,
      metadata_json: textOf(document?.json),
      metadata: {
        title: document?.title ?? null,
        description: document?.description ?? null,
        media: textOf(document?.media),
        media_type: textOf(document?.media_type),
        media_external: textOf(document?.media_external),
        // Its numbers stay as they are written, through `JSON.stringify`.
        attributes: textOf(document?.attributes) === null ? null : parseExactly(document?.attributes as string),
      },
      shortened: [...(state?.shortened ?? []), ...(document?.shortened ?? [])].map(nameOfText),
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

/** As an answer calls it. */
const nameOfText = (name: string): string => (name === 'json' ? 'metadata_json' : name)

const textOf = (text: string | null | undefined): string | null => (text === undefined || text === '' ? null : text)

function toState({ error, attempts, read_sec, retry_sec }: ToldState): MetadataState {
  const isRead = textOf(error) === null
  return {
    status: isRead ? 'fetched' : 'failed',
    error: textOf(error),
    attempts,
    last_attempt: read_sec,
    // What nobody saw moved is not tried again by itself.
    next_retry: isRead || retry_sec === 0 ? null : retry_sec,
  }
}
