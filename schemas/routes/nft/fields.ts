import { type Static, type TSchema, Type } from 'typebox'
import { LOGS_CHECKS } from '../../events/execution-block.ts'

/** How the text of a parameter is read; what is no such text is refused. */
export type NftForm = 'address' | 'uint256' | 'integer' | 'block' | 'text' | 'flag' | 'token'

const HEX_ADDRESS = '^0[xX][0-9a-fA-F]{40}$'

export const ADDRESSES_MAX = 45
export const NFT_PAGE_MAX = 100
export const OWNERS_PAGE_MAX = 1_000
const PAGE_KEY_CHARACTERS_MAX = 1_024
/** Of the text of a number: 2^256 - 1 has 78 digits, and some write zeros before a number. */
export const NUMBER_CHARACTERS_MAX = 256

/** `meaning` is a sentence. */
export const addressParameter = (meaning: string) =>
  Type.String({ pattern: HEX_ADDRESS, description: `${meaning} 20 bytes, hex of any case.`, 'x-form': 'address' })

export const addressesParameter = (meaning: string, maxItems: number) =>
  Type.Array(Type.String({ pattern: HEX_ADDRESS, 'x-form': 'address' }), {
    maxItems,
    description: `${meaning} At most ${maxItems}: \`k=a,b\`, repeated, or \`k[]=a\`.`,
  })

export const tokenIdParameter = (meaning: string) =>
  Type.String({
    description: `${meaning} Up to 2^256 - 1, decimal or hex with 0x, as text or number; zeros before it count for nothing, up to ${NUMBER_CHARACTERS_MAX} characters.`,
    examples: ['1'],
    'x-form': 'uint256',
  })

export const AnyCount = { minimum: 0, 'x-form': 'integer' } as const

export const BlockParameter = Type.Optional(
  Type.String({
    description:
      'Answers as of this block: a number, a hash, `latest` (the default), `finalized`, or `safe` (what is certain to be safe is what is ' +
      'final). A later, an earlier, or a reverted block than those that are indexed is refused.',
    'x-form': 'block',
  }),
)
export const BlockHashParameter = Type.Optional(
  Type.String({ description: 'The same by a hash alone.', 'x-form': 'block' }),
)
export const AT_BLOCK = { block: BlockParameter, block_hash: BlockHashParameter } as const

export const pageParameters = (maximum: number) =>
  ({
    page_key: Type.Optional(
      Type.String({
        maxLength: PAGE_KEY_CHARACTERS_MAX,
        description:
          'Of the page before: the next one, as of the same block. Other parameters mean what they did; `block` may be left out, and another ' +
          'block is refused.',
        'x-form': 'text',
      }),
    ),
    page_size: Type.Integer({ ...AnyCount, minimum: 1, maximum, default: maximum, description: 'Items of a page.' }),
  }) as const

export const WithMetadata = Type.Boolean({
  default: true,
  description: 'False leaves out names and metadata: the shape stays, with nulls.',
  'x-form': 'flag',
})

// Answers.

export const AddressText = Type.String({ pattern: '^0x[0-9a-f]{40}$', description: '20 bytes, lower-case hex.' })
export const HashText = Type.String({ pattern: '^0x[0-9a-f]{64}$', description: '32 bytes, lower-case hex.' })
export const amountText = (description: string) => Type.String({ pattern: '^(0|[1-9][0-9]*)$', description })
const Count = Type.Integer({ minimum: 0 })
const orNull = <Schema extends TSchema>(schema: Schema, description: string) =>
  Type.Union([schema, Type.Null()], { description })
export const textOrNull = (description: string) => orNull(Type.String(), description)
export const countOrNull = (description: string) => orNull(Count, description)

export const closed = { additionalProperties: false } as const

export const ValidAt = Type.Object(
  { block_number: Count, block_hash: HashText, block_timestamp: Count },
  { ...closed, description: 'The block that the answer describes; the header `X-Valid-At` has it on every answer.' },
)
export type ValidAt = Static<typeof ValidAt>

export const Coverage = Type.Object(
  {
    from_block: Type.Integer({ minimum: 0, description: 'First block that is indexed.' }),
    to_block: Type.Integer({ minimum: 0, description: 'The block that the answer describes.' }),
    check: Type.Enum([...LOGS_CHECKS], {
      description:
        'The weakest check that any of the chain’s indexed blocks has passed: its logs against the receipts root, against the bloom, or none. The chain’s operator declares it.',
    }),
    is_whole: Type.Boolean({
      description:
        'Whether everything that the answer is about is indexed. Otherwise nobody has less than is told, and there may be more of everything: amounts are what came since the first indexed block.',
    }),
    reason: orNull(
      Type.Enum(['starts_later', 'odd_logs']),
      'Why not: blocks before the first one are not indexed, or a contract that was asked for, or is told of, has logged what nobody can read.',
    ),
  },
  closed,
)
export type Coverage = Static<typeof Coverage>

export const Finality = Type.Enum(['finalized', 'pending'], {
  description: 'Whether the block of the last change that the row tells of is final.',
})
export type Finality = Static<typeof Finality>

export const TokenType = Type.Union([Type.Enum(['ERC721', 'ERC1155', 'UNKNOWN']), Type.Null()])

export const PageKey = Type.Union([Type.String(), Type.Null()], {
  description: 'For the next page, which may be shorter than asked for; null at the end.',
})

export const MetadataState = Type.Object(
  {
    status: Type.Enum(['fetched', 'pending', 'failed', 'not_fetched', 'left_out'], {
      description: '`not_fetched`: nobody has asked for it yet; `left_out`: the question wants none.',
    }),
    error: textOrNull('Why there is none, as a word.'),
    attempts: Count,
    last_attempt: countOrNull('Unix seconds.'),
    next_retry: countOrNull('Unix seconds.'),
  },
  closed,
)
export type MetadataState = Static<typeof MetadataState>

export const CONTRACT_FIELDS = {
  contract_address: AddressText,
  name: textOrNull('As the contract tells it; an empty one stays empty.'),
  symbol: textOrNull('The same.'),
  token_type: TokenType,
  total_supply: textOrNull(
    'As the contract told it when it was read last, whatever block the answer is of; read again within two minutes after a token was minted or burned.',
  ),
  total_supply_block_number: countOrNull('The block after which it told so.'),
  deployer: textOrNull('The account that deployed it, by the receipt of the transaction.'),
  deploy_block_number: countOrNull('Where it was deployed.'),
  deploy_reason: textOrNull(
    'Why one of the two, or both, are null, as a word: `not_a_contract`, `made_by_contract` (no receipt names who), `no_old_states` (no node knows any more); null where both are known, and before it was read.',
  ),
} as const

export const NFT_CONTRACT_FIELDS = { ...CONTRACT_FIELDS, metadata_state: MetadataState } as const
export const NftContract = Type.Object(NFT_CONTRACT_FIELDS, closed)
export type NftContract = Static<typeof NftContract>

export const TokenMetadata = Type.Object(
  {
    title: textOrNull('The document’s `name`.'),
    description: textOrNull('The document’s `description`.'),
    media: textOrNull(
      'Where its image can be read; null where that is an address, or a name, of private networks only. What else a name resolves to, and where its server sends on to, is not known.',
    ),
    media_type: textOrNull('MIME type.'),
    media_external: textOrNull('The image as the document names it; null in the same cases.'),
    attributes: Type.Unknown({ description: 'As the document has them; null where it has none.' }),
  },
  closed,
)

export const ASSET_FIELDS = {
  contract_address: AddressText,
  token_id: amountText('Up to 2^256 - 1.'),
  token_type: TokenType,
  token_uri: textOrNull('As the contract tells it.'),
  metadata_json: textOrNull('The document as it is.'),
  metadata: TokenMetadata,
  shortened: Type.Array(Type.String(), {
    description:
      'Names of texts that are longer than answers of several tokens tell: `title` is cut at 1,000 characters, `description` at 4,000; `token_uri`, `metadata_json`, `media`, `media_external` and `attributes` are null where they have more than 32,768 bytes. Who asks for one token gets them whole.',
  }),
  contract: NftContract,
  error: textOrNull('Why there is no metadata, as a word.'),
  metadata_state: MetadataState,
} as const

export const NftAsset = Type.Object(ASSET_FIELDS, closed)
export type NftAsset = Static<typeof NftAsset>

const acquired = (description: string) =>
  Type.Union([Type.Object({ block_number: Count, block_timestamp: Count }, closed), Type.Null()], { description })

export const Acquired = acquired(
  'Since when it is held without a break; null where that is not known, and for a sum over tokens.',
)
export type Acquired = Static<typeof Acquired>

export const AcquiredOfContract = acquired(
  'Since when the oldest of the tokens that it holds now is held without a break; null where that is not known, and where more than 16,000 changes of what ' +
    'it holds of the page’s contracts would have to be read.',
)

export const IsAmountWhole = Type.Boolean({
  description:
    'False where what is told is not known to be all of it: it is what came since the first indexed block, or the contract has logged what nobody can read.',
})

export const OwnerRow = Type.Object(
  {
    owner_address: AddressText,
    amount: amountText('How much it holds.'),
    is_amount_whole: IsAmountWhole,
    is_inconsistent: Type.Union([Type.Boolean(), Type.Null()], {
      description:
        'The contract’s logs cannot all be true: more was received than there can be. Null of a sum over tokens, which does not show it.',
    }),
    acquired: Acquired,
    finality: Finality,
  },
  closed,
)
export type OwnerRow = Static<typeof OwnerRow>

/** Members of every answer that is a page. */
export const PAGE_FIELDS = {
  page_key: PageKey,
  total_count: countOrNull(
    'Of all pages together, as of the block; null where nobody has counted, or not all is indexed that would have to be.',
  ),
  valid_at: ValidAt,
  coverage: Coverage,
} as const
