import type { AccountScope } from '../../api/http/seen-validators.ts'
import { type Standing, Standings } from '../../api/http/standings.ts'
import { dayOfHorizon, horizonOf } from '../../api/rewards/horizon.ts'
import { accountValidators } from '../../api/validators/account-validators.ts'
import { createdValidators } from '../../api/validators/created-validators.ts'
import { earlyStatus } from '../../api/validators/lifecycle.ts'
import { toStatus } from '../../api/validators/validator-status.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { areTablesWhole } from '../../processors/loop/filled-from.ts'
import type { AccountStanding } from '../../processors/webhooks/notice-changes.ts'
import { ownIntervals } from '../../processors/webhooks/own-days.ts'
import { dayOfInstant, formatDay } from '../../schemas/eth/time.ts'
import type { Ownership } from '../../schemas/ownership.ts'
import type { UnfundedRules } from '../../schemas/validator-lifecycle.ts'

interface Looking {
  readonly warehouse: Warehouse
  /** Whose validators are, by the log. */
  readonly ownership: Ownership
  readonly rules: UnfundedRules
  /** Unix milliseconds. */
  readonly nowMs: () => number
}

/**
 * How accounts stand by the tables: the statuses are made where those of `POST …/validator/details` are, so a webhook never tells
 * another one than the API does. What an account only watches is left out.
 */
export function standingsOf(
  looking: Looking,
): (account: string, chain: string) => Promise<AccountStanding | undefined> {
  const standings = new Standings(looking.warehouse)
  const made = new WeakMap<Standing, Map<string, AccountStanding>>()
  return async (account, chain) => {
    const standing = await standings.of(chain)
    const ofStanding = made.get(standing) ?? new Map<string, AccountStanding>()
    made.set(standing, ofStanding)
    const known = ofStanding.get(account)
    if (known !== undefined) return known
    // Tables that are made anew begin empty: what they lack is no news.
    if (!(await areTablesWhole(looking.warehouse))) return undefined
    const answer = await lookAt({ standing, account, shared: standing.warehouse }, looking)
    ofStanding.set(account, answer)
    return answer
  }
}

async function lookAt(scope: AccountScope, { ownership, rules, nowMs }: Looking): Promise<AccountStanding> {
  const { account, standing } = scope
  const horizon = await horizonOf(standing)
  const validators = await accountValidators({ ...scope, nowMs: nowMs() }, horizon)
  const today = horizon === undefined ? dayOfInstant(nowMs() / 1_000) : dayOfHorizon(horizon)
  const created = await createdValidators(scope)
  const own = ownIntervals(ownership, { account, chain: standing.chain }, (pubkey) => {
    const createdAtSec = created.get(pubkey)?.createdAtSec
    return createdAtSec === undefined ? undefined : dayOfInstant(createdAtSec)
  })
  const closedDays = horizon?.closedDays.map(({ day }) => day) ?? []
  return {
    epoch: horizon?.epoch,
    closedDays: closedDays.map(formatDay),
    ownDays: new Set(
      closedDays.filter((day) => own.some(({ fromDay, toDay }) => fromDay <= day && day < toDay)).map(formatDay),
    ),
    validators: validators
      .filter(({ pubkey }) => ownership.ownerOn(standing.chain, pubkey, today) === account)
      .map((validator) => ({
        pubkey: validator.pubkey,
        status:
          validator.registered === undefined
            ? earlyStatus(validator, horizon, rules)
            : toStatus(validator.registered.status),
        index: validator.registered?.validator_index,
      })),
  }
}
