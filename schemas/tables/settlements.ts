/** Sort keys: the columns that tell one row from another. */
export const SETTLEMENT_TABLES = { settlements: ['chain', 'account', 'slot'] } as const
