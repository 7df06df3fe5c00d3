import type { NftAsset, NftContract } from '../../schemas/routes/nft/fields.ts'
import {
  getContractMetadataBatchRoute,
  getContractMetadataRoute,
  getNftMetadataBatchRoute,
  getNftMetadataRoute,
  searchContractMetadataRoute,
} from '../../schemas/routes/nft/metadata.ts'
import { answered, type NftPin, type NftScope, nftOperation, toValidAt } from './asking.ts'
import { toContract, tokensMetadata } from './metadata.ts'
import { searchContracts } from './search.ts'
import { type AskedContract, standardsOfContracts, withStandards } from './standards.ts'
import { selectContracts, type ToldContract } from './told-contracts.ts'

export const getContractMetadata = nftOperation(
  getContractMetadataRoute,
  async ({ contract_address, with_metadata }, scope) => {
    const [contract] = await describeContracts(scope, [contract_address], with_metadata)
    return answered({ ...(contract as NftContract), valid_at: toValidAt(scope.snapshot) })
  },
)

export const getContractMetadataBatch = nftOperation(
  getContractMetadataBatchRoute,
  async ({ contract_addresses, with_metadata }, scope) =>
    answered([...(await describeContracts(scope, contract_addresses, with_metadata))]),
)

export const getNftMetadata = nftOperation(
  getNftMetadataRoute,
  async ({ contract_address, token_id, with_metadata }, scope) => {
    const [token] = await describeTokens(scope, [{ contract_address, token_id }], with_metadata)
    return answered({ ...(token as NftAsset), valid_at: toValidAt(scope.snapshot) })
  },
)

export const getNftMetadataBatch = nftOperation(getNftMetadataBatchRoute, async ({ tokens, with_metadata }, scope) =>
  answered([...(await describeTokens(scope, tokens, with_metadata))]),
)

export const searchContractMetadata = nftOperation(searchContractMetadataRoute, async ({ query }, scope) => {
  const text = query.trim().toLowerCase()
  const found = await searchContracts(scope, text)
  if (!ADDRESS.test(text)) return answered([...found])
  // An address is its own, known or not.
  const own = found.find(({ contract_address }) => contract_address === text)
  const [described] = own === undefined ? await describeContracts(scope, [text], true) : [own]
  return answered([described as NftContract, ...found.filter((one) => one !== own)])
})

const ADDRESS = /^0x[0-9a-f]{40}$/

function describeContracts(scope: NftScope, contracts: readonly string[], withMetadata: boolean) {
  return describeAsked(
    scope,
    contracts.map((contract) => ({ contract })),
    withMetadata,
  )
}

/** Of each contract, in the order of the question. */
export async function describeAsked(
  scope: NftPin,
  asked: readonly AskedContract[],
  withMetadata: boolean,
): Promise<readonly NftContract[]> {
  const told = withMetadata
    ? await selectContracts(
        scope,
        asked.map(({ contract }) => contract),
      )
    : new Map<string, ToldContract>()
  // What a contract says that it is counts, and what its logs tell where it does not say.
  const silent = asked.filter(({ contract, standard }) => standard === undefined && !told.get(contract)?.type)
  const standards = await standardsOfContracts(
    scope,
    silent.map(({ contract }) => contract),
  )
  return asked.map(({ contract, standard = standards.get(contract) ?? null }) =>
    toContract({ contract, standard }, told.get(contract), withMetadata),
  )
}

interface AskedToken {
  readonly contract_address: string
  readonly token_id: string
}

async function describeTokens(scope: NftScope, tokens: readonly AskedToken[], withMetadata: boolean) {
  const named = await withStandards(
    scope,
    tokens.map((token) => ({ contract: token.contract_address, tokenId: token.token_id })),
  )
  return await tokensMetadata(scope, named, withMetadata)
}
