import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { openMemoryCounters } from '../../infra/counters/memory.ts'
import { prepareDataDirectory } from '../../infra/data-directory.ts'
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

it.each(Object.entries(STORES))(
  'what is in the file of %s, and beside it, is its owner’s to read, of an earlier release too',
  async (_, open) => {
    const folder = join(mkdtempSync(join(directory, 'owned-')), 'data')
    const file = join(folder, 'data.sqlite')
    const modesIn = () => readdirSync(folder).map((name) => statSync(join(folder, name)).mode & 0o777)
    for (const isNew of [true, false]) {
      const store = await open(file)
      const modes = modesIn()
      expect(modes.length).toBeGreaterThan(1)
      expect(new Set(modes), isNew ? 'new' : 'found').toEqual(new Set([0o600]))
      await store[Symbol.asyncDispose]()
      for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644)
    }
    expect(statSync(folder).mode & 0o777).toBe(0o700)
  },
)

it('the data folder is made for its owner alone, and left as it is where it is there', async () => {
  const above = mkdtempSync(join(directory, 'above-'))
  const modeOf = (path: string) => statSync(path).mode & 0o777
  await prepareDataDirectory(join(above, 'data'))
  expect(modeOf(join(above, 'data'))).toBe(0o700)
  chmodSync(above, 0o755)
  await prepareDataDirectory(above)
  expect(modeOf(above)).toBe(0o755)
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
