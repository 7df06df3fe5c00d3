import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NO_PSEUDO_TERMINAL, runInTerminal, shownBy } from '../pseudo-terminal.ts'

const SCRIPT = join(import.meta.dirname, 'speak-on-screen.ts')
const { PATH, HOME } = process.env

async function speak(env: NodeJS.ProcessEnv = {}): Promise<{ output: string; lines: readonly string[] }> {
  const run = runInTerminal(`'${process.execPath}' '${SCRIPT}'`, { PATH, HOME, ...env })
  expect(await run.ended, run.output()).toBe(0)
  return { output: run.output(), lines: shownBy(run.output()).filter((line) => line !== '') }
}

it.runIf(process.env.CI !== undefined)('has a pseudo-terminal to be tried in, in CI', () => {
  expect(NO_PSEUDO_TERMINAL).toBeUndefined()
})

describe.skipIf(NO_PSEUDO_TERMINAL !== undefined)(`on a terminal (${NO_PSEUDO_TERMINAL ?? 'there is one'})`, () => {
  it('leaves every line whole, and of the bars one line each, below them', async () => {
    const { output, lines } = await speak()
    const said = lines.map((line) => line.replace(/^\d\d:\d\d:\d\d /, ''))
    // What is longer than the terminal goes on in the next line.
    const spoken = [1, 2, 3].flatMap((n) => [
      `printed ${n}`,
      `mainnet: told ${n} and more and more and more and more and more and more a`,
      'nd more and more and more and more and more and more',
      `warn warned ${n} code=node_lagging`,
    ])
    const bars = [
      expect.stringMatching(/^blocks {16}[█░]{8} 3\/3 100% \S+\/s lag 0$/),
      expect.stringMatching(/^scroll_mainnet blocks [█░]{8} 3\/3 100% \S+\/s$/),
    ]
    expect(said).toEqual(['before the bars', ...spoken, ...bars, 'after the bars'])
    expect(output.lastIndexOf('\x1b[?25h')).toBeGreaterThan(output.lastIndexOf('\x1b[?25l'))
    expect(output.lastIndexOf('\x1b[?7h')).toBeGreaterThan(output.lastIndexOf('\x1b[?7l'))
  })

  it('colours warnings, and none with NO_COLOR', async () => {
    expect((await speak()).output).toContain('\x1b[33m')
    expect((await speak({ NO_COLOR: '1' })).output).not.toContain('\x1b[33m')
  })

  it('writes plain lines where the terminal is dumb', async () => {
    const { output, lines } = await speak({ TERM: 'dumb', NO_COLOR: '1' })
    expect(output).not.toContain('\x1b')
    expect(lines.filter((line) => line.startsWith('blocks'))).toEqual([
      expect.stringMatching(/^blocks {5}1\/3 .*lag 0$/),
    ])
  })
})

it('writes JSON and plain lines without a terminal, what is printed apart from the rest', () => {
  const { stdout, stderr } = spawnSync(process.execPath, [SCRIPT], { env: { PATH, HOME }, encoding: 'utf8' })
  expect(stdout).toBe('before the bars\nprinted 1\nprinted 2\nprinted 3\nafter the bars\n')
  expect(stderr).not.toContain('\x1b')
  const lines = stderr.trim().split('\n')
  const entries = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
  expect(entries.filter(({ level }) => level === 30)).toMatchObject([{ field: 1 }, { field: 2 }, { field: 3 }])
  expect(lines.filter((line) => !line.startsWith('{'))).toEqual([
    expect.stringMatching(/^blocks {5}1\/3/),
    expect.stringMatching(/^scroll_mainnet blocks 1\/3/),
  ])
})
