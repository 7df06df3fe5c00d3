import type { CodedTexts } from '../../schemas/tables/coded-texts.ts'
import type { ColumnParts, Numbers } from '../../schemas/tables/column-parts.ts'

/** Columns of one insert, by name; all of one length. Numbers and bigints go in as typed arrays, text as strings. */
export type InsertColumns = Readonly<Record<string, InsertColumn>>

/**
 * The ClickHouse type is taken from the table; the array only has to hold values of it. Bytes of a FixedString, and of integers of 128
 * and 256 bits (little-endian), may come one row after the other in one Uint8Array.
 */
export type InsertColumn = WholeColumn | ColumnParts

/** A column in one memory, or of values of the language. */
export type WholeColumn =
  | Numbers
  | readonly string[] // String, FixedString and LowCardinality(String)
  | CodedTexts // the same
  | readonly bigint[] // Int128 … UInt256

export type WholeColumns = Readonly<Record<string, WholeColumn>>

export type QueryParams = Readonly<
  Record<string, string | number | bigint | boolean | readonly (string | number | bigint)[]>
>

/** What one question may take, and who waits for it. */
export interface QueryLimits {
  /** Ends the statement, waiting or running, when it aborts; the query then rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** Beyond one of these the query rejects with AppError `query_limit`. The time is that of the statement alone. */
  readonly timeMsMax?: number
  readonly rowsReadMax?: number
}

/** What answers need of the warehouse. */
export interface WarehouseReader {
  /** All rows of a SELECT with `{name:Type}` parameters; at most `rowsMax` of the adapter, beyond that it throws. */
  query<Row>(sql: string, params?: QueryParams, limits?: QueryLimits): Promise<Row[]>
  /**
   * Tells without a statement whether tables were written to: between two calls with one result nobody did. Undefined while somebody
   * does; there is no such method where others may write who are not heard of. A statement that may change any table counts for each, and
   * alone for none.
   */
  writesOf?(tables: readonly string[]): number | undefined
  /** What is being written to tables: undefined where nothing is, and where `writesOf` is missing. */
  writing?(tables: readonly string[]): Writing | undefined
}

/** Writes that have begun and not ended. */
export interface Writing {
  /** What `writesOf` has told before the first of them, where no other one has ended since. */
  readonly before: number
  /** When the first of them began, by `performance.now()`. */
  readonly sinceMs: number
  /** Resolves once all of them have ended, well or not. */
  readonly ended: () => Promise<unknown>
}

/** What answers of very many rows need beside it. */
export interface WordsReader extends WarehouseReader {
  /**
   * The rows of a SELECT one after the other, as 32-bit words: of columns of fixed width, each a multiple of four bytes, with integers
   * little-endian. As many rows as there are.
   */
  queryWords(sql: string, params?: QueryParams, limits?: QueryLimits): Promise<Uint32Array>
}

/**
 * The projection of the log that is asked questions: ClickHouse, in-process or over HTTP.
 *
 * Guarantees: when `insert` resolves, every later `query` sees the rows; parameters are bound by the server, never pasted
 * into the text, and refused (AppError `warehouse`) where they are longer than a server takes (`PARAMETER_BYTES_MAX`); 64-bit and wider integers come back as decimal strings; a long query keeps neither inserts nor a few other
 * queries waiting.
 * Not promised: transactions over several inserts, uniqueness (tables keep the newest version of a key: read with FINAL).
 */
export interface Warehouse extends WordsReader, AsyncDisposable {
  /** Name of the database that the tables lie in: what another one names it by. */
  readonly database: string
  /**
   * Another database of the same engine, created when it is missing: tables of both can exchange partitions. To be disposed
   * before this one.
   */
  beside(database: string): Promise<Warehouse>
  /** Inserts one block of columns. Column types are those of the table. */
  insert(table: string, columns: InsertColumns): Promise<void>
  /** A statement without result: DDL, or INSERT … SELECT. */
  command(sql: string, params?: QueryParams): Promise<void>
  /**
   * Writes the parts of a partition anew as one, by its id in system.parts, unless some of them are being merged already; without an id
   * some parts of one partition, which the engine chooses: those that cost least for how many they are. Rows stay what they are, and other
   * statements go on meanwhile: millions of rows take minutes. Ends soon when the signal aborts, and does nothing then.
   */
  merge(table: string, partitionId: string | undefined, signal: AbortSignal): Promise<void>
}
