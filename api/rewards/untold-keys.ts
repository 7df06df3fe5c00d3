import { UNTOLD_SLOT } from '../../schemas/tables/accounts.ts'
import { type AccountScope, seenValidators } from '../http/seen-validators.ts'
import { byAccount, readTogether, SEEN_KEYS } from '../http/small-accounts.ts'
import { StandingMemo } from '../http/standing-memo.ts'
import { validatorStates } from '../http/validator-states.ts'
import type { Horizon } from './horizon.ts'

/** Versions of account facts: whoever they and those before them name was looked for in the registry, and is asked about in the newest epoch. */
interface Looks {
  readonly looked: bigint
  readonly told: bigint
}

const LOOKS = `
  SELECT max(accounts_version) AS looked, maxIf(accounts_version, from_epoch <= {epoch:UInt32}) AS told
  FROM registry_looks FINAL WHERE chain = {chain:String}`

interface KeyRow {
  readonly account: string
  readonly pubkey: string
  /** Version of the first fact that names it. */
  readonly since: string
}

// What was made here came into the log before anybody could make a deposit for it: there is no closed day on which it was active. Where the
// slot is not told, an earlier log may have had it.
const OF_OWN = `chain = {chain:String} AND pubkey IN (SELECT pubkey FROM (${SEEN_KEYS}))`
const KEYS = `
  SELECT own.account AS account, toString(facts.pubkey) AS pubkey, facts.since AS since
  FROM
  (
    SELECT pubkey, min(version) AS since
    FROM
    (
      SELECT pubkey, version FROM validator_owners WHERE ${OF_OWN}
      UNION ALL SELECT pubkey, version FROM watched_validators WHERE ${OF_OWN}
    )
    GROUP BY pubkey
    HAVING since > {told:UInt64}
  ) AS facts
  INNER JOIN (${SEEN_KEYS}) AS own ON own.pubkey = facts.pubkey
  WHERE facts.pubkey NOT IN (
    SELECT pubkey FROM created_validators FINAL WHERE ${OF_OWN} AND created_at_slot != ${UNTOLD_SLOT}
  )`

const looksMemo = new StandingMemo<Looks>(() => 1)
const untoldMemo = new StandingMemo<ReadonlySet<string>>((keys) => keys.size)

/**
 * Public keys of the account that nothing is known of: they were tracked behind all looks for them in the registry, or were found by one, and
 * the newest epoch is told without them. Who was looked for and not found is none of them, nor is one of whom an epoch was asked for in vain: the
 * registry did not have it.
 */
export function untoldKeys(scope: AccountScope, horizon: Horizon): Promise<ReadonlySet<string>> {
  const { standing, account } = scope
  return untoldMemo.of(standing, account, async () => {
    const { registered, unregistered } = await seenValidators(scope)
    const states = await validatorStates(scope, horizon.epoch)
    const stateless = new Set(registered.filter(({ index }) => !states.has(index)).map(({ pubkey }) => pubkey))
    if (unregistered.length === 0 && stateless.size === 0) return new Set()
    const { looked, told } = await looksOf(scope, horizon)
    const rows = await readTogether(scope, `untold keys ${told}`, account, async (warehouse, accounts) =>
      byAccount(accounts, await warehouse.query<KeyRow>(KEYS, { chain: standing.chain, accounts, told })),
    )
    const isUnregistered = new Set(unregistered.map(({ pubkey }) => pubkey))
    const untold = rows.filter(
      ({ pubkey, since }) => stateless.has(pubkey) || (isUnregistered.has(pubkey) && BigInt(since) > looked),
    )
    return new Set(untold.map(({ pubkey }) => pubkey))
  })
}

function looksOf({ standing }: AccountScope, { chain, epoch }: Horizon): Promise<Looks> {
  return looksMemo.of(standing, '', async () => {
    const [row] = await standing.warehouse.query<{ looked: string; told: string }>(LOOKS, { chain, epoch })
    return { looked: BigInt(row?.looked ?? 0), told: BigInt(row?.told ?? 0) }
  })
}
