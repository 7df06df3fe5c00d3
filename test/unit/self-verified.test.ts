import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import type { CreatedInProcess } from './create-in-process.ts'

const HERE = import.meta.dirname
/** So few that no other thread is given any. */
const FEW = 3
/** So many that threads are given some of them, where there is more than one core. */
const MANY = 100
const FAILED = expect.stringMatching(
  /^A signature that the key vault has just made does not hold, so no key was handed/,
)

/** Creates validators in a process where a signature is wrong. */
async function createWhere(wrongIn: 'process' | 'thread' | 'nowhere', count: number): Promise<CreatedInProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'epochline-verified-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const flags = ['--disable-warning=ExperimentalWarning', '--import', join(HERE, 'wrong-signatures.ts')]
  const program = [join(HERE, 'create-in-process.ts'), folder, String(count)]
  const env = { PATH: process.env.PATH, WRONG_IN: wrongIn }
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, ...program], { env })
  return JSON.parse(stdout)
}

test('nothing is answered, told or sealed where a signature is wrong that the vault’s own thread has made', async () => {
  expect(await createWhere('process', FEW)).toEqual({ outcome: FAILED, told: 0, keys: 0, requests: 0 })
})

// On one core there are no other threads.
test.skipIf(availableParallelism() < 2)('nor where it was made in another thread', async () => {
  expect(await createWhere('thread', MANY)).toEqual({ outcome: FAILED, told: 0, keys: 0, requests: 0 })
})

test('all is where none is wrong', async () => {
  expect(await createWhere('nowhere', MANY)).toEqual({ outcome: 'created', told: 1, keys: MANY, requests: 1 })
})
