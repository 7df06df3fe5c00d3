import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const OPEN_MS_MAX = 60_000

// The engine reads standard input at each insert: what keeps it open and says nothing must not hold up inserts side by side.
test.runIf(process.platform === 'linux')(
  'a standard input that stays open is told not to wait before the engine reads it',
  { timeout: OPEN_MS_MAX },
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'epochline-input-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const program = join(import.meta.dirname, 'warehouse-input-process.ts')
    const child = spawn(process.execPath, [program, directory], { stdio: ['pipe', 'pipe', 'inherit'] })
    const said: Buffer[] = []
    child.stdout.on('data', (bytes: Buffer) => said.push(bytes))
    // Though its input is open still.
    const [code] = await once(child, 'exit')
    expect({ code, ...JSON.parse(Buffer.concat(said).toString()) }).toEqual({ code: 0, waits: false, rows: '6' })
  },
)
