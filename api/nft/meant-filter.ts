import { meantReasons } from '../../schemas/routes/nft/without-reasons.ts'

/** What a list is filtered by, as one text for all ways to write it: lists are sets, and a filter that lets everything pass is none. */
export function meantFilter(filter: Readonly<Record<string, unknown>>): string {
  const { contract_address, contract_addresses, category, without_reasons, order, from_block, ...others } = filter
  const categories = asSet(category)
  return JSON.stringify({
    // Who takes both is given one of them, and the operation tells a list's contract from a filter's.
    contracts: asSet(contract_addresses ?? (contract_address === undefined ? [] : [contract_address])),
    categories: categories.length === CATEGORIES ? [] : categories,
    without: meantReasons(asSet(without_reasons)),
    ...(order === undefined ? {} : { isAscending: order !== 'desc' }),
    first: from_block ?? 0,
    ...others,
  })
}

/** ERC-721 and ERC-1155. */
const CATEGORIES = 2

/** A parameter that is a list of texts, or was not given. */
function asSet(items: unknown): readonly string[] {
  return Array.isArray(items) ? [...new Set<string>(items)].sort() : []
}
