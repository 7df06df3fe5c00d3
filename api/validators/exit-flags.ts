import type { ExitStep } from '../../schemas/tables/accounts.ts'
import type { AccountScope } from '../http/seen-validators.ts'
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
  SELECT pubkey, argMax(step, version) AS newest FROM exit_steps FINAL
  WHERE chain = {chain:String} AND pubkey IN
  (
    SELECT pubkey FROM account_validators WHERE account = {account:String} AND chain = {chain:String}
    UNION ALL SELECT pubkey FROM watched_validators WHERE account = {account:String} AND chain = {chain:String}
  )
  GROUP BY pubkey`

const stepMemo = new StandingMemo<ReadonlyMap<string, ExitStep>>((steps) => steps.size)

/** `hasExitEpoch`: the chain has fixed the exit's epoch. */
export type ExitFlagsOf = (pubkey: string, hasExitEpoch: boolean) => ExitFlags

/** Tells of the account's validators how it stands with their exits. */
export async function exitFlags(scope: AccountScope): Promise<ExitFlagsOf> {
  const { standing, account, shared } = scope
  const steps = await stepMemo.of(standing, account, async () => {
    const rows = await shared.query<{ pubkey: string; newest: ExitStep }>(STEPS, { chain: standing.chain, account })
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
