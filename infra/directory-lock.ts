import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError } from '../schemas/errors.ts'
import { withSqliteErrors } from './sqlite-file.ts'

/**
 * Holds the lock of this file until it is disposed or the process ends, however it ends; undefined when it is held already,
 * by another process or by this one.
 *
 * The lock is SQLite's write lock on a small file: the kernel gives it back when its process dies, so no lock is ever
 * stale and two processes cannot take one over at the same time.
 */
export function tryLock(file: string, holderPid = process.pid): Disposable | undefined {
  return withSqliteErrors({ file, code: 'usage', withoutCopy: 'Without one, remove it: it holds nothing.' }, () => {
    const database = new DatabaseSync(file)
    try {
      database.exec('PRAGMA busy_timeout = 0')
      database.exec('BEGIN IMMEDIATE')
    } catch (error) {
      database.close()
      if (error instanceof Error && /database is locked/.test(error.message)) return undefined
      throw error
    }
    notePid(file, holderPid)
    return { [Symbol.dispose]: () => database.close() }
  })
}

/** Who holds it is only for a message: on a full disk the lock holds all the same. */
function notePid(file: string, pid: number): void {
  try {
    writeFileSync(pidFileOf(file), `${pid}\n`)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
  }
}

/**
 * Holds the directory for this process until it is disposed or the process ends. `what` is what the directory holds, as the
 * beginning of a sentence; `holderPid` names another process than this one where that has to be stopped. Throws AppError `usage`
 * naming the holder.
 */
export function lockDirectory(
  directory: string,
  what = 'The warehouse in this data folder',
  holderPid = process.pid,
): Disposable {
  const file = join(directory, 'lock')
  const lock = tryLock(file, holderPid)
  if (lock !== undefined) return lock
  throw new AppError(
    'usage',
    `${what} is in use by process ${holderOf(file)}: stop that process first, or name another folder, e.g. ` +
      'EPOCHLINE_DATA=./data-2.',
    { retryable: true },
  )
}

function pidFileOf(file: string): string {
  return `${file}.pid`
}

/** Only for the message: the lock itself is not in this file. */
function holderOf(file: string): string {
  try {
    return readFileSync(pidFileOf(file), 'utf8').trim()
  } catch {
    return '(just starting)'
  }
}
