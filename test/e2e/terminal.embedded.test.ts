import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { NO_PSEUDO_TERMINAL, runInTerminal, shownBy } from '../pseudo-terminal.ts'
import { eventually } from './processes.ts'

const MAIN = `'${process.execPath}' '${join(import.meta.dirname, '../../main.ts')}'`
const CTRL_C = '\x03'

const directory = mkdtempSync(join(tmpdir(), 'terminal-'))
afterAll(() => rmSync(directory, { recursive: true }))

const { PATH, HOME, NODE_COMPILE_CACHE } = process.env
const environment = () => ({
  PATH,
  HOME,
  NODE_COMPILE_CACHE,
  EPOCHLINE_DATA: mkdtempSync(join(directory, 'data-')),
  PORT: '0',
  BEACON_URL: 'http://127.0.0.1:9',
  EXECUTION_URL: 'http://127.0.0.1:9',
})

describe.skipIf(NO_PSEUDO_TERMINAL !== undefined)(`on a terminal (${NO_PSEUDO_TERMINAL ?? 'there is one'})`, () => {
  it('says of a start what a person wants to know, and nothing of its engine', async () => {
    const run = runInTerminal(`${MAIN} all`, environment())
    await eventually('the start', async () => run.output().includes('Readiness') || undefined)
    run.keyboard.write(CTRL_C)
    expect(await run.ended, run.output()).toBe(0)
    const lines = shownBy(run.output()).filter((line) => line !== '')
    const expected = [
      /^\d\d:\d\d:\d\d started: ingest, process, api, validators, webhooks, metadata, users$/,
      /^epochline {3}embedded mode, data in /,
      /^REST {8}http:\/\/127\.0\.0\.1:\d+\/ethereum\/mainnet\/<token>\//,
      /^GraphQL {5}http/,
      /^Gateway {5}http:\/\/127\.0\.0\.1:\d+\/ethereum\/mainnet\/<token>$/,
      /^OpenAPI {5}http/,
      /^Readiness {3}http/,
    ]
    for (const line of expected)
      expect(
        lines.filter((one) => line.test(one)),
        String(line),
      ).toHaveLength(1)
    const rest = lines.filter((line) => !expected.some((known) => known.test(line)))
    // That the node is away, where it took longer than this start, and the bars.
    const others = rest.filter((line) => !/^(process {4}|\d\d:\d\d:\d\d warn |[a-z-]*rewards$)/.test(line))
    expect(others).toEqual([])
    expect(run.output().lastIndexOf('\x1b[?25h')).toBeGreaterThan(run.output().lastIndexOf('\x1b[?25l'))
  })
})
