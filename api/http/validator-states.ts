import type { ValidatorEpochRow } from '../../schemas/tables/rewards.ts'
import { inStatements } from '../../schemas/tables/statement-parts.ts'
import { type AccountScope, seenValidators } from './seen-validators.ts'
import { indicesOf, readTogether } from './small-accounts.ts'
import { StandingMemo } from './standing-memo.ts'

const COLUMNS = [
  'validator_index',
  'balance_gwei',
  'effective_balance_gwei',
  'status',
  'slashed',
  'activation_epoch',
  'exit_epoch',
  'withdrawable_epoch',
] as const satisfies readonly (keyof ValidatorEpochRow)[]

/** State of a validator at the end of an epoch. */
export type ValidatorState = Pick<ValidatorEpochRow, (typeof COLUMNS)[number]>

const STATES = `
  SELECT ${COLUMNS.join(', ')} FROM validator_epochs FINAL
  WHERE chain = {chain:String} AND epoch = {epoch:UInt32} AND validator_index IN {indices:Array(UInt32)}`

const stateMemo = new StandingMemo<ReadonlyMap<number, ValidatorState>>((states) => states.size)

/** States of the account's validators at the newest epoch, by index; a validator without a row has none. */
export function validatorStates(scope: AccountScope, epoch: number): Promise<ReadonlyMap<number, ValidatorState>> {
  const { standing, account } = scope
  const { chain } = standing
  return stateMemo.of(standing, account, async () => {
    const { registered } = await seenValidators(scope)
    const states = new Map<number, ValidatorState>()
    for (const some of inStatements(registered)) {
      const own = await readTogether(scope, `states ${epoch}`, some, async (warehouse, items) => {
        const rows = await warehouse.query<ValidatorState>(STATES, { chain, epoch, indices: indicesOf(items) })
        const found = new Map(rows.map((row) => [row.validator_index, row]))
        return items.map((validators) => validators.flatMap(({ index }) => found.get(index) ?? []))
      })
      for (const state of own) states.set(state.validator_index, state)
    }
    return states
  })
}
