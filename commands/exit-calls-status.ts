import type { Warehouse } from '../infra/ports/warehouse.ts'

/** Calls that are named one by one, the newest. */
const NAMED_MAX = 10

/** What became of the final calls to a chain's exit-request contract. */
export interface ExitCallsStatus {
  readonly taken: number
  readonly ignored: number
  /** The newest that were ignored, or of which some validators were left as they are; the newest first. */
  readonly not_whole: readonly {
    readonly transaction_hash: string
    readonly withdrawal_address: string
    /** Why nothing was done; absent where something was. */
    readonly reason?: string
    /** Validators that were left as they are, by reason. */
    readonly passed_over?: Readonly<Record<string, number>>
  }[]
}

interface CountRow {
  readonly chain: string
  readonly taken: string
  readonly ignored: string
}

interface NamedRow {
  readonly chain: string
  readonly transaction_hash: string
  readonly withdrawal_address: string
  readonly reason: string
  readonly passed_over: string
}

const COUNTS = `
  SELECT chain, countIf(status = 'taken') AS taken, countIf(status = 'ignored') AS ignored
  FROM exit_call_ends FINAL WHERE chain IN {chains:Array(String)} GROUP BY chain ORDER BY chain`

const NOT_WHOLE = `
  SELECT
    chain, toString(transaction_hash) AS transaction_hash, toString(withdrawal_address) AS withdrawal_address, reason, passed_over
  FROM exit_call_ends FINAL WHERE chain IN {chains:Array(String)} AND (status = 'ignored' OR passed_over != '{}')
  ORDER BY version DESC LIMIT {named_max:UInt32} BY chain`

/** By chain; a chain without calls is left out. */
export async function readExitCalls(
  warehouse: Pick<Warehouse, 'query'>,
  chains: readonly string[],
): Promise<Readonly<Record<string, ExitCallsStatus>>> {
  const counts = await warehouse.query<CountRow>(COUNTS, { chains })
  if (counts.length === 0) return {}
  const named = await warehouse.query<NamedRow>(NOT_WHOLE, { chains, named_max: NAMED_MAX })
  const status = counts.map(({ chain, taken, ignored }): [string, ExitCallsStatus] => [
    chain,
    {
      taken: Number(taken),
      ignored: Number(ignored),
      not_whole: named.filter((row) => row.chain === chain).map(toNamed),
    },
  ])
  return Object.fromEntries(status)
}

function toNamed(row: NamedRow): ExitCallsStatus['not_whole'][number] {
  const { transaction_hash, withdrawal_address, reason } = row
  const why = reason === '' ? { passed_over: JSON.parse(row.passed_over) as Record<string, number> } : { reason }
  return { transaction_hash, withdrawal_address, ...why }
}

/** Lines for people about a chain's calls. */
export function exitCallLines(chain: string, { taken, ignored, not_whole: named }: ExitCallsStatus): string[] {
  return [
    `${chain}: ${taken} taken, ${ignored} ignored`,
    ...named.map(({ transaction_hash: hash, reason, passed_over: passed = {} }) => {
      const counts = Object.entries(passed).map(([why, validators]) => `${validators} ${why}`)
      return `${chain}: ${hash} ${reason === undefined ? `left out ${counts.join(', ')}` : `was ignored (${reason})`}`
    }),
  ]
}
