import { Compile } from 'typebox/schema'
import { openJobQueue, openWarehouseAsItIs } from '../../infra/open-ports.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { type ChainDays, ClosedThrough } from '../../schemas/closed-through.ts'
import { AppError } from '../../schemas/errors.ts'
import { SettledRow, type SettledSpan } from '../../schemas/settled-rows.ts'
import { type OwnedValidator, SettledSums } from '../../schemas/settled-sums.ts'
import { ChangedSettlements, type SettlementChange } from '../../schemas/settlement-change.ts'
import type { Ports } from '../role.ts'
import { askRunning } from '../running-program.ts'
import type { Setting } from '../setting.ts'
import { askTables, type SettlementQuestion } from '../settled-tables.ts'

/** Rows of an answer, or why there is none now, as sentences. */
export type Answered<Row> = { readonly rows: readonly Row[] } | { readonly unknown: string }

/** What a change would do to what was settled. */
export type Counted = Answered<ChangedSettlements>

export type Counting = (change: SettlementChange) => Promise<Counted>

/** What has been settled, as far as the tables have all of the log. */
export interface Settled extends AsyncDisposable {
  readonly count: Counting
  /** Up to which day each chain's days are closed. */
  readonly closedThrough: (days: readonly ChainDays[]) => Promise<Answered<ClosedThrough>>
  /** What was settled of a validator for an account: one row. */
  readonly sums: (of: OwnedValidator) => Promise<Answered<SettledSums>>
  /** What follows from an account's blocks, by chain and slot. */
  readonly rows: (of: SettledSpan) => Promise<Answered<SettledRow>>
}

const isCounted = Compile(ChangedSettlements)
const isClosedThrough = Compile(ClosedThrough)
const isSums = Compile(SettledSums)
const isSettledRow = Compile(SettledRow)

/** Asks the warehouse, or the program that has it. Neither makes a warehouse nor brings one to this release. */
export function settledOf({ config, log, signal }: Setting, eventLog: EventLog): Settled {
  const open = new AsyncDisposableStack()
  let opened: Promise<Ports> | undefined
  const openPorts = async (): Promise<Ports> => ({
    eventLog,
    warehouse: open.use(await openWarehouseAsItIs(config)),
    jobQueue: open.use(await openJobQueue(config, log)),
  })
  const rowsOf = async (question: SettlementQuestion): Promise<readonly unknown[]> => {
    const lines: string[] = []
    const asking = { print: (line: string) => void lines.push(line), signal }
    if (await askRunning(config, question, asking)) return lines.map((line) => JSON.parse(line))
    opened ??= openPorts()
    // Processes of servers do not know of each other: some may be at work.
    return await askTables(await opened, question, { waits: config.mode.kind === 'servers', signal })
  }
  const ask = async <Row>(question: SettlementQuestion, isRow: RowCheck<Row>): Promise<Answered<Row>> => {
    try {
      return { rows: (await rowsOf(question)).map((row) => checkedRow(row, isRow)) }
    } catch (error) {
      if (error instanceof AppError && (error.code === 'usage' || error.retryable)) return { unknown: error.message }
      throw error
    }
  }
  return {
    count: (change) => ask({ command: 'count', change }, isCounted),
    closedThrough: (days) => ask({ command: 'closed-through', days: [...days] }, isClosedThrough),
    sums: (of) => ask({ command: 'settled-sums', of }, isSums),
    rows: (of) => ask({ command: 'settled-rows', of }, isSettledRow),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

interface RowCheck<Row> {
  Check(value: unknown): value is Row
}

function checkedRow<Row>(row: unknown, isRow: RowCheck<Row>): Row {
  if (isRow.Check(row)) return row
  throw new AppError('usage', 'The program that holds this data folder is of another release.')
}
