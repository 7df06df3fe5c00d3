import { type Static, Type } from 'typebox'
import { AddressText, closed, HashText } from './fields.ts'
import { withoutReasons } from './without-reasons.ts'

/** What can be odd about a contract, by what it says of itself. */
export const CONTRACT_REASONS = ['link_in_name', 'asks_to_claim', 'unknown_type'] as const
export type ContractReason = (typeof CONTRACT_REASONS)[number]

/** What can be odd about a token that somebody holds. */
export const OWNED_REASONS = [
  'unsolicited',
  'many_new_holders',
  ...CONTRACT_REASONS,
  'no_metadata',
  'inconsistent',
] as const
export type OwnedReason = (typeof OWNED_REASONS)[number]

const MEANINGS: Readonly<Record<OwnedReason, string>> = {
  unsolicited:
    'the transaction that brought it was sent by somebody else than the owner (so is an accepted offer, a gift, and all that a contract’s account gets); looked up with `with_arrival` alone',
  many_new_holders:
    'its contract had at least 1,000 more holders 100 blocks after the one in which it came than before the 100 blocks before that (so has a collection that sells well on its first day); looked up with `with_new_holders` alone',
  link_in_name: 'name, symbol or title has a web address in it',
  asks_to_claim:
    'name, symbol or title has a word like claim, airdrop, giveaway, voucher, reward, redeem, bonus or free mint, or the first 4,096 characters of the description have one and a web address',
  no_metadata: 'its document could not be read, nor was it ever',
  unknown_type: 'the contract does not say that it is ERC-721 or ERC-1155',
  inconsistent: 'the contract’s logs cannot all be true',
}

function meaningsOf(codes: readonly OwnedReason[]): string {
  return codes.map((code) => `\`${code}\`: ${MEANINGS[code]}`).join('; ')
}

/** Members of a row that may be odd. */
export function reasonFields<Code extends OwnedReason>(codes: readonly Code[]) {
  const list = Type.Array(Type.Enum([...codes]))
  return {
    reasons: Type.Union([list, Type.Null()], {
      description: `Signs of spam, of which none proves anything. ${meaningsOf(codes)}. Null where none was found, and not all could be looked for.`,
    }),
    unknown_reasons: Type.Array(Type.Enum([...codes]), { description: 'Those that could not be looked for.' }),
  } as const
}

const SHORTER =
  'What is not known of a row does not leave it out. Pages become shorter, and `total_count` is null where they are several.'

export const withoutOwnedReasons = (codes: readonly OwnedReason[]) => withoutReasons(codes, SHORTER)

export const WithArrival = Type.Boolean({
  default: false,
  description:
    'Tells the transfer by which each token came (`arrival`), and with it whether it was `unsolicited`. Pages have tokens of at most 25 blocks then, and are shorter.',
  'x-form': 'flag',
})

export const WithNewHolders = Type.Boolean({
  default: false,
  description:
    'Tells of each token whether its contract got `many_new_holders` when it came. Pages have tokens of at most 25 contracts and blocks then, of 10 beside `with_arrival`, and are shorter.',
  'x-form': 'flag',
})

export const Arrival = Type.Union(
  [
    Type.Object(
      {
        block_number: Type.Integer({ minimum: 0 }),
        tx_hash: HashText,
        log_index: Type.Integer({ minimum: 0 }),
        from: AddressText,
        sender: Type.Union([AddressText, Type.Null()], {
          description: 'Who has sent the transaction; null where it is not known.',
        }),
      },
      closed,
    ),
    Type.Null(),
  ],
  {
    description:
      'The last transfer of it to the owner in the block since which it is held; null unless `with_arrival` asks for it, and where it is not known.',
  },
)
export type Arrival = Static<typeof Arrival>
