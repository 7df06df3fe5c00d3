import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError } from '../schemas/errors.ts'

/**
 * Holds the directory for this process until it is disposed or the process ends, however it ends.
 *
 * The lock is SQLite's write lock on a small file: the kernel gives it back when its process dies, so no lock is ever
 * stale and two processes cannot take one over at the same time. Throws AppError `usage` naming the holder.
 */
export function lockDirectory(directory: string): Disposable {
  const pidFile = join(directory, 'lock.pid')
  const database = new DatabaseSync(join(directory, 'lock'))
  try {
    database.exec('PRAGMA busy_timeout = 0')
    database.exec('BEGIN IMMEDIATE')
  } catch (error) {
    database.close()
    if (!(error instanceof Error) || !/database is locked/.test(error.message)) throw error
    throw new AppError(
      'usage',
      `The warehouse in this data folder is in use by process ${holder(pidFile)}: stop that process first, or name ` +
        'another folder, e.g. EPOCHLINE_DATA=./data-2.',
      { retryable: true },
    )
  }
  writeFileSync(pidFile, `${process.pid}\n`)
  return { [Symbol.dispose]: () => database.close() }
}

/** Only for the message: the lock itself is not in this file. */
function holder(pidFile: string): string {
  try {
    return readFileSync(pidFile, 'utf8').trim()
  } catch {
    return '(just starting)'
  }
}
