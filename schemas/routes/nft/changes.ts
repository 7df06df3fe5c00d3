import { type Static, Type } from 'typebox'
import { EXAMPLE_AT, EXAMPLE_CONTRACT, EXAMPLE_COVERAGE, EXAMPLE_HASH, EXAMPLE_OWNER } from './examples.ts'
import {
  AddressText,
  AnyCount,
  amountText,
  Coverage,
  closed,
  Finality,
  HashText,
  IsAmountWhole,
  TokenType,
  ValidAt,
} from './fields.ts'
import { defineNftRoute } from './nft-route.ts'

export const CHANGES_MAX = 5_000
const POSITION_CHARACTERS_MAX = 256

const Count = Type.Integer({ minimum: 0 })

const Holding = Type.Object(
  {
    contract_address: AddressText,
    token_id: amountText('Up to 2^256 - 1.'),
    token_type: TokenType,
    owner_address: AddressText,
    amount: Type.Union([amountText('What it holds from now on; 0 = nothing any more.'), Type.Null()], {
      description:
        'What it holds from now on; 0 = nothing any more; null = nothing of what came since the first indexed block, and what came before is not known.',
    }),
    is_amount_whole: IsAmountWhole,
    is_inconsistent: Type.Boolean({ description: 'The contract’s logs cannot all be true.' }),
  },
  closed,
)
export type Holding = Static<typeof Holding>

const Block = Type.Object({ block_number: Count, block_hash: HashText }, closed)

const BlockChange = Type.Object(
  {
    kind: Type.Literal('block'),
    block_number: Count,
    block_hash: HashText,
    finality: Finality,
    is_whole: Type.Boolean({ description: 'False where the next answer goes on within the block.' }),
    holdings: Type.Array(Holding, { description: 'What changed with the block, as it is after it.' }),
  },
  closed,
)
const RevertChange = Type.Object(
  {
    kind: Type.Literal('revert'),
    block_number: Type.Integer({ minimum: 0, description: 'The block that the chain goes on from.' }),
    block_hash: HashText,
    reverted: Type.Array(Block, { description: 'What is not of the chain any more.' }),
    holdings: Type.Array(Holding, { description: 'What these blocks had changed, as it is again.' }),
  },
  closed,
)
export const Change = Type.Union([BlockChange, RevertChange])
export type Change = Static<typeof Change>

const EXAMPLE_POSITION = `1.21000000.${EXAMPLE_HASH}`

export const changesRoute = defineNftRoute({
  id: 'getChanges',
  names: ['changes'],
  methods: ['GET'],
  failures: [410],
  summary: 'What changed since a position: who holds how much, and what was reverted',
  description:
    'For copies of the holdings: each change says what somebody holds from then on, so that one which is taken twice does no harm. Ask ' +
    'again with `next` as `since`, without an end: until `is_at_head` there is more, also behind an answer without changes. A position is a place on the chain: it ' +
    'stays good when tables are built anew. What is burned (at the zero address or `0x…dead`) is nobody’s, so nothing is told of it. `410`: nothing is known any more of how to go on from it, so begin without one. With ' +
    '`Accept: text/event-stream` changes come as they happen: events `block`, `revert` and `position`, whose ids are positions ' +
    '(`Last-Event-ID` counts as `since`).',
  parameters: Type.Object({
    since: Type.Optional(
      Type.String({
        maxLength: POSITION_CHARACTERS_MAX,
        description:
          'Position of the last answer; `latest` for what is to come; absent for everything. Its hash may be hex of either case, and zeros ' +
          'before its numbers, of 15 digits at most, count for nothing.',
        'x-form': 'text',
      }),
    ),
    limit: Type.Integer({
      ...AnyCount,
      minimum: 1,
      maximum: CHANGES_MAX,
      default: CHANGES_MAX,
      description: 'Holdings of blocks, together.',
    }),
  }),
  response: Type.Object(
    {
      changes: Type.Array(Change),
      next: Type.String({ description: 'The position after these changes.' }),
      is_at_head: Type.Boolean({ description: 'Whether there is nothing more at the moment.' }),
      valid_at: ValidAt,
      coverage: Coverage,
    },
    closed,
  ),
  example: {
    changes: [
      {
        kind: 'block',
        block_number: 21_000_000,
        block_hash: EXAMPLE_HASH,
        finality: 'pending',
        is_whole: true,
        holdings: [
          {
            contract_address: EXAMPLE_CONTRACT,
            token_id: '1',
            token_type: 'ERC721',
            owner_address: EXAMPLE_OWNER,
            amount: '1',
            is_amount_whole: true,
            is_inconsistent: false,
          },
        ],
      },
    ],
    next: EXAMPLE_POSITION,
    is_at_head: true,
    valid_at: EXAMPLE_AT,
    coverage: EXAMPLE_COVERAGE,
  },
})
