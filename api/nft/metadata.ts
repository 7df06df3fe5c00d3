import type { MetadataState, NftAsset, NftContract } from '../../schemas/routes/nft/fields.ts'
import type { NftScope } from './asking.ts'

// What contracts and tokens say of themselves. Nothing of it is indexed yet: every answer has its whole shape, and says so.

/** SQL of one text for a chain that differs when metadata has changed; undefined while there is none. */
export const METADATA_POSITION: string | undefined = undefined

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

const stateOf = (withMetadata: boolean): MetadataState => ({
  status: withMetadata ? 'not_fetched' : 'left_out',
  error: null,
  attempts: 0,
  last_attempt: null,
  next_retry: null,
})

/** Of each contract, in the order of the question. */
export async function contractsMetadata(
  _scope: NftScope,
  contracts: readonly ContractOfToken[],
  withMetadata: boolean,
): Promise<readonly NftContract[]> {
  return contracts.map(({ contract, standard }) => ({
    contract_address: contract,
    name: null,
    symbol: null,
    token_type: standard,
    total_supply: null,
    deployer: null,
    deploy_block_number: null,
    metadata_state: stateOf(withMetadata),
  }))
}

/** Of each token, in the order of the question. */
export async function tokensMetadata(
  scope: NftScope,
  tokens: readonly Token[],
  withMetadata: boolean,
): Promise<readonly NftAsset[]> {
  const contracts = await contractsMetadata(scope, tokens, withMetadata)
  return tokens.map(({ contract, tokenId, standard }, i) => ({
    contract_address: contract,
    token_id: tokenId,
    token_type: standard,
    token_uri: null,
    metadata_json: null,
    metadata: { title: null, description: null, media: null, media_type: null, media_external: null, attributes: null },
    contract: contracts[i] as NftContract,
    error: null,
    metadata_state: stateOf(withMetadata),
  }))
}

/** The block that a contract begins with; undefined where nobody knows. */
export async function contractBeginning(_scope: NftScope, _contract: string): Promise<number | undefined> {
  return undefined
}

/** Addresses of contracts that a text is meant for, the best first: an address is its own. */
export async function searchContracts(_scope: NftScope, query: string): Promise<readonly string[]> {
  return /^0[xX][0-9a-fA-F]{40}$/.test(query) ? [query.toLowerCase()] : []
}
