import { bytesSql } from '../../schemas/tables/literals.ts'

/** What is there is burned, and nobody's. */
export const BURNED_AT = `0x${'dead'.padStart(40, '0')}`

/** Whether a column of addresses has another one, as SQL. */
export const notBurnedSql = (column: string): string => `${column} != ${bytesSql(BURNED_AT.slice(2))}`
