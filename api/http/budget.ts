import type { QueryLimits, QueryParams, WarehouseReader, WordsReader } from '../../infra/ports/warehouse.ts'
import { AppError } from '../../schemas/errors.ts'
import { alternativesSql, keysSql, type LookupReader, lookupSql, rowsOfLookups } from './lookups.ts'
import { ACCOUNTS_GATHERED_MAX, type GatheringReader } from './small-accounts.ts'
import { GATHERED_MAX, SMALL_ACCOUNTS, type StatementQueue } from './statement-queue.ts'

/** Of one request: a level of GraphQL takes one for each window that is asked about, and two where its blocks tell what they paid. */
export const STATEMENTS_MAX = 40
/** That the statements of one request run, together. */
export const STATEMENT_MS_MAX = 15_000
/** A limit that stays the same is not told to the engine again. */
const TIME_STEP_MS = 1_000
/** After this nobody waits for one: the engine has been told to end it long before. */
export const STATEMENT_GIVEN_UP_MS = STATEMENT_MS_MAX + 2_000
/**
 * That one statement reads. Rows of a day lie by validator, so an account whose validators lie apart reads those of others between
 * them too: 100,000 tracked validators make 37 million rows in a year, and 23 million in the epochs of an open day. What this stops
 * is a statement without an end; for how long the others run is limited above.
 */
export const ROWS_READ_MAX = 1_000_000_000

export interface Budgeted {
  readonly warehouse: WordsReader
  readonly queue: StatementQueue
  readonly account: string
  /** Ends the request's statements; absent for what others may wait for as well. */
  readonly signal?: AbortSignal
}

/** Of what several requests ask for together. */
const LOOKUP_LIMITS = { timeMsMax: STATEMENT_MS_MAX, rowsReadMax: ROWS_READ_MAX }

const NEVER = new AbortController().signal

/**
 * The warehouse for one request: its statements wait for their account's turn, and end with the request. Beyond the request's
 * budget they reject with AppError `query_limit`.
 */
export function openBudget({ warehouse, queue, account, signal = NEVER }: Budgeted): LookupReader & GatheringReader {
  let statements = 0
  let spentMs = 0
  const admit = (share: number): void => {
    signal.throwIfAborted()
    statements += share
    if (statements > STATEMENTS_MAX) {
      throw new AppError('query_limit', `The question takes more than ${STATEMENTS_MAX} statements.`)
    }
  }
  const inTurn = async <Result>(ask: (limits: QueryLimits) => Promise<Result>): Promise<Result> => {
    admit(1)
    return queue.run(account, signal, async () => {
      const leftMs = STATEMENT_MS_MAX - spentMs
      if (leftMs <= 0) throw new AppError('query_limit', 'The question takes longer than one may.')
      const startMs = performance.now()
      try {
        const timeMsMax = Math.ceil(leftMs / TIME_STEP_MS) * TIME_STEP_MS
        return await ask({ signal, timeMsMax, rowsReadMax: ROWS_READ_MAX })
      } finally {
        spentMs += performance.now() - startMs
      }
    })
  }
  const gathering: WarehouseReader = {
    query: <Row>(sql: string, params?: QueryParams) => warehouse.query<Row>(sql, params, LOOKUP_LIMITS),
  }
  return {
    query: <Row>(sql: string, params?: QueryParams) => inTurn((limits) => warehouse.query<Row>(sql, params, limits)),
    queryWords: (sql, params) => inTurn((limits) => warehouse.queryWords(sql, params, limits)),
    async gather<Item, Result>(
      kind: string,
      item: Item,
      readAll: (warehouse: WarehouseReader, items: readonly Item[]) => Promise<readonly Result[]>,
    ): Promise<Result> {
      admit(1 / GATHERED_MAX)
      const gathered = { kind, item, most: ACCOUNTS_GATHERED_MAX }
      return await queue.gather(SMALL_ACCOUNTS, gathered, (items: readonly Item[]) => readAll(gathering, items))
    },
    async lookUp<Row>(kind: string, select: string): Promise<Row[]> {
      admit(1 / GATHERED_MAX)
      return await queue.gather(account, { kind, item: select }, async (selects: readonly string[]) => {
        // Whoever asks the same has the same rows.
        const distinct = [...new Set(selects)]
        const rows = await warehouse.query<Row>(lookupSql(distinct), {}, LOOKUP_LIMITS)
        const found = rowsOfLookups(rows, distinct.length)
        return selects.map((one) => found[distinct.indexOf(one)] as Row[])
      })
    },
    async lookUpKeys<Row>(select: string, keys: string): Promise<Row[]> {
      admit(1 / GATHERED_MAX)
      return await queue.gather(account, { kind: select, item: keys }, async (all: readonly string[]) => {
        const rows = await warehouse.query<Row>(keysSql(select, all), {}, LOOKUP_LIMITS)
        return all.map(() => rows)
      })
    },
    async lookUpWords(select: string, condition: string): Promise<Uint32Array> {
      admit(1 / GATHERED_MAX)
      return await queue.gather(account, { kind: select, item: condition }, async (all: readonly string[]) => {
        const words = await warehouse.queryWords(alternativesSql(select, all), {}, LOOKUP_LIMITS)
        return all.map(() => words)
      })
    },
  }
}
