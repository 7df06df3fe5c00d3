import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { PATIENCE } from '../long-form.ts'

const HEAP = join(import.meta.dirname, 'heap-that-shrinks.ts')
const ENGINE = join(import.meta.dirname, 'engine-that-gives-back.ts')
const FLAGS = ['--no-memory-reducer', '--max-semi-space-size=16']
/** Longer than it takes where other tests have both cores: a heap that never shrinks is not waited for. */
const ENDS_MS = 90_000 * PATIENCE

async function told<Figures>(script: string, how: string, environment: NodeJS.ProcessEnv = {}): Promise<Figures> {
  const options = { timeout: ENDS_MS, env: { ...process.env, ...environment } }
  const { stdout } = await promisify(execFile)(process.execPath, [...FLAGS, script, how], options)
  return JSON.parse(stdout)
}

test(
  'what a heap has been is given back to the system when it has shrunk, and would not be otherwise',
  async () => {
    const shrinking = (how: string) => told<{ readonly grownMb: number; readonly shrunkMb: number }>(HEAP, how)
    const [tidied, untidied] = [await shrinking('tidy'), await shrinking('as V8 leaves it')]
    expect(tidied.shrunkMb).toBeLessThan(0.6 * tidied.grownMb)
    expect(untidied.shrunkMb).toBeGreaterThan(0.9 * untidied.grownMb)
  },
  2 * ENDS_MS,
)

test(
  'the embedded engine keeps little of what it has freed, unless the operator has said how much',
  async () => {
    const engine = (environment: NodeJS.ProcessEnv) =>
      told<{ readonly takenMb: number; readonly keptMb: number }>(ENGINE, '', environment)
    const [asSet, asTold] = [
      await engine({ JE_MALLOC_CONF: undefined }),
      await engine({ JE_MALLOC_CONF: 'dirty_decay_ms:60000' }),
    ]
    expect(asSet.keptMb).toBeLessThan(0.5 * asSet.takenMb)
    expect(asTold.keptMb).toBeGreaterThan(0.5 * asTold.takenMb)
  },
  2 * ENDS_MS,
)
