import type { ExitStep } from '../../schemas/tables/accounts.ts'
import type { AccountScope } from '../http/seen-validators.ts'
import { byAccount, readTogether, SEEN_KEYS } from '../http/small-accounts.ts'
import { StandingMemo } from '../http/standing-memo.ts'

export interface ExitFlags {
  /** Requested, and neither handed to the chain yet nor over. */
  readonly isNeedExit: boolean
  /** A node has accepted it, or the chain has fixed the exit's epoch, whoever asked for it. */
  readonly isPostExit: boolean
}

const NEEDED: readonly ExitStep[] = ['requested', 'signed']
const POSTED: readonly ExitStep[] = ['submitted', 'on_chain']

const STEPS = `
  SELECT seen.account AS account, steps.pubkey AS pubkey, steps.newest AS newest
  FROM
  (
    SELECT pubkey, argMax(step, version) AS newest FROM exit_steps FINAL
    WHERE chain = {chain:String} AND pubkey IN (SELECT pubkey FROM (${SEEN_KEYS}))
    GROUP BY pubkey
  ) AS steps
  INNER JOIN (${SEEN_KEYS}) AS seen ON seen.pubkey = steps.pubkey`

interface StepRow {
  readonly account: string
  readonly pubkey: string
  readonly newest: ExitStep
}

const stepMemo = new StandingMemo<ReadonlyMap<string, ExitStep>>((steps) => steps.size)

/** `hasExitEpoch`: the chain has fixed the exit's epoch. */
export type ExitFlagsOf = (pubkey: string, hasExitEpoch: boolean) => ExitFlags

/** Tells of the account's validators how it stands with their exits. */
export async function exitFlags(scope: AccountScope): Promise<ExitFlagsOf> {
  const { standing, account } = scope
  const steps = await stepMemo.of(standing, account, async () => {
    const rows = await readTogether(scope, 'exit steps', account, async (warehouse, accounts) =>
      byAccount(accounts, await warehouse.query<StepRow>(STEPS, { chain: standing.chain, accounts })),
    )
    return new Map(rows.map(({ pubkey, newest }) => [pubkey, newest]))
  })
  return (pubkey, hasExitEpoch) => {
    const step = steps.get(pubkey)
    return {
      isNeedExit: !hasExitEpoch && step !== undefined && NEEDED.includes(step),
      isPostExit: hasExitEpoch || (step !== undefined && POSTED.includes(step)),
    }
  }
}
