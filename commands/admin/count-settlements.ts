import { Compile } from 'typebox/compile'
import { openJobQueue, openWarehouseAsItIs } from '../../infra/open-ports.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { AppError } from '../../schemas/errors.ts'
import { ChangedSettlements, type SettlementChange } from '../../schemas/settlement-change.ts'
import { countInTables } from '../count-in-tables.ts'
import type { Ports } from '../role.ts'
import { askRunning } from '../running-program.ts'
import type { Setting } from '../setting.ts'

/** What a change would do to what was settled, or why that cannot be told now, as sentences. */
export type Counted = { readonly rows: readonly ChangedSettlements[] } | { readonly unknown: string }

export type Counting = (change: SettlementChange) => Promise<Counted>

const isCounted = Compile(ChangedSettlements)

/** Counts in the warehouse, or asks the program that has it. Neither makes a warehouse nor brings one to this release. */
export function countingOf({ config, log, signal }: Setting, eventLog: EventLog): Counting & AsyncDisposable {
  const open = new AsyncDisposableStack()
  let opened: Promise<Ports> | undefined
  const openPorts = async (): Promise<Ports> => ({
    eventLog,
    warehouse: open.use(await openWarehouseAsItIs(config)),
    jobQueue: open.use(await openJobQueue(config, log)),
  })
  const count: Counting = async (change) => {
    try {
      const lines: string[] = []
      const asking = { print: (line: string) => void lines.push(line), signal }
      if (await askRunning(config, { command: 'count', change }, asking)) return { rows: lines.map(toCounted) }
      opened ??= openPorts()
      // Processes of servers do not know of each other: some may be at work.
      return { rows: await countInTables(await opened, change, { waits: config.mode.kind === 'servers', signal }) }
    } catch (error) {
      if (error instanceof AppError && (error.code === 'usage' || error.retryable)) return { unknown: error.message }
      throw error
    }
  }
  return Object.assign(count, { [Symbol.asyncDispose]: () => open.disposeAsync() })
}

function toCounted(line: string): ChangedSettlements {
  const row: unknown = JSON.parse(line)
  if (isCounted.Check(row)) return row
  throw new AppError('usage', 'The program that holds this data folder is of another release.')
}
