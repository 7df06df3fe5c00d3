import type { Warehouse } from '../infra/ports/warehouse.ts'
import { OVERDUE_EPOCHS } from '../processors/validators/exit/look-at-exits.ts'
import type { ExitStep } from '../schemas/tables/accounts.ts'

/** Exits of a chain that are open or have failed. */
export interface ExitsStatus {
  /** Scheduled, and not signed yet. */
  readonly requested: number
  /** Signed, and not final. */
  readonly under_way: number
  /** Of those: public keys of exits that were signed many epochs ago. */
  readonly overdue: readonly string[]
  /** Until they are asked for again. */
  readonly failed: readonly { readonly pubkey: string; readonly reason: string }[]
}

interface ExitRow {
  readonly chain: string
  readonly pubkey: string
  readonly newest: ExitStep
  readonly why: string
  readonly signed_epoch: string
}

const OPEN_OR_FAILED = `
  SELECT
    chain, pubkey, argMax(step, version) AS newest, argMax(reason, version) AS why,
    toString(maxIf(epoch, step = 'signed')) AS signed_epoch
  FROM exit_steps FINAL WHERE chain IN {chains:Array(String)} GROUP BY chain, pubkey HAVING newest NOT IN ('cancelled', 'on_chain') ORDER BY chain, pubkey`

/** By chain; a chain without such exits is left out. `finalEpochs`: of each chain that is asked about, where one is known. */
export async function readExits(
  warehouse: Pick<Warehouse, 'query'>,
  finalEpochs: Readonly<Record<string, number | null>>,
): Promise<Readonly<Record<string, ExitsStatus>>> {
  const rows = await warehouse.query<ExitRow>(OPEN_OR_FAILED, { chains: Object.keys(finalEpochs) })
  const byChain = Map.groupBy(rows, ({ chain }) => chain)
  return Object.fromEntries([...byChain].map(([chain, own]) => [chain, toStatus(own, finalEpochs[chain] ?? null)]))
}

function toStatus(rows: readonly ExitRow[], finalEpoch: number | null): ExitsStatus {
  const underWay = rows.filter(({ newest }) => newest === 'signed' || newest === 'submitted')
  const isOverdue = (row: ExitRow) => finalEpoch !== null && finalEpoch - Number(row.signed_epoch) >= OVERDUE_EPOCHS
  return {
    requested: rows.filter(({ newest }) => newest === 'requested').length,
    under_way: underWay.length,
    overdue: underWay.filter(isOverdue).map(({ pubkey }) => pubkey),
    failed: rows.flatMap(({ newest, pubkey, why }) => (newest === 'failed' ? [{ pubkey, reason: why }] : [])),
  }
}

/** Lines for people about a chain's exits. */
export function exitLines(chain: string, { requested, under_way: underWay, overdue, failed }: ExitsStatus): string[] {
  return [
    `${chain}: ${requested} scheduled, ${underWay} under way`,
    ...overdue.map(
      (pubkey) => `${chain}: ${pubkey} was signed more than ${OVERDUE_EPOCHS} epochs ago and is not final`,
    ),
    ...failed.map(({ pubkey, reason }) => `${chain}: ${pubkey} has failed (${reason})`),
  ]
}
