import { GraphQLScalarType, type GraphQLSchema, isObjectType } from 'graphql/index.js'
import type { NftContract } from '../../schemas/routes/nft/fields.ts'
import type { OwnedReason } from '../../schemas/routes/nft/owned-reasons.ts'
import type { OwnerNft } from '../../schemas/routes/nft/ownership.ts'
import { type NftPin, toValidAt } from '../nft/asking.ts'
import type { SaidOfToken, Standard } from '../nft/metadata.ts'
import {
  getContractMetadata,
  getContractMetadataBatch,
  getNftMetadata,
  getNftMetadataBatch,
  searchContractMetadata,
} from '../nft/metadata-operations.ts'
import { getContractsForOwner, getNftsForOwner } from '../nft/owned.ts'
import { type Reasons, reasonsOfContract, reasonsOfOwned } from '../nft/owned-reasons.ts'
import { getOwnersForContract, getOwnersForNft, isHolderOfContract } from '../nft/ownership.ts'
import type { AskedContract, AskedToken } from '../nft/standards.ts'
import { getAssetsTransfer } from '../nft/transfers.ts'
import type { GraphqlContext } from './context.ts'
import { isFiltered } from './nft-cost.ts'
import { type Arguments, snakeCase } from './nft-questions.ts'

/** A row of a REST answer that tells of a token, or of a contract. */
interface Row {
  readonly contract_address: string
  readonly token_id: string
  readonly token_type: Standard | null
}

const tokenOf = ({ contract_address: contract, token_id: tokenId, token_type: standard }: Row): AskedToken => ({
  contract,
  tokenId,
  standard,
})
const contractOf = ({ contract_address: contract, token_type: standard }: Row): AskedContract => ({
  contract,
  standard,
})

interface Owner {
  readonly address: string
}

/** What a contract says of itself. */
const CONTRACT_MEMBERS = [
  ...[
    'name',
    'symbol',
    'tokenType',
    'totalSupply',
    'totalSupplyBlockNumber',
    'deployer',
    'deployBlockNumber',
    'deployReason',
  ],
  'metadataState',
]

export const nftResolvers = {
  Count: new GraphQLScalarType({ name: 'Count' }),
  Json: new GraphQLScalarType({ name: 'Json' }),
  Query: {
    nft: (_: unknown, { block }: { readonly block?: string | null }, { nft }: GraphqlContext) => nft.open(block),
  },
  Nft: {
    validAt: ({ snapshot }: NftPin) => toValidAt(snapshot),
    contract: (_: unknown, { address }: { readonly address: string }, { nft }: GraphqlContext): AskedContract => ({
      contract: nft.read(getContractMetadata, { contractAddress: address }).contract_address as string,
    }),
    contracts: (_: unknown, { addresses }: { readonly addresses: readonly string[] }, { nft }: GraphqlContext) => {
      const values = nft.read(getContractMetadataBatch, { contractAddresses: addresses })
      return (values.contract_addresses as string[]).map((contract): AskedContract => ({ contract }))
    },
    token: (_: unknown, args: Arguments, { nft }: GraphqlContext): AskedToken =>
      askedToken(nft.read(getNftMetadata, args) as unknown as Row),
    tokens: (_: unknown, args: Arguments, { nft }: GraphqlContext): AskedToken[] =>
      (nft.read(getNftMetadataBatch, args).tokens as Row[]).map(askedToken),
    owner: (_: unknown, { address }: Owner, { nft }: GraphqlContext): Owner => ({
      address: nft.read(getContractsForOwner, { owner: address }).owner as string,
    }),
    transfers: (_: unknown, args: Arguments, { nft }: GraphqlContext) => nft.ask(getAssetsTransfer, args),
    search: async (_: unknown, args: Arguments, { nft }: GraphqlContext): Promise<AskedContract[]> => {
      const found = await nft.ask<readonly NftContract[]>(searchContractMetadata, args)
      return found.map((contract) => {
        const key = { contract: contract.contract_address }
        nft.contracts.prime(key, contract)
        return key
      })
    },
    isHolder: (_: unknown, args: Arguments, { nft }: GraphqlContext) => nft.ask(isHolderOfContract, args),
  },
  // What these two say of themselves is looked up when a field of it is asked for.
  NftContract: {
    contractAddress: ({ contract }: AskedContract) => contract,
    owners: ({ contract }: AskedContract, args: Arguments, { nft }: GraphqlContext) =>
      nft.ask(getOwnersForContract, { ...args, contractAddress: contract }),
    ...lookedUp(CONTRACT_MEMBERS, {
      look: (key: AskedContract, { nft }: GraphqlContext): Promise<object> => nft.contracts.load(key),
    }),
  },
  NftToken: {
    contractAddress: ({ contract }: AskedToken) => contract,
    tokenId: ({ tokenId }: AskedToken) => tokenId,
    contract: ({ contract, standard }: AskedToken): AskedContract =>
      standard === undefined ? { contract } : { contract, standard },
    owners: ({ contract, tokenId }: AskedToken, args: Arguments, { nft }: GraphqlContext) =>
      nft.ask(getOwnersForNft, { ...args, contractAddress: contract, tokenId }),
    ...lookedUp(['tokenType', 'tokenUri', 'metadataJson', 'metadata', 'shortened', 'error', 'metadataState'], {
      look: async (key: AskedToken, { nft }: GraphqlContext): Promise<object> => (await nft.tokens.load(key)).asset,
    }),
    lastMetadataSyncTime: (key: AskedToken, _: unknown, { nft }: GraphqlContext) =>
      nft.tokens.load(key).then(({ documentSec }: SaidOfToken) => documentSec),
    lastTokenUriSyncTime: (key: AskedToken, _: unknown, { nft }: GraphqlContext) =>
      nft.tokens.load(key).then(({ askedSec }: SaidOfToken) => askedSec),
  },
  NftOwner: {
    tokens: ({ address }: Owner, args: Arguments, { nft }: GraphqlContext) =>
      nft.ask(getNftsForOwner, { ...args, owner: address, withMetadata: isFiltered(args) }),
    contracts: ({ address }: Owner, args: Arguments, { nft }: GraphqlContext) =>
      nft.ask(getContractsForOwner, { ...args, owner: address, withMetadata: isFiltered(args) }),
  },
  NftOwnedToken: {
    token: tokenOf,
    reasons: async (row: OwnerNft, _: unknown, context: GraphqlContext) => (await reasonsOfRow(row, context)).reasons,
    unknownReasons: async (row: OwnerNft, _: unknown, context: GraphqlContext) =>
      (await reasonsOfRow(row, context)).unknown_reasons,
  },
  NftOwnedContract: {
    contract: contractOf,
    reasons: async (row: Row, _: unknown, { nft }: GraphqlContext) =>
      reasonsOfContract(await nft.contracts.load(contractOf(row))).reasons,
    unknownReasons: async (row: Row, _: unknown, { nft }: GraphqlContext) =>
      reasonsOfContract(await nft.contracts.load(contractOf(row))).unknown_reasons,
  },
  NftTransfer: { token: tokenOf, contract: contractOf },
  NftIsHolder: {
    isHolderOfContract: ({ isHolderOfContract }: { readonly isHolderOfContract: boolean | null }) => isHolderOfContract,
  },
}

/** The row was read without what its token says of itself, which is looked up where it is asked for. */
async function reasonsOfRow(row: OwnerNft, { nft }: GraphqlContext): Promise<Reasons<OwnedReason>> {
  const [{ asset }, contract] = await Promise.all([
    nft.tokens.load(tokenOf(row as Row)),
    nft.contracts.load(contractOf(row as Row)),
  ])
  const owner = row.owner.owners[0]?.owner_address ?? ''
  const hasManyNewHolders = row.unknown_reasons.includes('many_new_holders')
    ? undefined
    : row.reasons?.includes('many_new_holders') === true
  return reasonsOfOwned({
    ...{ owner, asset, contract, arrival: row.arrival, hasManyNewHolders },
    isInconsistent: row.is_inconsistent,
  })
}

const askedToken = ({ contract_address, token_id }: Pick<Row, 'contract_address' | 'token_id'>): AskedToken => ({
  contract: contract_address,
  tokenId: token_id,
})

/** Resolvers of fields of a REST object that is loaded by a key. */
function lookedUp<Key>(
  fields: readonly string[],
  { look }: { readonly look: (key: Key, context: GraphqlContext) => Promise<object> },
): Readonly<Record<string, (key: Key, args: unknown, context: GraphqlContext) => Promise<unknown>>> {
  return Object.fromEntries(
    fields.map((field) => [
      field,
      async (key: Key, _: unknown, context: GraphqlContext) => memberOf(await look(key, context), field),
    ]),
  )
}

const memberOf = (row: object, field: string): unknown => (row as Readonly<Record<string, unknown>>)[snakeCase(field)]

/** Every other field of the NFT types is the member of a REST answer that has its name in snake case. */
export function resolveFromRest(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || !type.name.startsWith('Nft')) continue
    for (const field of Object.values(type.getFields())) field.resolve ??= (row: object) => memberOf(row, field.name)
  }
}
