import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const SCRIPT = join(import.meta.dirname, 'heap-that-shrinks.ts')
const FLAGS = ['--no-memory-reducer', '--max-semi-space-size=16']
/** Longer than it takes where other tests have both cores: a heap that never shrinks is not waited for. */
const ENDS_MS = 60_000

async function shrinking(how: string): Promise<{ readonly grownMb: number; readonly shrunkMb: number }> {
  const { stdout } = await promisify(execFile)(process.execPath, [...FLAGS, SCRIPT, how], { timeout: ENDS_MS })
  return JSON.parse(stdout)
}

test(
  'what a heap has been is given back to the system when it has shrunk, and would not be otherwise',
  async () => {
    const [tidied, untidied] = [await shrinking('tidy'), await shrinking('as V8 leaves it')]
    expect(tidied.shrunkMb).toBeLessThan(0.6 * tidied.grownMb)
    expect(untidied.shrunkMb).toBeGreaterThan(0.9 * untidied.grownMb)
  },
  2 * ENDS_MS,
)
