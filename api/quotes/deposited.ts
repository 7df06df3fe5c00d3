import { DEPOSITED_MAX } from '../../schemas/jobs/quote-stake.ts'
import { accountDeposits } from '../http/account-deposits.ts'
import { type AccountScope, seenValidators } from '../http/seen-validators.ts'
import { horizonOf } from '../rewards/horizon.ts'
import { createdValidators } from '../validators/created-validators.ts'

/**
 * The validators that were created for an address of the account, and whose own deposits are on chain; newest first. Those that the
 * registry knows are left out: everybody knows them by that.
 */
export async function depositedFor(scope: AccountScope, address: string): Promise<string[]> {
  const created = await createdValidators(scope)
  const own = [...created.values()].filter(({ depositFrom }) => depositFrom === address)
  if (own.length === 0) return []
  const horizon = await horizonOf(scope.standing)
  const deposits = await accountDeposits(scope, horizon?.clock)
  const { registered } = await seenValidators(scope)
  const known = new Set(registered.map(({ pubkey }) => pubkey))
  return own
    .map(({ pubkey }) => pubkey)
    .filter((pubkey) => deposits.has(pubkey) && !known.has(pubkey))
    .slice(0, DEPOSITED_MAX)
}
