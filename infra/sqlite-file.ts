import { chmodSync, mkdirSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError, type ErrorCode } from '../schemas/errors.ts'
import { OWNER_ONLY, OWNER_ONLY_FOLDER } from './owner-only.ts'

/** How long a statement waits for another process that is writing to the same file before it fails as retryable. */
const BUSY_TIMEOUT_MS = 10_000
/** Pages of 4 KiB: a checkpoint every 16 MB instead of every 4 MB, because each one costs two fsyncs. */
const CHECKPOINT_PAGES = 4_000
/** The -wal file is cut back to this after a checkpoint, so a burst does not hold the disk for ever. */
const WAL_BYTES_KEPT = 64 * 1024 * 1024

const SQLITE_BUSY = 5
const SQLITE_LOCKED = 6
const SQLITE_READONLY = 8
const SQLITE_IOERR = 10
const SQLITE_CORRUPT = 11
const SQLITE_FULL = 13
const SQLITE_CANTOPEN = 14
const SQLITE_NOTADB = 26

/** With less than this SQLite cannot open a file: its shared memory alone takes as much. */
const FREE_BYTES_MIN = 64 * 1024

/** A database file, as errors speak of it. */
export interface SqliteSubject {
  /** Path; missing parent folders are made when it is opened, and it is for its owner alone from then on. */
  readonly file: string
  /** Code of the errors thrown for this file. */
  readonly code: ErrorCode
  /** A sentence: what to do when the file is damaged and there is no copy of it. */
  readonly withoutCopy: string
}

export interface SqliteFile extends SqliteSubject {
  /** CREATE … IF NOT EXISTS statements. */
  readonly schema: string
  /** What CREATE … IF NOT EXISTS does not add to a file of before `version`, in rising order; run before `schema`. */
  readonly changes?: readonly { readonly version: number; readonly statements: string }[]
  /** Kept in the file; opening a file that a newer program has written is refused. */
  readonly schemaVersion: number
  /** See https://sqlite.org/pragma.html#pragma_synchronous: both survive a kill, only FULL survives a power cut. */
  readonly synchronous: 'NORMAL' | 'FULL'
}

/**
 * Opens a database file that several processes may use at once (write-ahead log, one writer at a time).
 * Throws AppError: `config` when the file was written by a newer program, otherwise the file's own code.
 */
export function openSqliteFile(options: SqliteFile): DatabaseSync {
  return withSqliteErrors(options, () => {
    mkdirSync(dirname(options.file), { recursive: true, mode: OWNER_ONLY_FOLDER })
    const db = new DatabaseSync(options.file, { timeout: BUSY_TIMEOUT_MS })
    try {
      db.exec(`PRAGMA journal_mode = WAL`)
      keepForOwner(options.file)
      db.exec(`PRAGMA synchronous = ${options.synchronous}`)
      db.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
      db.exec(`PRAGMA journal_size_limit = ${WAL_BYTES_KEPT}`)
      migrate(db, options)
      return db
    } catch (error) {
      db.close()
      throw error
    }
  })
}

const PERMISSIONS = 0o777

/** Some hold proofs of passwords. What SQLite makes beside the file later has the file's rights. A file of somebody else keeps those that it was given. */
function keepForOwner(file: string): void {
  for (const path of [file, `${file}-wal`, `${file}-shm`]) {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined || found.uid !== process.getuid?.()) continue
    // A disk that cannot be written to any more is told by whoever writes.
    if ((found.mode & PERMISSIONS) !== OWNER_ONLY) chmodSync(path, OWNER_ONLY)
  }
}

function migrate(db: DatabaseSync, { schema, schemaVersion, changes = [] }: SqliteFile): void {
  const found = versionOf(db)
  if (found === schemaVersion) return
  if (found > schemaVersion) {
    throw new AppError(
      'config',
      `the data folder was written by a newer version of this program (format ${found}, this one knows ${schemaVersion}): use that version, or another data folder`,
    )
  }
  inTransaction(db, () => {
    // Another process may have changed it since it was looked at.
    const before = versionOf(db)
    if (before >= schemaVersion) return
    for (const { version, statements } of changes) if (before > 0 && before < version) db.exec(statements)
    db.exec(schema)
    db.exec(`PRAGMA user_version = ${schemaVersion}`)
  })
}

/** 0 for a new file. */
function versionOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version ?? 0)
}

/**
 * Runs `work` in one write transaction. IMMEDIATE takes the write lock at once: a transaction that starts by reading and
 * then writes could find that another process has written in between, which no waiting repairs.
 */
export function inTransaction<Result>(db: DatabaseSync, work: () => Result): Result {
  db.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    db.exec('COMMIT')
    return result
  } catch (error) {
    // SQLite has already rolled back by itself after some errors (disk full); a second ROLLBACK would hide the first error.
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

/**
 * Runs `work`; errors of SQLite become AppErrors of the file's code that name the file and what to do, retryable when waiting or
 * freeing disk space may help.
 */
export function withSqliteErrors<Result>(subject: SqliteSubject, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (!isSqliteError(error)) throw error
    const primary = error.errcode & 0xff // extended codes carry the primary one in the low byte
    const retryable = [SQLITE_BUSY, SQLITE_LOCKED, SQLITE_IOERR, SQLITE_FULL].includes(primary)
    const sentence = sentenceOf(primary, error.errstr, subject)
    throw new AppError(subject.code, sentence, { retryable, cause: error })
  }
}

/** Whether the file's bytes are not those of a database, rather than out of reach. */
export function isDamage(error: unknown): boolean {
  const found = error instanceof AppError ? error.cause : error
  return isSqliteError(found) && [SQLITE_CORRUPT, SQLITE_NOTADB].includes(found.errcode & 0xff)
}

function sentenceOf(code: number, reason: string, { file, withoutCopy }: SqliteSubject): string {
  switch (code) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return `${file} is damaged (${reason}): stop every process that uses it and put a copy in its place. ${withoutCopy}`
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return `${file} is being written by another process for too long (${reason}).`
    case SQLITE_FULL:
      return diskFull(file)
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
      if (isDiskFull(file)) return diskFull(file)
      return `${file} cannot be read or written (${reason}): see to its disk, its owner and its rights.`
    default:
      return `${file}: ${reason}`
  }
}

function diskFull(file: string): string {
  return `The disk that holds ${file} is full: free some space and start again; what has been written so far stays.`
}

/** SQLite says of a full disk in many ways that it is one, or only that something could not be written. */
function isDiskFull(file: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(file))
    return bavail * bsize < FREE_BYTES_MIN
  } catch {
    return false // then the folder is the trouble
  }
}

function isSqliteError(error: unknown): error is Error & { errcode: number; errstr: string } {
  return error instanceof Error && 'errcode' in error && 'errstr' in error
}
