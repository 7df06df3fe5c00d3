import { type Static, Type } from 'typebox'
import { closedThrough } from '../processors/rewards/closed-through.ts'
import { countChange } from '../processors/settlements/count-change.ts'
import { settledRows } from '../processors/settlements/settled-rows.ts'
import { settledSums } from '../processors/settlements/settled-sums.ts'
import { whySettlementsAreUnknown } from '../processors/verify/behind-log.ts'
import { proveSettledSpan } from '../processors/verify/prove-settlements.ts'
import { ChainDays, type ClosedThrough } from '../schemas/closed-through.ts'
import { AppError } from '../schemas/errors.ts'
import { type SettledRow, SettledSpan } from '../schemas/settled-rows.ts'
import { OwnedValidator, type SettledSums } from '../schemas/settled-sums.ts'
import { type ChangedSettlements, SettlementChange } from '../schemas/settlement-change.ts'
import type { Ports } from './role.ts'

/** What was just said or read is processed within this, unless the log is being caught up with. */
const PROCESSED_WITHIN_MS = 10_000

/**
 * What is asked of tables that have all of the log: what a change would do, by account and validator; up to which day a chain's days are
 * closed; what was settled of a validator, and of an account's blocks.
 */
export const SettlementQuestion = Type.Union([
  Type.Object({ command: Type.Literal('count'), change: SettlementChange }),
  Type.Object({ command: Type.Literal('closed-through'), days: Type.Array(ChainDays) }),
  Type.Object({ command: Type.Literal('settled-sums'), of: OwnedValidator }),
  Type.Object({ command: Type.Literal('settled-rows'), of: SettledSpan }),
])
export type SettlementQuestion = Static<typeof SettlementQuestion>

/** What looks wrong while processors work is looked at so often in all. */
const LOOKS_MAX = 3

/** Of these rows, facts of the log are made: throws AppError `usage` unless all of them are what their blocks prove. */
async function refuseUnproven(
  ports: Ports,
  span: SettledSpan,
  { waits, signal }: { readonly waits: boolean; readonly signal: AbortSignal },
): Promise<void> {
  let looks = waits ? LOOKS_MAX : 1
  const again = async (): Promise<boolean> => {
    if (--looks <= 0) return false
    return (await whySettlementsAreUnknown(ports, { waitMsMax: PROCESSED_WITHIN_MS, signal })) === undefined
  }
  const { wrong, examples } = await proveSettledSpan(ports.warehouse, span, again)
  const [first] = examples
  if (first === undefined) return
  throw new AppError(
    'usage',
    `${wrong} settlements of ${span.account} are not what their blocks prove, e.g. ${first.chain} slot ${first.slot}: ${first.reason}. ` +
      'Run `epochline verify`, which names them, and `epochline rebuild`, which makes the tables anew.',
  )
}

/**
 * Answers from tables that have all of the log, in rows; with `waits`, processors may be at work, and are waited for. Throws AppError
 * `usage` where the tables are not those of the log as it is now: they would say that nothing changes, or what no longer is so.
 */
export async function askTables(
  ports: Ports,
  question: SettlementQuestion,
  { waits, signal }: { readonly waits: boolean; readonly signal: AbortSignal },
): Promise<readonly (ChangedSettlements | ClosedThrough | SettledSums | SettledRow)[]> {
  const why = await whySettlementsAreUnknown(ports, { waitMsMax: waits ? PROCESSED_WITHIN_MS : 0, signal })
  if (why !== undefined) throw new AppError('usage', why)
  switch (question.command) {
    case 'count':
      return countChange(ports.warehouse, question.change)
    case 'closed-through':
      return closedThrough(ports.warehouse, question.days)
    case 'settled-sums':
      return settledSums(ports.warehouse, question.of)
    case 'settled-rows':
      await refuseUnproven(ports, question.of, { waits, signal })
      return settledRows(ports.warehouse, question.of)
  }
}
