import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { lockDirectory, tryLock } from '../../infra/directory-lock.ts'

async function newDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'epochline-lock-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return directory
}

test('a directory has one holder, and the refusal names what is in it and the holder', async () => {
  const directory = await newDirectory()
  using _ = lockDirectory(directory)
  expect(() => lockDirectory(directory, 'The devnet in this data folder')).toThrow(
    expect.objectContaining({
      code: 'usage',
      retryable: true,
      message: expect.stringMatching(`^The devnet in this data folder is in use by process ${process.pid}: stop that`),
    }),
  )
  expect(() => lockDirectory(directory)).toThrow(/^The warehouse in this data folder is in use/)
})

test('a directory that was given back can be held again', async () => {
  const directory = await newDirectory()
  lockDirectory(directory)[Symbol.dispose]()
  lockDirectory(directory)[Symbol.dispose]()
})

test('a lock is free as soon as its process is killed', async () => {
  const file = join(await newDirectory(), 'lock')
  const module = join(import.meta.dirname, '..', '..', 'infra', 'directory-lock.ts')
  const script = `import { tryLock } from ${JSON.stringify(module)}
    const lock = tryLock(${JSON.stringify(file)})
    process.stdout.write(lock === undefined ? 'refused' : 'held')
    setInterval(() => lock, 1_000)`
  const holder = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [answer] = await once(holder.stdout, 'data')
  expect(String(answer)).toBe('held')
  expect(tryLock(file)).toBeUndefined()
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  using lock = tryLock(file)
  expect(lock).toBeDefined()
})

test('files are locked one by one', async () => {
  const directory = await newDirectory()
  using one = tryLock(join(directory, 'one'))
  using other = tryLock(join(directory, 'other'))
  expect([one, other]).not.toContain(undefined)
})
