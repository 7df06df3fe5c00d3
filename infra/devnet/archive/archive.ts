import { rmSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { deserialize, serialize } from 'node:v8'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { AppError } from '../../../schemas/errors.ts'
import { inTransaction, isDamage, openSqliteFile, withSqliteErrors } from '../../sqlite-file.ts'

/** Puts what was prepared into the transaction that the archive has open. */
export type Write = () => void

/**
 * A chain on disk: what it made up to its newest checkpoint, and the checkpoint itself, which a restart goes on from. Everything
 * between two checkpoints is one transaction, so a crash at any moment leaves the older one whole, and the chain is made again from
 * there. Who owns a table says so in its schema.
 */
export interface Archive extends Disposable {
  /** The statement, prepared once. */
  prepare(sql: string): StatementSync
  /** A part of the newest checkpoint, as it was given to `setPart`; undefined without one. */
  part(name: string): unknown
  /** To be called within `commit`. */
  setPart(name: string, value: unknown): void
  /** All of the writes are there afterwards, or none. */
  commit(writes: readonly Write[]): void
  /** Forgets everything: the chain begins anew. */
  clear(): void
}

/** What an archive holds cannot be read, or belongs to another way to make the chain. */
export class ArchiveUnusable extends Error {}

/** A change of what the tables or the checkpoint's parts hold takes the next number: older archives are then made anew. */
const FORMAT = 3

const CHECKPOINT_SCHEMA = 'CREATE TABLE IF NOT EXISTS checkpoint (name TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT;'
const FORMAT_PART = 'format'

export function pack(value: unknown): Uint8Array {
  return zstdCompressSync(serialize(value))
}

export function unpack(bytes: Uint8Array): unknown {
  return deserialize(zstdDecompressSync(bytes))
}

/** The bytes under zstd, as an array of their own. */
export function unzipped(bytes: Uint8Array): Uint8Array {
  const { buffer, byteOffset, byteLength } = zstdDecompressSync(bytes)
  return new Uint8Array(buffer, byteOffset, byteLength)
}

/** Runs what reads an archive; whatever it finds wrong is ArchiveUnusable, except what an operator can act on. */
export async function restoring<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof AppError) throw error
    throw new ArchiveUnusable(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

/**
 * Opens the archive in a file, which need not exist. A file that is no database, or that another format of this program has
 * written, is `onUnusable`'s to tell about, and is replaced by an empty one.
 */
export function openArchive(file: string, schema: string, onUnusable: (reason: string) => void): Archive {
  let db = openDatabase(file, schema, onUnusable)
  const statements = new Map<string, StatementSync>()

  function prepare(sql: string): StatementSync {
    const known = statements.get(sql) ?? db.prepare(sql)
    statements.set(sql, known)
    return known
  }

  function part(name: string): unknown {
    const row = prepare('SELECT data FROM checkpoint WHERE name = ?').get(name)
    return row === undefined ? undefined : unpack(row.data as Uint8Array)
  }

  function setPart(name: string, value: unknown): void {
    prepare('INSERT OR REPLACE INTO checkpoint (name, data) VALUES (?, ?)').run(name, pack(value))
  }

  function clear(): void {
    statements.clear()
    db.close()
    removeFiles(file)
    db = openDatabase(file, schema, onUnusable)
  }

  return {
    prepare,
    part,
    setPart,
    commit(writes) {
      const work = () => {
        setPart(FORMAT_PART, FORMAT)
        for (const write of writes) write()
      }
      withSqliteErrors(subjectOf(file), () => inTransaction(db, work))
    },
    clear,
    [Symbol.dispose]: () => db.close(),
  }
}

function openDatabase(file: string, schema: string, onUnusable: (reason: string) => void): DatabaseSync {
  // A crash of the machine may cost the newest checkpoints, never the file: NORMAL syncs before it checkpoints the log.
  const open = () => {
    const options = { schema: CHECKPOINT_SCHEMA + schema, schemaVersion: 1, synchronous: 'NORMAL' } as const
    return openSqliteFile({ ...subjectOf(file), ...options })
  }
  try {
    const db = open()
    const row = db.prepare('SELECT data FROM checkpoint WHERE name = ?').get(FORMAT_PART)
    if (row === undefined || isOfFormat(row.data as Uint8Array)) return db
    db.close()
    onUnusable('another version of the program wrote it')
  } catch (error) {
    if (!isDamage(error)) throw error // a full disk is no reason to forget the chain
    onUnusable('its file is damaged')
  }
  removeFiles(file)
  return open()
}

function isOfFormat(bytes: Uint8Array): boolean {
  try {
    return unpack(bytes) === FORMAT
  } catch {
    return false
  }
}

function subjectOf(file: string) {
  return { file, code: 'config', withoutCopy: 'Without one, remove it: the chain is made anew.' } as const
}

function removeFiles(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
}
