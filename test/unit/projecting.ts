import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { Derivation, deriveTogether, type Wanted } from '../../processors/derive.ts'
import { BATCH_EVENTS_MAX, type Projecting, type Projector, project } from '../../processors/loop/consume.ts'
import { DeadLetters } from '../../processors/loop/dead-letters.ts'
import { dropRemoved } from '../../processors/loop/drop-chains.ts'
import { LogFactsReader, openLogFacts } from '../../processors/loop/log-facts.ts'
import { type RebuildOptions, rebuild } from '../../processors/loop/rebuild.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { type DeriveDayInput, deriveDay } from '../../schemas/jobs/derive-day.ts'
import type { FoldNftInput } from '../../schemas/jobs/fold-nft.ts'
import type { SettleAccountInput } from '../../schemas/jobs/settle-account.ts'
import { FOLDED_TABLES } from '../../schemas/tables/nft.ts'
import { PROJECTIONS } from '../../schemas/tables/projections.ts'
import { filledTables } from './filled-tables.ts'
import { silentLog } from './silent-log.ts'

const never = new AbortController().signal

/** Keeps what is wanted until somebody makes it: what the job queue is to the program. */
export class WantedLater implements Wanted {
  readonly #warehouse: Warehouse
  readonly #chains = new Set<string>()
  readonly #days = new Map<string, DeriveDayInput>()
  readonly #accounts = new Set<string>()

  constructor(warehouse: Warehouse) {
    this.#warehouse = warehouse
  }

  async fold({ chain }: FoldNftInput): Promise<void> {
    this.#chains.add(chain)
  }

  async day(input: DeriveDayInput): Promise<void> {
    this.#days.set(deriveDay.idOf(input), input)
  }

  async account(input: SettleAccountInput): Promise<void> {
    this.#accounts.add(input.account)
  }

  async make(): Promise<void> {
    const [chains, days, accounts] = [new Set(this.#chains), [...this.#days.values()], new Set(this.#accounts)]
    this.#chains.clear()
    this.#days.clear()
    this.#accounts.clear()
    await deriveTogether(this.#warehouse, { chains, days, accounts })
  }
}

/** What processors need; `wanted.make` makes the figures of several events that their batches have asked for. */
export async function projecting(
  eventLog: EventLog,
  warehouse: Warehouse,
): Promise<Projecting & { readonly wanted: WantedLater }> {
  const facts = await openLogFacts(eventLog, 0, never)
  const wanted = new WantedLater(warehouse)
  const { derive } = new Derivation(warehouse, wanted)
  const deadLetters = await DeadLetters.open(eventLog)
  const source = { known: facts, current: async () => facts }
  return { eventLog, warehouse, log: silentLog, facts: source, derive, deadLetters, wanted }
}

/** A process: what it needs to project, with facts that it follows. */
export async function openProcess(
  eventLog: EventLog,
  warehouse: Warehouse,
): Promise<Projecting & { readonly wanted: WantedLater }> {
  const wanted = new WantedLater(warehouse)
  const derivation = new Derivation(warehouse, wanted)
  const onRemovals: Parameters<typeof LogFactsReader.open>[0]['onRemovals'] = async (facts) => {
    await dropRemoved({ eventLog, warehouse }, facts, never)
    derivation.forgetClocks()
  }
  const facts = await LogFactsReader.open({ eventLog, now: 0, signal: never, onRemovals })
  const deadLetters = await DeadLetters.open(eventLog)
  return { eventLog, warehouse, log: silentLog, facts, derive: derivation.derive, deadLetters, wanted }
}

/** Projects what every topic holds, as processors do when they begin anew, and makes what is wanted. */
export async function projectEverything(
  ports: Awaited<ReturnType<typeof projecting>>,
  projectors: readonly Projector[] = PROJECTORS,
): Promise<void> {
  for (const projector of projectors) {
    const stored = await Array.fromAsync(ports.eventLog.read({ topic: projector.topic, signal: never }))
    for (let at = 0; at < stored.length; at += BATCH_EVENTS_MAX) {
      await project(ports, projector, stored.slice(at, at + BATCH_EVENTS_MAX))
    }
  }
  await ports.wanted.make()
}

/** Rebuilds the warehouse from the log: everything, unless a scope is named. */
export async function rebuildFrom(
  eventLog: EventLog,
  warehouse: Warehouse,
  scope: RebuildOptions['scope'] = {},
  signal: AbortSignal = never,
): Promise<boolean> {
  return rebuild(
    {
      eventLog,
      warehouse,
      log: silentLog,
      facts: await openLogFacts(eventLog, 0, never),
      projectors: PROJECTORS,
      scope,
      now: () => 1_700_000_000_000,
      onProgress: () => {},
    },
    signal,
  )
}

const REVERTED = 'SELECT chain, block_hash FROM reverted_blocks FINAL WHERE is_reverted = 1'
/** The one that has come furthest; of several, the one that has most. */
const OF_ANSWERING_FOLD = `(t.chain, t.block_hash) NOT IN (${REVERTED}) AND (t.chain, t.start) IN (
  SELECT chain, argMax(start, (through, -toInt64(start)))
  FROM (
    SELECT chain, start, max(block_number) AS through FROM nft_blocks
    WHERE (chain, block_hash) NOT IN (${REVERTED}) GROUP BY chain, start
  )
  GROUP BY chain
)`

/**
 * Everything that the tables say, versions included unless positions differ between what is compared. What was folded of blocks that were
 * reverted since, or below blocks that are not there, counts for nobody, and depends on when it was folded.
 */
export async function dumpTables(
  warehouse: Warehouse,
  { versions }: { readonly versions: boolean } = { versions: true },
): Promise<Record<string, unknown[]>> {
  const raw = await warehouse.query<{ table: string; name: string }>(
    "SELECT table, name FROM system.columns WHERE database = currentDatabase() AND type IN ('FixedString(20)', 'FixedString(32)')",
  )
  const folded: ReadonlySet<string> = new Set(FOLDED_TABLES)
  const filled = await filledTables(warehouse)
  const tables: Record<string, unknown[]> = {}
  for (const [table, key] of Object.entries(PROJECTIONS)) {
    tables[table] = []
    if (!filled.has(table)) continue
    const bytes = raw.filter((column) => column.table === table).map(({ name }) => name)
    const without = [...bytes, ...(versions ? [] : ['version'])]
    const columns = [
      without.length === 0 ? '*' : `* EXCEPT (${without.join(', ')})`,
      ...bytes.map((name) => `concat('0x', lower(hex(${name}))) AS ${name}`),
    ]
    const where = folded.has(table) ? `WHERE ${OF_ANSWERING_FOLD}` : ''
    // Their orders begin behind chain and start, which are the partition's: two folds have the same blocks.
    const settings = folded.has(table) ? 'SETTINGS do_not_merge_across_partitions_select_final = 1' : ''
    tables[table] = await warehouse.query(
      `SELECT ${columns.join(', ')} FROM ${table} AS t FINAL ${where} ORDER BY ${key.map((name) => `t.${name}`).join(', ')} ${settings}`,
    )
  }
  return tables
}

/** The rows of one chain, in the tables that have any of it; versions left out, since positions differ from log to log. */
export async function dumpChain(warehouse: Warehouse, chain: string): Promise<Record<string, unknown[]>> {
  const tables = await dumpTables(warehouse, { versions: false })
  const isOfChain = (row: unknown): boolean => (row as { chain?: unknown }).chain === chain
  const own = Object.entries(tables).map(([table, rows]) => [
    table,
    rows.filter(isOfChain).map((row) => ({ ...(row as object), chain: '' })),
  ])
  return Object.fromEntries(own.filter(([, rows]) => (rows as unknown[]).length > 0))
}
