import { FAR_FUTURE_EPOCH } from '../../schemas/eth/far-future.ts'
import { lastSlotOfEpoch } from '../../schemas/eth/time.ts'
import { type AccountScope, type SeenValidator, seenValidators } from '../http/seen-validators.ts'
import { StandingMemo } from '../http/standing-memo.ts'
import { type ValidatorState, validatorStates } from '../http/validator-states.ts'
import type { Horizon } from './horizon.ts'
import { untoldKeys } from './untold-keys.ts'

/** Slots whose proposers tell how large the registry is at least: a day of mainnet's. */
const PROPOSERS_SLOTS = 7_200

/** What the registry had at the horizon: whoever has a state there, and whoever proposed before. Indices are given in order. */
const NEWEST_INDEX = `
  SELECT greatest(
    (SELECT max(validator_index) FROM validator_epochs WHERE chain = {chain:String} AND epoch = {epoch:UInt32}),
    (SELECT max(proposer_index) FROM finalized_blocks
     WHERE chain = {chain:String} AND slot BETWEEN {fromSlot:UInt64} AND {toSlot:UInt64})
  ) AS newest`

const activationsMemo = new StandingMemo<ReadonlyMap<number, bigint>>((activations) => activations.size)
const newestMemo = new StandingMemo<number>(() => 1)

/**
 * The epoch in which each of the account's validators is activated, by index. One of which no state of the horizon is there came to be tracked
 * since, if the registry had it by then or nobody has asked: of its days nothing is known, so all of them count as those of an active one.
 */
export function activationsOf(scope: AccountScope, horizon: Horizon): Promise<ReadonlyMap<number, bigint>> {
  return activationsMemo.of(scope.standing, scope.account, async () => {
    const { registered } = await seenValidators(scope)
    const states = await validatorStates(scope, horizon.epoch)
    const isWhole = registered.every(({ index }) => states.has(index))
    const newest = isWhole ? -1 : await newestIndex(scope, horizon)
    const untold = await untoldKeys(scope, horizon)
    const isUnknown = ({ index, pubkey }: SeenValidator) => index <= newest || untold.has(pubkey)
    return new Map(registered.map((one) => [one.index, activationOf(states.get(one.index), isUnknown(one))]))
  })
}

function activationOf(state: ValidatorState | undefined, isUnknown: boolean): bigint {
  if (state !== undefined) return BigInt(state.activation_epoch)
  return isUnknown ? 0n : FAR_FUTURE_EPOCH
}

function newestIndex({ standing }: AccountScope, { chain, clock, epoch }: Horizon): Promise<number> {
  return newestMemo.of(standing, '', async () => {
    const toSlot = lastSlotOfEpoch(clock, epoch)
    const params = { chain, epoch, fromSlot: Math.max(0, toSlot - PROPOSERS_SLOTS), toSlot }
    const [row] = await standing.warehouse.query<{ newest: number }>(NEWEST_INDEX, params)
    return row?.newest ?? -1
  })
}
