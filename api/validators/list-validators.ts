import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import { blockRevenuesSql, PROVEN_CLASSES } from '../../schemas/tables/block-revenues.ts'
import { inStatements, NUMBERS_PER_STATEMENT } from '../../schemas/tables/statement-parts.ts'
import { type AccountScope, isIn, seenValidators } from '../http/seen-validators.ts'
import { indicesOf, readTogether } from '../http/small-accounts.ts'
import { StandingMemo } from '../http/standing-memo.ts'
import { type ValidatorState, validatorStates } from '../http/validator-states.ts'
import { dayOfHorizon, type Horizon } from '../rewards/horizon.ts'

export interface ListedValidator extends ValidatorState {
  readonly pubkey: string
  readonly withdrawal_credentials: string
  /** Whether the account has it, or watches it, on the day of the horizon: what is asked of it on other days is not for its eyes. */
  readonly isSeenToday: boolean
}

export interface ValidatorFilter {
  /** Whether validators that the account had before count as well. */
  readonly former: boolean
  /** Lower-case with 0x; empty means all. */
  readonly pubkeys: readonly string[]
  /** Lower-case with 0x; empty means all. Matches credentials that pay to it. */
  readonly credentials: readonly string[]
}

/** Withdrawal credentials that pay to an address. */
export function credentialsOf(address: string): string[] {
  const tail = `${'00'.repeat(11)}${address.slice(2).toLowerCase()}`
  return [`0x01${tail}`, `0x02${tail}`]
}

/** The account's validators with a state at the horizon, by ascending index. */
export async function listValidators(
  scope: AccountScope,
  horizon: Horizon,
  { former, pubkeys, credentials }: ValidatorFilter,
): Promise<readonly ListedValidator[]> {
  const { registered } = await seenValidators(scope)
  const states = await validatorStates(scope, horizon.epoch)
  const today = dayOfHorizon(horizon)
  const [wantedKeys, wantedCredentials] = [new Set(pubkeys), new Set(credentials)]
  return registered.flatMap(({ index, pubkey, withdrawalCredentials, intervals }) => {
    const state = states.get(index)
    const isSeenToday = intervals.some((days) => isIn(days, today))
    const isSeen = isSeenToday || (former && intervals.some(({ fromDay }) => fromDay <= today))
    const isWanted =
      (wantedKeys.size === 0 || wantedKeys.has(pubkey)) &&
      (wantedCredentials.size === 0 || wantedCredentials.has(withdrawalCredentials))
    if (state === undefined || !isSeen || !isWanted) return []
    return [{ ...state, pubkey, withdrawal_credentials: withdrawalCredentials, isSeenToday }]
  })
}

const recipientMemo = new StandingMemo<ReadonlyMap<number, string>>((recipients) => recipients.size)

/**
 * Who got the newest proven revenue of each of the account's validators, by the blocks of the last day on which it has proposed one. The
 * coinbase is no witness: where a builder makes the block, it is the builder's.
 */
export function feeRecipients(scope: AccountScope): Promise<ReadonlyMap<number, string>> {
  const { standing, account } = scope
  return recipientMemo.of(standing, account, async () => {
    const { registered } = await seenValidators(scope)
    const recipients = new Map<number, string>()
    for (const some of inStatements(registered)) {
      const rows = await readTogether(scope, 'recipients', some, async (warehouse, items) => {
        const found = await newestRecipients(warehouse, standing.chain, indicesOf(items))
        const rowOf = new Map(found.map((row) => [row.proposer_index, row]))
        return items.map((validators) => validators.flatMap(({ index }) => rowOf.get(index) ?? []))
      })
      for (const row of rows) recipients.set(row.proposer_index, row.recipient)
    }
    return recipients
  })
}

interface RecipientRow {
  readonly proposer_index: number
  readonly recipient: string
}

const OWN_BLOCKS = 'chain = {chain:String} AND proposer_index IN {indices:Array(UInt32)}'
const NEWEST_DAYS = `
  SELECT proposer_index, slot FROM finalized_blocks FINAL
  WHERE ${OWN_BLOCKS} AND (proposer_index, day) IN
    (SELECT proposer_index, argMax(day, slot) FROM finalized_blocks WHERE ${OWN_BLOCKS} GROUP BY proposer_index)`
const NEWEST_RECIPIENTS = `
  SELECT proposer_index, argMax(recipient, slot) AS recipient
  FROM (${blockRevenuesSql('f.chain = {chain:String} AND f.slot IN {slots:Array(UInt64)}')})
  WHERE revenue_class IN {proven:Array(String)} GROUP BY proposer_index`

/** In two statements: with the first one within the other, six times, the engine takes twice as long to understand it. */
async function newestRecipients(
  warehouse: WarehouseReader,
  chain: string,
  indices: readonly number[],
): Promise<readonly RecipientRow[]> {
  const blocks = await warehouse.query<{ proposer_index: number; slot: string }>(NEWEST_DAYS, { chain, indices })
  // All blocks of a proposer's day are asked for together: what one of them paid, others may tell.
  const days = [...Map.groupBy(blocks, (block) => block.proposer_index).values()]
  const found: RecipientRow[] = []
  for (const some of inStatements(days, NUMBERS_PER_STATEMENT, ({ length }) => length)) {
    const slots = some.flat().map(({ slot }) => BigInt(slot))
    found.push(...(await warehouse.query<RecipientRow>(NEWEST_RECIPIENTS, { chain, slots, proven: PROVEN_CLASSES })))
  }
  return found
}
