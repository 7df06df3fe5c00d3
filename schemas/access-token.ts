import type { AllowLists } from './allow-lists.ts'

/** What a token may be for: to read figures, to create validators, to let them exit. None includes another. */
export const TOKEN_SCOPES = ['read', 'create', 'exit'] as const
export type TokenScope = (typeof TOKEN_SCOPES)[number]

/** The families of the API that a token may be for, by the names of their folders in api/. */
export const TOKEN_FAMILIES = ['rewards', 'validators', 'graphql', 'nft', 'gateway'] as const
export type TokenFamily = (typeof TOKEN_FAMILIES)[number]

/** A token that is for what was ordered alone, and for as long as that runs. */
export interface TokenOrder {
  readonly id: string
  /** An instant: the token works before it. */
  readonly until: string
}

/** What a token is for, all of it together: a scope counts in these families and on this chain only. */
export interface TokenLimits {
  readonly scopes: readonly TokenScope[]
  /** Absent: all families, those of later releases too. */
  readonly families?: readonly TokenFamily[]
  /** Name of a chain; absent: all chains, those that are added later too. */
  readonly chain?: string
  /** From where it may be used, and for which calls of the gateway; absent: from everywhere, for all. */
  readonly allow?: AllowLists
  /** Its calls go to the nodes of this order, and nobody else's do; absent: to those that all share. */
  readonly order?: TokenOrder
}

/** Whether the order that a token is for is over at a time in Unix milliseconds. */
export function isExpired({ order }: Pick<TokenLimits, 'order'>, nowMs: number): boolean {
  return order !== undefined && nowMs >= Date.parse(order.until)
}

/** Characters of the name that an operator gives to a token. */
export const TOKEN_NAME_MAX = 64
/** No control characters, invisible ones or line breaks: names are printed to terminals, one to a line. For the flag `u`. */
export const TOKEN_NAME_PATTERN = `^[^\\p{C}\\p{Zl}\\p{Zp}]{0,${TOKEN_NAME_MAX}}$`

/** Characters of a token's hash that tell it from others: the token itself is nowhere. */
export const TOKEN_HASH_CHARACTERS = 12
