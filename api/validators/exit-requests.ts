import type { ExitStep } from '../../schemas/tables/accounts.ts'
import { inStatements, KEYS_PER_STATEMENT } from '../../schemas/tables/statement-parts.ts'
import type { AccountScope } from '../http/seen-validators.ts'

/**
 * When an exit was last asked for, when one was last called off, and when a node has taken the last one since it was asked for; Unix
 * seconds, undefined where that has not been.
 */
export interface ExitRequest {
  readonly requestedSec: number | undefined
  readonly cancelledSec: number | undefined
  readonly submittedSec: number | undefined
}

const STEPS = `
  SELECT pubkey, toString(step) AS step, toUnixTimestamp(time) AS time_sec FROM exit_steps FINAL
  WHERE chain = {chain:String} AND pubkey IN {pubkeys:Array(String)}
  ORDER BY version`

interface StepRow {
  readonly pubkey: string
  readonly step: ExitStep
  readonly time_sec: number
}

/** Exits that were asked for, by public key. */
export async function exitRequests(
  { standing, shared }: AccountScope,
  pubkeys: readonly string[],
): Promise<ReadonlyMap<string, ExitRequest>> {
  const rows: StepRow[] = []
  for (const some of inStatements(pubkeys, KEYS_PER_STATEMENT)) {
    rows.push(...(await shared.query<StepRow>(STEPS, { chain: standing.chain, pubkeys: some })))
  }
  return new Map(
    Map.groupBy(rows, (row) => row.pubkey)
      .entries()
      .map(([pubkey, steps]) => [pubkey, toRequest(steps)]),
  )
}

/** `steps`: in the order of the log, the newest of each. */
function toRequest(steps: readonly StepRow[]): ExitRequest {
  const asked = steps.findIndex(({ step }) => step === 'requested')
  const requestedSec = steps[asked]?.time_sec
  const since = steps.slice(asked + 1)
  const cancelledSince = since.find(({ step }) => step === 'cancelled')
  // One of the same second would read as the end of the request that came after it.
  const before = steps.slice(0, Math.max(0, asked))
  const cancelledBefore = before.find(({ step, time_sec: sec }) => step === 'cancelled' && sec !== requestedSec)
  return {
    requestedSec,
    cancelledSec: (cancelledSince ?? cancelledBefore)?.time_sec,
    submittedSec: since.find(({ step }) => step === 'submitted')?.time_sec,
  }
}
