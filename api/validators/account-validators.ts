import { type DayNumber, dayOfInstant } from '../../schemas/eth/time.ts'
import { accountDeposits, type OnChainDeposit } from '../http/account-deposits.ts'
import { type FailedFunding, failedFundings } from '../http/failed-fundings.ts'
import type { AccountScope } from '../http/seen-validators.ts'
import { isIn, seenValidators } from '../http/seen-validators.ts'
import { StandingMemo } from '../http/standing-memo.ts'
import { dayOfHorizon, type Horizon } from '../rewards/horizon.ts'
import { type CreatedValidator, createdValidators } from './created-validators.ts'
import { type ListedValidator, listValidators } from './list-validators.ts'

/** A validator of the account: created here, known to the registry, or both. */
export interface AccountValidator {
  readonly pubkey: string
  readonly withdrawalCredentials: string
  readonly created: CreatedValidator | undefined
  /** The registry knows it, though perhaps not at the horizon yet. */
  readonly isRegistered: boolean
  /** Its state at the horizon. */
  readonly registered: ListedValidator | undefined
  readonly deposit: OnChainDeposit | undefined
  /** Of one that the registry does not know. */
  readonly failed: FailedFunding | undefined
}

const validatorsMemo = new StandingMemo<readonly AccountValidator[]>((validators) => validators.length)

/**
 * The account's validators as they stand, in an order that nothing but further ones changes: those that were created here, the newest
 * before others and then by public key, then the others by descending index.
 */
export function accountValidators(
  scope: AccountScope & { readonly nowMs: number },
  horizon: Horizon | undefined,
): Promise<readonly AccountValidator[]> {
  const today = horizon === undefined ? dayOfInstant(scope.nowMs / 1_000) : dayOfHorizon(horizon)
  const key = JSON.stringify([scope.account, today])
  return validatorsMemo.of(scope.standing, key, () => listAll(scope, horizon, today))
}

async function listAll(
  scope: AccountScope,
  horizon: Horizon | undefined,
  today: DayNumber,
): Promise<readonly AccountValidator[]> {
  const everything = { former: false, pubkeys: [], credentials: [] }
  const [listed, { registered, unregistered }, created, deposits, failed] = await Promise.all([
    horizon === undefined ? [] : listValidators(scope, horizon, everything),
    seenValidators(scope),
    createdValidators(scope),
    accountDeposits(scope, horizon?.clock),
    failedFundings(scope, horizon),
  ])
  const own = new Set(
    [...registered.flatMap(({ pubkey, intervals }) => intervals.map((days) => ({ pubkey, ...days }))), ...unregistered]
      .filter((days) => isIn(days, today))
      .map(({ pubkey }) => pubkey),
  )
  const known = new Set(registered.map(({ pubkey }) => pubkey))
  const states = new Map(listed.map((state) => [state.pubkey, state]))
  const toValidator = (pubkey: string, withdrawalCredentials: string): AccountValidator => ({
    pubkey,
    withdrawalCredentials,
    created: created.get(pubkey),
    isRegistered: known.has(pubkey),
    registered: states.get(pubkey),
    deposit: deposits.get(pubkey),
    failed: failed.get(pubkey),
  })
  return [
    ...[...created.values()]
      .filter(({ pubkey }) => own.has(pubkey))
      .map(({ pubkey, withdrawalCredentials }) =>
        toValidator(pubkey, states.get(pubkey)?.withdrawal_credentials ?? withdrawalCredentials),
      ),
    ...listed
      .toReversed()
      .filter(({ pubkey }) => !created.has(pubkey))
      .map(({ pubkey, withdrawal_credentials }) => toValidator(pubkey, withdrawal_credentials)),
  ]
}

/** The same of validators that the registry has states of, former ones too. */
export async function withPast(
  scope: AccountScope,
  horizon: Horizon,
  listed: readonly ListedValidator[],
): Promise<readonly AccountValidator[]> {
  const created = await createdValidators(scope)
  const deposits = await accountDeposits(scope, horizon.clock)
  return listed.map((registered) => ({
    pubkey: registered.pubkey,
    withdrawalCredentials: registered.withdrawal_credentials,
    created: created.get(registered.pubkey),
    isRegistered: true,
    registered,
    deposit: deposits.get(registered.pubkey),
    failed: undefined,
  }))
}
