import { Type } from 'typebox'
import { EXAMPLE_ASSET, EXAMPLE_AT, EXAMPLE_COLLECTION } from './examples.ts'
import {
  ASSET_FIELDS,
  AT_BLOCK,
  addressesParameter,
  addressParameter,
  closed,
  NFT_CONTRACT_FIELDS,
  NftAsset,
  NftContract,
  tokenIdParameter,
  ValidAt,
  WithMetadata,
} from './fields.ts'
import { defineNftRoute } from './nft-route.ts'

export const BATCH_MAX = 100
const QUERY_CHARACTERS_MAX = 128

const TokenTypeHint = Type.Optional(
  Type.String({ description: 'A hint: what the chain’s logs tell counts.', maxLength: 16, 'x-form': 'text' }),
)
const UNKNOWN = 'What is not known is null: a contract or token that nobody has seen is no error.'

export const getContractMetadataRoute = defineNftRoute({
  id: 'getContractMetadata',
  names: ['getContractMetadata'],
  methods: ['GET'],
  summary: 'What a contract says of itself',
  description: UNKNOWN,
  parameters: Type.Object({
    contract_address: addressParameter('The contract.'),
    with_metadata: WithMetadata,
    ...AT_BLOCK,
  }),
  response: Type.Object({ ...NFT_CONTRACT_FIELDS, valid_at: ValidAt }, closed),
  example: { ...EXAMPLE_COLLECTION, valid_at: EXAMPLE_AT },
})

export const getContractMetadataBatchRoute = defineNftRoute({
  id: 'getContractMetadataBatch',
  names: ['getContractMetadataBatch'],
  methods: ['GET', 'POST'],
  summary: 'What contracts say of themselves',
  description: `In the order of the question. ${UNKNOWN}`,
  parameters: Type.Object({
    contract_addresses: addressesParameter('The contracts.', BATCH_MAX),
    with_metadata: WithMetadata,
    ...AT_BLOCK,
  }),
  response: Type.Array(NftContract),
  example: [EXAMPLE_COLLECTION],
})

export const getNftMetadataRoute = defineNftRoute({
  id: 'getNFTMetadata',
  names: ['getNFTMetadata'],
  methods: ['GET'],
  summary: 'What is said of a token',
  description: UNKNOWN,
  parameters: Type.Object({
    contract_address: addressParameter('The contract.'),
    token_id: tokenIdParameter('The token.'),
    token_type: TokenTypeHint,
    with_metadata: WithMetadata,
    ...AT_BLOCK,
  }),
  response: Type.Object({ ...ASSET_FIELDS, valid_at: ValidAt }, closed),
  example: { ...EXAMPLE_ASSET, valid_at: EXAMPLE_AT },
})

export const getNftMetadataBatchRoute = defineNftRoute({
  id: 'getNFTMetadataBatch',
  names: ['getNFTMetadataBatch'],
  methods: ['GET', 'POST'],
  summary: 'What is said of tokens',
  description: `In the order of the question; in a query \`tokens\` is JSON. ${UNKNOWN}`,
  parameters: Type.Object({
    tokens: Type.Array(
      Type.Object(
        {
          contract_address: addressParameter('The contract.'),
          token_id: tokenIdParameter('The token.'),
          token_type: TokenTypeHint,
        },
        { 'x-form': 'token' },
      ),
      { maxItems: BATCH_MAX, description: `At most ${BATCH_MAX}.` },
    ),
    with_metadata: WithMetadata,
    ...AT_BLOCK,
  }),
  response: Type.Array(NftAsset),
  example: [EXAMPLE_ASSET],
})

export const refreshNftMetadataRoute = defineNftRoute({
  id: 'refreshNFTMetadata',
  names: ['refreshNFTMetadata'],
  methods: ['POST'],
  summary: 'Read a token, or a contract, again',
  description:
    'Asks for it, and does not wait: `metadata_state` of later answers tells what became of it. Asked again before it was read, it is read once. ' +
    'A token that was never moved is refused, and a contract of none, unless what came before is not indexed: then it is asked for, and not tried again by itself. ' +
    'What is read without being asked: new tokens, what failed when its `next_retry` has come, and what contracts say has changed (ERC-4906).',
  parameters: Type.Object({
    contract_address: addressParameter('The contract.'),
    token_id: Type.Optional(tokenIdParameter('The token; without it, what the contract says of itself is read.')),
  }),
  response: Type.Object({ status: Type.Enum(['queued']) }, closed),
  example: { status: 'queued' as const },
})

export const searchContractMetadataRoute = defineNftRoute({
  id: 'searchContractMetadata',
  names: ['searchContractMetadata'],
  methods: ['GET'],
  summary: 'Contracts by name, symbol or address',
  description: `At most ${BATCH_MAX}, the best first.`,
  parameters: Type.Object({
    query: Type.String({
      minLength: 1,
      maxLength: QUERY_CHARACTERS_MAX,
      description: 'A part of a name or symbol, or an address.',
      'x-form': 'text',
    }),
    ...AT_BLOCK,
  }),
  response: Type.Array(NftContract, { maxItems: BATCH_MAX }),
  example: [EXAMPLE_COLLECTION],
})
