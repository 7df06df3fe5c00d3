import { VALIDATOR_STATUSES } from '../../schemas/events/beacon-epoch.ts'
import { IS_WITHDRAWAL } from '../../schemas/tables/rewards.ts'
import { inStatements } from '../../schemas/tables/statement-parts.ts'
import type { AccountScope } from '../http/seen-validators.ts'
import { StandingMemo } from '../http/standing-memo.ts'
import { validatorStates } from '../http/validator-states.ts'

/** What is withdrawable: with something left, be it the stake or what a sync committee has paid since, and with nothing. */
const WITHDRAWABLE = (['withdrawal_possible', 'withdrawal_done'] as const).map((name) =>
  VALIDATOR_STATUSES.indexOf(name),
)

const SWEPT = `
  SELECT validator_index, toString(min(slot)) AS slot FROM ledger_entries
  WHERE chain = {chain:String} AND ${IS_WITHDRAWAL} AND epoch >= {epoch:UInt32} AND validator_index IN {indices:Array(UInt32)}
    AND epoch >= transform(validator_index, {indices:Array(UInt32)}, {withdrawable:Array(UInt32)}, toUInt32(0))
  GROUP BY validator_index`

const sweptMemo = new StandingMemo<ReadonlyMap<number, number>>((swept) => swept.size)

/**
 * Slots at which the stakes were paid of those of the account's validators that are paid out, as far as the log goes back; by index. The
 * first withdrawal since a validator is withdrawable has all that it had (capella/beacon-chain.md, `is_fully_withdrawable_validator`); a
 * sync committee that it still sits in may pay it later, and the sweep that once more.
 */
export function sweptSlots(scope: AccountScope, horizonEpoch: number): Promise<ReadonlyMap<number, number>> {
  const { standing, account, shared } = scope
  return sweptMemo.of(standing, account, async () => {
    const states = await validatorStates(scope, horizonEpoch)
    const mayBePaid = [...states.values()].filter(({ status }) => WITHDRAWABLE.includes(status))
    const swept = new Map<number, number>()
    for (const some of inStatements(mayBePaid)) {
      const withdrawable = some.map(({ withdrawable_epoch }) => Number(withdrawable_epoch))
      const indices = some.map(({ validator_index }) => validator_index)
      const rows = await shared.query<{ validator_index: number; slot: string }>(SWEPT, {
        chain: standing.chain,
        epoch: Math.min(...withdrawable),
        indices,
        withdrawable,
      })
      for (const row of rows) swept.set(row.validator_index, Number(row.slot))
    }
    return swept
  })
}
