import { lastSlotOfEpoch } from '../../schemas/eth/time.ts'
import { type EarlyStatus, isExpired, type UnfundedRules } from '../../schemas/validator-lifecycle.ts'
import type { Horizon } from '../rewards/horizon.ts'
import type { AccountValidator } from './account-validators.ts'

/** What a created validator is while the registry has no state of it. Before the chain's clock is known nothing expires. */
export function earlyStatus(
  { created, deposit, failed, isRegistered }: Pick<AccountValidator, 'created' | 'deposit' | 'failed' | 'isRegistered'>,
  horizon: Pick<Horizon, 'clock' | 'epoch'> | undefined,
  { expiryEpochs }: UnfundedRules,
): EarlyStatus {
  if (isRegistered) return 'deposited' // it joined after the horizon
  if (failed?.kind === 'dropped_deposit') return 'failed'
  if (deposit !== undefined) return deposit.isFinal ? 'deposited' : 'deposited_not_finalized'
  const unfunded = failed === undefined ? 'provisioned' : 'failed'
  if (created === undefined || horizon === undefined) return unfunded
  const atSlot = lastSlotOfEpoch(horizon.clock, horizon.epoch)
  return isExpired(horizon.clock, created, { atSlot, expiryEpochs }) ? 'expired' : unfunded
}
