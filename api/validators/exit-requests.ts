import type { ExitStep } from '../../schemas/tables/accounts.ts'
import { type AccountScope, inStatements, PUBKEYS_PER_STATEMENT } from '../http/seen-validators.ts'

/** When an exit was last asked for, and when a node has taken it since, Unix seconds; undefined where that has not been. */
export interface ExitRequest {
  readonly requestedSec: number | undefined
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

/** Exits that were asked for and not called off, by public key. */
export async function exitRequests(
  { standing, shared }: AccountScope,
  pubkeys: readonly string[],
): Promise<ReadonlyMap<string, ExitRequest>> {
  const rows: StepRow[] = []
  for (const some of inStatements(pubkeys, PUBKEYS_PER_STATEMENT)) {
    rows.push(...(await shared.query<StepRow>(STEPS, { chain: standing.chain, pubkeys: some })))
  }
  const requests = new Map<string, ExitRequest>()
  for (const [pubkey, steps] of Map.groupBy(rows, (row) => row.pubkey)) {
    if (steps.at(-1)?.step === 'cancelled') continue
    const asked = steps.findIndex(({ step }) => step === 'requested')
    const submitted = steps.slice(asked + 1).find(({ step }) => step === 'submitted')
    requests.set(pubkey, { requestedSec: steps[asked]?.time_sec, submittedSec: submitted?.time_sec })
  }
  return requests
}
