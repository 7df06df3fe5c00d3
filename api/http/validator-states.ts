import type { ValidatorEpochRow } from '../../schemas/tables/rewards.ts'
import { type AccountScope, inStatements, seenValidators } from './seen-validators.ts'
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
  const { standing, account, shared } = scope
  return stateMemo.of(standing, account, async () => {
    const { registered } = await seenValidators(scope)
    const states = new Map<number, ValidatorState>()
    for (const some of inStatements(registered)) {
      const indices = some.map(({ index }) => index)
      const rows = await shared.query<ValidatorState>(STATES, { chain: standing.chain, epoch, indices })
      for (const row of rows) states.set(row.validator_index, row)
    }
    return states
  })
}
