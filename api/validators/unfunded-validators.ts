import { lastSlotOfEpoch } from '../../schemas/eth/time.ts'
import { isExpired, type UnfundedRules } from '../../schemas/validator-lifecycle.ts'
import { type AccountScope, seenValidators } from '../http/seen-validators.ts'
import { horizonOf } from '../rewards/horizon.ts'
import { createdValidators } from './created-validators.ts'

/** How many of the account's created validators wait for their deposits: neither funded nor expired, as the tables tell. */
export async function countUnfunded(scope: AccountScope & { readonly unfundedRules: UnfundedRules }): Promise<number> {
  const { expiryEpochs } = scope.unfundedRules
  const horizon = await horizonOf(scope.standing)
  const registered = new Set((await seenValidators(scope)).registered.map(({ pubkey }) => pubkey))
  const unfunded = [...(await createdValidators(scope)).values()].filter(({ pubkey }) => !registered.has(pubkey))
  if (horizon === undefined) return unfunded.length
  const atSlot = lastSlotOfEpoch(horizon.clock, horizon.epoch)
  return unfunded.filter((one) => !isExpired(horizon.clock, one, { atSlot, expiryEpochs })).length
}
