import type { UnfundedRules } from '../../schemas/validator-lifecycle.ts'
import type { AccountScope } from '../http/seen-validators.ts'
import { horizonOf } from '../rewards/horizon.ts'
import { accountValidators } from './account-validators.ts'
import { earlyStatus } from './lifecycle.ts'

interface UnfundedScope extends AccountScope {
  readonly nowMs: number
  readonly unfundedRules: UnfundedRules
}

/** How many of the account's created validators wait for their deposits: neither funded nor expired, as the tables tell. */
export async function countUnfunded(scope: UnfundedScope): Promise<number> {
  const horizon = await horizonOf(scope.standing)
  const validators = await accountValidators(scope, horizon)
  return validators.filter((one) => {
    if (one.registered !== undefined || one.deposit !== undefined) return false
    // One whose transaction was reverted may be funded by another.
    const status = earlyStatus(one, horizon, scope.unfundedRules)
    return status === 'provisioned' || status === 'failed'
  }).length
}
