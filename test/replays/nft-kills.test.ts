import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

// The fold of a step is several inserts: a process that is killed between them leaves some.

const TEST_MS = 300_000
const directory = mkdtempSync(join(tmpdir(), 'epochline-nft-kills-'))
afterAll(() => rmSync(directory, { recursive: true }))

interface Told {
  readonly tables: Readonly<Record<string, readonly unknown[]>>
  readonly answers: Readonly<Record<string, string>>
}

/** Folds in a folder of a name; the signal that ended the process, and what it has told. */
async function run(name: string, inserts?: number): Promise<{ readonly signal: string | null; told(): Told }> {
  const file = join(directory, `${name}.json`)
  const child = join(import.meta.dirname, 'fold-child.ts')
  const more = inserts === undefined ? [] : [String(inserts)]
  const running = spawn(process.execPath, [child, join(directory, name), file, ...more], { stdio: 'inherit' })
  const [code, signal] = await once(running, 'exit')
  expect({ name, code }).toEqual({ name, code: inserts === undefined ? 0 : null })
  return { signal, told: () => JSON.parse(readFileSync(file, 'utf8')) }
}

let undisturbed: Told
beforeAll(async () => {
  undisturbed = (await run('undisturbed')).told()
}, TEST_MS)

test('tells of tokens in all tables that a step fills', () => {
  for (const [table, rows] of Object.entries(undisturbed.tables))
    expect({ table, rows: rows.length > 10 }).toEqual({ table, rows: true })
  for (const question of Object.keys(undisturbed.answers)) expect(question).toMatch(/ 200$/)
})

test.each([1, 3, 5])(
  'a step whose process was killed after %i of its inserts is made again, with the same rows and answers',
  {
    timeout: TEST_MS,
  },
  async (inserts) => {
    const name = `killed-${inserts}`
    expect((await run(name, inserts)).signal).toBe('SIGKILL')
    const told = (await run(name)).told()
    expect(told.tables).toEqual(undisturbed.tables)
    expect(told.answers).toEqual(undisturbed.answers)
  },
)
