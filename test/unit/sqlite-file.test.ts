import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { openMemoryCounters } from '../../infra/counters/memory.ts'
import { lockDirectory } from '../../infra/directory-lock.ts'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import { openSqliteJobQueue } from '../../infra/job-queue/sqlite.ts'
import { withSqliteErrors } from '../../infra/sqlite-file.ts'
import { silentLog } from './silent-log.ts'

const directory = mkdtempSync(join(tmpdir(), 'sqlite-file-'))
afterAll(() => rmSync(directory, { recursive: true }))

const STORES = {
  'the event log': (file: string) => openSqliteEventLog({ file }),
  'the job queue': (file: string) => openSqliteJobQueue({ file, log: silentLog }),
  counters: (file: string) => openMemoryCounters({ file }),
}

describe.each(Object.entries(STORES))('a damaged file of %s is named, with what to do,', (name, open) => {
  it.each([
    ['when it is no database any more', (bytes: Buffer) => bytes.fill(0x55)],
    ['when its pages are overwritten', (bytes: Buffer) => bytes.fill(0x55, 100)],
  ])('%s', async (_, damage) => {
    const file = join(mkdtempSync(join(directory, 'store-')), 'data.sqlite')
    await (await open(file))[Symbol.asyncDispose]()
    writeFileSync(file, damage(readFileSync(file)))
    for (const beside of ['-wal', '-shm']) if (existsSync(file + beside)) rmSync(file + beside)
    await expect(
      (async () => {
        const store = await open(file)
        try {
          if ('ends' in store) await store.ends('accounts')
          if ('pending' in store) await store.pending('any')
        } finally {
          await store[Symbol.asyncDispose]()
        }
      })(),
      name,
    ).rejects.toThrow(
      expect.objectContaining({
        name: 'AppError',
        message: expect.stringMatching(`^${file} is damaged .*Without one, `),
      }),
    )
  })
})

it('a damaged lock of a folder is named, too', () => {
  const folder = mkdtempSync(join(directory, 'locked-'))
  writeFileSync(join(folder, 'lock'), 'x'.repeat(5_000))
  expect(() => lockDirectory(folder)).toThrow(
    expect.objectContaining({ name: 'AppError', message: expect.stringMatching(/lock is damaged .*remove it/) }),
  )
})

it('a full disk is named with the file, and may pass', () => {
  const file = join(directory, 'full.sqlite')
  using db = new DatabaseSync(file)
  db.exec('CREATE TABLE t (x BLOB); PRAGMA max_page_count = 3')
  const fill = () => db.exec('INSERT INTO t VALUES (zeroblob(100000))')
  expect(() => withSqliteErrors({ file, code: 'event_log', withoutCopy: '' }, fill)).toThrow(
    expect.objectContaining({
      code: 'event_log',
      retryable: true,
      message: expect.stringMatching(`^The disk that holds ${file} is full: free some space`),
    }),
  )
})
