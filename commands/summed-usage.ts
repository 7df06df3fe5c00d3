import { type Static, Type } from 'typebox'
import { readUsage, type UsageSums } from '../api/account/usage-sums.ts'
import type { WarehouseReader } from '../infra/ports/warehouse.ts'
import { AppError } from '../schemas/errors.ts'

/** Accounts times networks of one answer. */
const USAGE_ROWS_MAX = 50_000

/** What calls came to, by account and network. */
export const UsageQuestion = Type.Object({
  command: Type.Literal('usage'),
  /** Without it, of all. */
  account: Type.Optional(Type.String()),
  /** Unix seconds. */
  fromSec: Type.Integer(),
  /** Behind the last. */
  toSec: Type.Integer(),
})
export type UsageQuestion = Static<typeof UsageQuestion>

/** Answers as the account's own `GET /usage` does. Throws AppError `usage` for more rows than one answer has. */
export async function summedUsage(
  warehouse: Pick<WarehouseReader, 'query'>,
  { account, fromSec, toSec }: UsageQuestion,
): Promise<readonly UsageSums[]> {
  const asked = { account, fromSec, toSec, step: 'all', by: ['account', 'blockchain'] } as const
  const { rows, total } = await readUsage(warehouse, asked, { rows: USAGE_ROWS_MAX, offset: 0 })
  if (total <= USAGE_ROWS_MAX) return rows
  throw new AppError('usage', `There are ${total} rows, and one answer has ${USAGE_ROWS_MAX}: name an account.`)
}
