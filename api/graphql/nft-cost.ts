import { BATCH_MAX } from '../../schemas/routes/nft/metadata.ts'

/** Contracts or tokens that one statement looks up: as many as a batch of REST. */
export const LOOKUPS_MAX = BATCH_MAX

export interface NftCost {
  /** What a field takes where its page is full of what is held. */
  readonly statements: number | ((args: Arguments) => number)
  /** `batch`: so many for each `LOOKUPS_MAX` of a list's items; `value`: for each of them. */
  readonly per: 'value' | 'batch'
  /** Of lists: how many items, at most. */
  readonly length?: (args: Arguments) => number
}

type Arguments = Readonly<Record<string, unknown>>

type Length = NonNullable<NftCost['length']>

const numberOf =
  (name: string, maximum: number): Length =>
  (args) => {
    const value = args[name]
    return typeof value === 'number' ? Math.min(Math.max(value, 1), maximum) : maximum
  }

const lengthOf =
  (name: string): Length =>
  (args) => {
    const value = args[name]
    return Array.isArray(value) ? Math.min(Math.max(value.length, 1), BATCH_MAX) : 1
  }

/** Reasons that rows are left out for are told by what their tokens say of themselves. */
export function isFiltered({ withoutReasons }: Arguments): boolean {
  return Array.isArray(withoutReasons) && withoutReasons.length > 0
}

const OF_OWNED: NftCost = { statements: 3, per: 'batch' }
const OF_OWNED_CONTRACT: NftCost = { statements: 1, per: 'batch' }
const OWNERS: NftCost = { statements: 5, per: 'value', length: numberOf('pageSize', 1_000) }

/** Fields that statements are for, as `Type.field`. */
export const NFT_COSTS: Readonly<Record<string, NftCost>> = {
  'Nft.contract': { statements: 2, per: 'batch' },
  'Nft.contracts': { statements: 2, per: 'batch', length: lengthOf('addresses') },
  'Nft.token': { statements: 3, per: 'batch' },
  'Nft.tokens': { statements: 3, per: 'batch', length: lengthOf('tokens') },
  'Nft.transfers': { statements: 5, per: 'value', length: numberOf('maxCount', 1_000) },
  'Nft.search': { statements: 5, per: 'value', length: () => BATCH_MAX },
  'Nft.isHolder': { statements: 3, per: 'value' },
  'NftContract.owners': OWNERS,
  'NftToken.owners': OWNERS,
  'NftToken.contract': { statements: 2, per: 'batch' },
  'NftOwner.tokens': {
    statements: (args) =>
      3 + (args.withArrival === true ? 1 : 0) + (args.withNewHolders === true ? 1 : 0) + (isFiltered(args) ? 5 : 0),
    per: 'value',
    length: numberOf('pageSize', 100),
  },
  'NftOwner.contracts': {
    statements: (args) => 4 + (isFiltered(args) ? 1 : 0),
    per: 'value',
    length: numberOf('pageSize', 100),
  },
  'NftOwnedToken.token': { statements: 2, per: 'batch' },
  'NftOwnedToken.reasons': OF_OWNED,
  'NftOwnedToken.unknownReasons': OF_OWNED,
  'NftOwnedContract.contract': OF_OWNED_CONTRACT,
  'NftOwnedContract.reasons': OF_OWNED_CONTRACT,
  'NftOwnedContract.unknownReasons': OF_OWNED_CONTRACT,
  'NftTransfer.token': { statements: 2, per: 'batch' },
  'NftTransfer.contract': { statements: 1, per: 'batch' },
}
