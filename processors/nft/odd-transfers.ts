/** What may be odd about a transfer: each is one bit. */
export const ODD = {
  from_not_holder: 1,
  minted_again: 2,
  from_lacks_amount: 4,
  no_amount: 8,
} as const

/** All that is odd about a transfer as the tables have it, by its bits. */
export const ODD_TRANSFERS: readonly string[] = Array.from({ length: 16 }, (_, bits) =>
  Object.entries(ODD)
    .filter(([, bit]) => (bits & bit) !== 0)
    .map(([reason]) => reason)
    .join(','),
)
