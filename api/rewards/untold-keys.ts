import { LOOKS_SQL, untoldFactsSql } from '../../schemas/tables/untold-keys.ts'
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

interface KeyRow {
  readonly account: string
  readonly pubkey: string
  /** Version of the first fact that names it. */
  readonly since: string
}

const KEYS = `
  SELECT own.account AS account, toString(facts.pubkey) AS pubkey, facts.since AS since
  FROM (${untoldFactsSql(`chain = {chain:String} AND pubkey IN (SELECT pubkey FROM (${SEEN_KEYS}))`)}) AS facts
  INNER JOIN (${SEEN_KEYS}) AS own ON own.pubkey = facts.pubkey`

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
    const [row] = await standing.warehouse.query<{ looked: string; told: string }>(LOOKS_SQL, { chain, epoch })
    return { looked: BigInt(row?.looked ?? 0), told: BigInt(row?.told ?? 0) }
  })
}
