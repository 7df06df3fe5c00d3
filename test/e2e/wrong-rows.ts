import type { Environment } from './processes.ts'
import { openTables, type Row, type Tables } from './stores.ts'

/** Above every version that a log gives: these rows stay until their part of the table is made anew. */
const WRONG_VERSION = 10n ** 15n
const NO_HASH = `0x${'ff'.repeat(32)}`

/**
 * Puts rows into the tables that no event tells of: a final block and a closed day of each of the chains. A
 * rebuild leaves nothing of them in what it rebuilds, and all of them in the rest.
 */
export async function writeWrongRows(env: Environment, chains: readonly [string, ...string[]]): Promise<void> {
  await using warehouse = await openTables(env)
  const [one, none] = [BigUint64Array.of(1n), Uint32Array.of(0)]
  const version = BigUint64Array.of(WRONG_VERSION)
  for (const chain of chains) {
    await warehouse.insert('execution_finality', {
      chain: [chain],
      block_number: one,
      block_hash: [NO_HASH],
      version,
    })
    await warehouse.insert('closed_days', {
      chain: [chain],
      day: Uint16Array.of(1),
      first_slot: one,
      last_slot: one,
      validators: none,
      validators_unexplained: none,
      validators_incomplete: none,
      version,
    })
  }
}

export function isWrong({ version }: Row): boolean {
  return version === String(WRONG_VERSION)
}

/** Table and chain of each of those that are left. */
export function wrongRowsIn(tables: Tables): readonly string[] {
  return Object.entries(tables)
    .flatMap(([table, rows]) => rows.filter(isWrong).map(({ chain }) => `${table} ${chain}`))
    .sort()
}
