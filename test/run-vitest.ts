import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const VITEST_FILE = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')

/** Runs one project of vitest.config.ts; returns the exit code. Ctrl-C reaches vitest as well: its end is waited for. */
export async function runVitest(
  project: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<number> {
  const vitest = spawn(process.execPath, [VITEST_FILE, 'run', '--project', project, ...args], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  })
  const waitForEnd = () => {}
  const passOn = () => vitest.kill('SIGTERM')
  process.on('SIGINT', waitForEnd)
  process.on('SIGTERM', passOn)
  const [exitCode] = await once(vitest, 'exit')
  process.off('SIGINT', waitForEnd)
  process.off('SIGTERM', passOn)
  return typeof exitCode === 'number' ? exitCode : 1
}
