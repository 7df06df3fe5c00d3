import { type Static, Type } from 'typebox'
import { EXAMPLE_CONTRACT, EXAMPLE_HASH, EXAMPLE_OWNER, EXAMPLE_PAGE } from './examples.ts'
import {
  ADDRESSES_MAX,
  AddressText,
  AnyCount,
  AT_BLOCK,
  addressesParameter,
  addressParameter,
  amountText,
  closed,
  countOrNull,
  Finality,
  HashText,
  PAGE_FIELDS,
  PageKey,
  pageParameters,
  TokenType,
} from './fields.ts'
import { defineNftRoute } from './nft-route.ts'
import { withoutReasons } from './without-reasons.ts'

const TRANSFERS_PAGE_MAX = 1_000

export const TRANSFER_REASONS = ['from_not_holder', 'from_lacks_amount', 'minted_again', 'no_amount'] as const

const Count = Type.Integer({ minimum: 0 })

export const Transfer = Type.Object(
  {
    contract_address: AddressText,
    token_id: amountText('Up to 2^256 - 1.'),
    token_type: TokenType,
    token_index: Type.Integer({ minimum: 0, description: 'Place in the log: a batch has several transfers.' }),
    amount: amountText('1 of a token that is one of a kind.'),
    event_type: Type.String({ description: 'The event that was logged.' }),
    from: AddressText,
    to: AddressText,
    send: AddressText,
    receive: AddressText,
    sender: Type.Union([AddressText, Type.Null()], {
      description: 'Who has sent the transaction; null where it is not known.',
    }),
    reasons: Type.Array(Type.Enum([...TRANSFER_REASONS]), {
      description:
        'What is odd about it. `from_not_holder`: the token was not with `from` before (its last transfer went to somebody else, or it was ' +
        'never made); `minted_again`: it was made although somebody has it; `from_lacks_amount`: after the block `from` has less than ' +
        'nothing of it; `no_amount`: nothing was moved.',
    }),
    block_number: Count,
    block_hash: HashText,
    block_timestamp: Count,
    tx_hash: HashText,
    tx_index: Count,
    tx_timestamp: Count,
    log_index: Count,
    finality: Finality,
  },
  closed,
)
export type Transfer = Static<typeof Transfer>

const { total_count, ...OTHER_PAGE_FIELDS } = PAGE_FIELDS

export const getAssetsTransferRoute = defineNftRoute({
  id: 'getAssetsTransfer',
  names: ['getAssetsTransfer', 'getAssetTransfers'],
  methods: ['GET', 'POST'],
  summary: 'Transfers of tokens',
  description:
    'Of the canonical chain up to the newest indexed block, or `block`. `totalCount` is null where several filters would have to be ' +
    'counted through more than 20,000 transfers, and where more than 60 counts would have to be looked up (one of each contract, two with `from_block`).',
  parameters: Type.Object({
    category: Type.Optional(
      Type.Array(Type.Enum(['ERC721', 'ERC1155'], { 'x-form': 'text' }), {
        maxItems: 2,
        description: 'All unless told; empty is all.',
      }),
    ),
    contract_addresses: Type.Optional(addressesParameter('Of these contracts alone.', ADDRESSES_MAX)),
    from_address: Type.Optional(addressParameter('From whom.')),
    to_address: Type.Optional(addressParameter('To whom.')),
    from_block: Type.Optional(Type.Integer({ ...AnyCount, description: 'First block.' })),
    to_block: Type.Optional(Type.Integer({ ...AnyCount, description: 'Last block.' })),
    max_count: Type.Integer({
      ...AnyCount,
      minimum: 1,
      maximum: TRANSFERS_PAGE_MAX,
      default: TRANSFERS_PAGE_MAX,
      description:
        'Items of a page at most. It may have fewer where reverted or filtered rows lie among them: only a null `page_key` is the end.',
    }),
    order: Type.Enum(['desc', 'asc', 'aesc'], {
      default: 'desc',
      description: 'Newest or oldest first.',
      'x-form': 'text',
    }),
    without_reasons: withoutReasons(TRANSFER_REASONS, 'They are neither told nor counted.'),
    page_key: pageParameters(1).page_key,
    ...AT_BLOCK,
  }),
  response: Type.Object(
    {
      transfers: Type.Array(Transfer),
      pageKey: PageKey,
      totalCount: total_count,
      total_count: countOrNull('The same.'),
      ...OTHER_PAGE_FIELDS,
    },
    closed,
  ),
  example: {
    transfers: [
      {
        contract_address: EXAMPLE_CONTRACT,
        token_id: '1',
        token_type: 'ERC721',
        token_index: 0,
        amount: '1',
        event_type: 'Transfer',
        from: `0x${'00'.repeat(20)}`,
        to: EXAMPLE_OWNER,
        send: `0x${'00'.repeat(20)}`,
        receive: EXAMPLE_OWNER,
        sender: EXAMPLE_OWNER,
        reasons: [],
        block_number: 20_999_990,
        block_hash: EXAMPLE_HASH,
        block_timestamp: 1_728_999_880,
        tx_hash: EXAMPLE_HASH,
        tx_index: 12,
        tx_timestamp: 1_728_999_880,
        log_index: 40,
        finality: 'finalized',
      },
    ],
    pageKey: null,
    totalCount: 1,
    ...EXAMPLE_PAGE,
  },
})
