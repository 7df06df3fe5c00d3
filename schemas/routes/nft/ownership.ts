import { type Static, Type } from 'typebox'
import {
  EXAMPLE_ASSET,
  EXAMPLE_AT,
  EXAMPLE_COLLECTION,
  EXAMPLE_COVERAGE,
  EXAMPLE_OWNER_ROW,
  EXAMPLE_PAGE,
} from './examples.ts'
import {
  Acquired,
  AcquiredOfContract,
  ADDRESSES_MAX,
  ASSET_FIELDS,
  AT_BLOCK,
  addressesParameter,
  addressParameter,
  amountText,
  CONTRACT_FIELDS,
  Coverage,
  closed,
  Finality,
  IsAmountWhole,
  MetadataState,
  NFT_PAGE_MAX,
  OWNERS_PAGE_MAX,
  OwnerRow,
  PAGE_FIELDS,
  pageParameters,
  tokenIdParameter,
  ValidAt,
  WithMetadata,
} from './fields.ts'
import { defineNftRoute } from './nft-route.ts'
import {
  Arrival,
  CONTRACT_REASONS,
  OWNED_REASONS,
  reasonFields,
  WithArrival,
  WithNewHolders,
  withoutOwnedReasons,
} from './owned-reasons.ts'

const AT = 'As of the newest indexed block, or of `block`.'

const OwnerNft = Type.Object(
  {
    ...ASSET_FIELDS,
    last_metadata_sync_time: Type.Integer({ description: 'Unix seconds; 0 = never.' }),
    last_token_uri_sync_time: Type.Integer({ description: 'Unix seconds; 0 = never.' }),
    modify_time: Type.Integer({ description: 'Unix seconds; 0 = never.' }),
    owner: Type.Object({ owners: Type.Array(OwnerRow) }, closed),
    balance: amountText('How much of it the owner holds.'),
    is_amount_whole: IsAmountWhole,
    is_inconsistent: Type.Boolean({ description: 'The contract’s logs cannot all be true.' }),
    acquired: Acquired,
    arrival: Arrival,
    ...reasonFields(OWNED_REASONS),
    finality: Finality,
  },
  closed,
)
export type OwnerNft = Static<typeof OwnerNft>

const OwnerContract = Type.Object(
  {
    ...CONTRACT_FIELDS,
    metadata_state: MetadataState,
    total_balance: amountText('Sum of the amounts of all its tokens that the owner holds.'),
    num_distinct_tokens_owned: amountText('How many of its tokens.'),
    is_amount_whole: IsAmountWhole,
    acquired: AcquiredOfContract,
    ...reasonFields(CONTRACT_REASONS),
    finality: Finality,
  },
  closed,
)

export const isHolderOfContractRoute = defineNftRoute({
  id: 'isHolderOfContract',
  names: ['isHolderOfContract'],
  methods: ['GET'],
  summary: 'Whether a wallet holds a token of a contract',
  description: `${AT} Null where it does not hold one for all that is indexed, and not everything is (\`coverage\`).`,
  parameters: Type.Object({
    contract_address: addressParameter('The contract.'),
    wallet: addressParameter('Who is asked for.'),
    ...AT_BLOCK,
  }),
  response: Type.Object(
    {
      isholderOfContract: Type.Union([Type.Boolean(), Type.Null()]),
      isHolderOfContract: Type.Union([Type.Boolean(), Type.Null()], { description: 'The same.' }),
      finality: Type.Union([Finality, Type.Null()], {
        description: 'Whether the last change of what the wallet holds is final; null where there was none.',
      }),
      valid_at: ValidAt,
      coverage: Coverage,
    },
    closed,
  ),
  example: {
    isholderOfContract: true,
    isHolderOfContract: true,
    finality: 'finalized',
    valid_at: EXAMPLE_AT,
    coverage: EXAMPLE_COVERAGE,
  },
})

const OwnersPage = Type.Object({ owners: Type.Array(OwnerRow), ...PAGE_FIELDS }, closed)

export const getOwnersForContractRoute = defineNftRoute({
  id: 'getOwnersForContract',
  names: ['getOwnersForContract'],
  methods: ['GET'],
  summary: 'Who holds tokens of a contract',
  description: `${AT} By address; \`amount\` is the sum over all tokens, or what is held of \`token_id\`. Burned tokens have no owner.`,
  parameters: Type.Object({
    contract_address: addressParameter('The contract.'),
    token_id: Type.Optional(tokenIdParameter('Of this token alone.')),
    ...pageParameters(OWNERS_PAGE_MAX),
    ...AT_BLOCK,
  }),
  response: OwnersPage,
  example: { owners: [EXAMPLE_OWNER_ROW], ...EXAMPLE_PAGE },
})

export const getOwnersForNftRoute = defineNftRoute({
  id: 'getOwnersForNFT',
  names: ['getOwnersForNFT'],
  methods: ['GET'],
  summary: 'Who holds a token',
  description: `${AT} By address.`,
  parameters: Type.Object({
    contract_address: addressParameter('The contract.'),
    token_id: tokenIdParameter('The token.'),
    ...pageParameters(OWNERS_PAGE_MAX),
    ...AT_BLOCK,
  }),
  response: OwnersPage,
  example: { owners: [EXAMPLE_OWNER_ROW], ...EXAMPLE_PAGE },
})

export const getNftsForOwnerRoute = defineNftRoute({
  id: 'getNFTsForOwner',
  names: ['getNFTsForOwner'],
  methods: ['GET'],
  summary: 'The tokens that a wallet holds',
  description: `${AT} By contract, then token.`,
  parameters: Type.Object({
    owner: addressParameter('Whose tokens.'),
    contract_addresses: Type.Optional(addressesParameter('Of these contracts alone.', ADDRESSES_MAX)),
    contract_address: Type.Optional(addressParameter('The same for one contract.')),
    with_metadata: WithMetadata,
    with_arrival: WithArrival,
    with_new_holders: WithNewHolders,
    without_reasons: withoutOwnedReasons(OWNED_REASONS),
    ...pageParameters(NFT_PAGE_MAX),
    ...AT_BLOCK,
  }),
  response: Type.Object({ owner_nfts: Type.Array(OwnerNft), ...PAGE_FIELDS }, closed),
  example: {
    owner_nfts: [
      {
        ...EXAMPLE_ASSET,
        last_metadata_sync_time: 0,
        last_token_uri_sync_time: 0,
        modify_time: 0,
        owner: { owners: [EXAMPLE_OWNER_ROW] },
        balance: '1',
        is_amount_whole: true,
        is_inconsistent: false,
        acquired: EXAMPLE_OWNER_ROW.acquired,
        arrival: null,
        reasons: null,
        unknown_reasons: [
          'unsolicited',
          'many_new_holders',
          'link_in_name',
          'asks_to_claim',
          'unknown_type',
          'no_metadata',
        ],
        finality: 'finalized',
      },
    ],
    ...EXAMPLE_PAGE,
  },
})

export const getContractsForOwnerRoute = defineNftRoute({
  id: 'getContractsForOwner',
  names: ['getContractsForOwner'],
  methods: ['GET'],
  summary: 'The contracts of whose tokens a wallet holds some',
  description: `${AT} By address of the contract.`,
  parameters: Type.Object({
    owner: addressParameter('Whose tokens.'),
    with_metadata: WithMetadata,
    without_reasons: withoutOwnedReasons(CONTRACT_REASONS),
    ...pageParameters(NFT_PAGE_MAX),
    ...AT_BLOCK,
  }),
  response: Type.Object({ contracts: Type.Array(OwnerContract), ...PAGE_FIELDS }, closed),
  example: {
    contracts: [
      {
        ...EXAMPLE_COLLECTION,
        total_balance: '1',
        num_distinct_tokens_owned: '1',
        is_amount_whole: true,
        acquired: EXAMPLE_OWNER_ROW.acquired,
        reasons: null,
        unknown_reasons: [...CONTRACT_REASONS],
        finality: 'finalized',
      },
    ],
    ...EXAMPLE_PAGE,
  },
})

export const CSV_HEADER = 'owner_address,amount,tokens,last_change_block,is_amount_whole'

export const ownersCsvRoute = defineNftRoute({
  id: 'getOwnersSnapshot',
  names: ['owners.csv'],
  methods: ['GET'],
  summary: 'Everybody who holds tokens of a contract, as CSV',
  description: `${AT} By address, as a stream: one that breaks off is not whole (a reverted block ends it, too; of a final block there is none).`,
  parameters: Type.Object({ contract_address: addressParameter('The contract.'), ...AT_BLOCK }),
  response: Type.String(),
  media: 'text/csv',
  example: `${CSV_HEADER}\n${EXAMPLE_OWNER_ROW.owner_address},1,1,20999990,true\n`,
})
