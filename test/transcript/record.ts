// `npm run transcript`: does what the README says for the first ten minutes, in a pseudo-terminal, and writes down what a person
// sees to docs/first-ten-minutes.md. Needs the ports of the README (8080, 5052, 8545 to 8547, 5062) and util-linux' script.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pubkeyOf, withdrawalAddressOf } from '../../infra/devnet/consensus/keys.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { dayOfInstant, formatDay } from '../../schemas/eth/time.ts'
import { NO_PSEUDO_TERMINAL, runInTerminal, shownBy } from '../pseudo-terminal.ts'
import { COMMENT, commandsOf, consoleCommandsOf, withDates } from './readme-commands.ts'

const ROOT = join(import.meta.dirname, '../..')
const TRANSCRIPT = join(ROOT, 'docs/first-ten-minutes.md')
/** Wide enough that no answer is broken into lines. */
const COMMAND_COLUMNS = 30_000
const START_COLUMNS = 132
/** On two busy cores the devnet's history takes many times what it takes on two quiet ones. */
const HISTORY_MAX_MS = 1_800_000
const LOOK_MS = 500
const LINE_CHARACTERS_MAX = 700
/** What has happened to a validator has a dozen steps. */
const LIFE_CHARACTERS_MAX = 2_500
/** Lines of an answer at its beginning and its end; those between are counted. */
const LINES_MAX = { first: 4, last: 8 }
const CTRL_C = '\x03'
/** A validator of the devnet that its demo account does not have: stands for the key that the README cuts short. */
const KEY = hexOf(pubkeyOf(100))
const ADDRESS = withdrawalAddressOf(100)

/** A command that gives a variable to those after it, which run in shells of their own. */
const VARIABLE = /^[A-Z]+=/
/** What one of them writes here. */
const CREATED = 'created.json'
const READY = 'http://127.0.0.1:8080/ready'

/** What the terminal shows when the commands are given: by default that the devnet has its history, and all of it is served. */
const awaited = process.argv[2] ?? ' mainnet: caught up'

if (NO_PSEUDO_TERMINAL !== undefined) throw new Error(NO_PSEUDO_TERMINAL)
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
const [, startedOn = ''] = /of a devnet started on (\d{4}-\d{2}-\d{2})/.exec(readme) ?? []
const today = formatDay(dayOfInstant(Date.now() / 1000))
const data = mkdtempSync(join(tmpdir(), 'transcript-'))
const { PATH, HOME } = process.env
const env = { PATH: `${join(ROOT, 'node_modules/.bin')}:${PATH}`, HOME, EPOCHLINE_DATA: data }
const blocks: string[] = []
const variables: string[] = []
let secret: string | undefined

try {
  const [install = '', start = ''] =
    (commandsOf(readme, 'Run it')[0] ?? '').split(/ *# /)[0]?.trim().split(' && ') ?? []
  const program = runInTerminal(start, env, START_COLUMNS)
  const ended = program.ended.then((code) => {
    throw new Error(`the program ended with ${code} before it was asked anything:\n${program.output()}`)
  })
  ended.catch(() => undefined) // in the end it is asked to
  await Promise.race([until(() => program.output().includes(awaited)), ended])
  for (const command of commandsOf(readme, 'Ask it').slice(1)) await record(command)
  for (const command of consoleCommandsOf(readme, 'Ask who owns which token')) await record(command)
  const [, ...operator] = commandsOf(readme, 'Point it at real nodes')
  for (const command of operator) await record(command)
  for (const command of commandsOf(readme, 'Lead a validator through its life')) {
    await until(isCaughtUp)
    await record(command, LIFE_CHARACTERS_MAX)
  }
  program.keyboard.write(CTRL_C)
  const code = await program.ended
  const shown = shownBy(program.output(), START_COLUMNS).filter(isShown)
  blocks.unshift(`$ ${start}\n${[...shown, `(Ctrl-C; it ended with ${code})`].join('\n')}`)
  writeFileSync(TRANSCRIPT, documentOf(install))
} finally {
  rmSync(data, { recursive: true, force: true })
  rmSync(join(ROOT, CREATED), { force: true })
}

/** Whether all that is final is in the tables: so it is when the next command is typed, on a machine that has nothing else to do. */
async function isCaughtUp(): Promise<boolean> {
  return (await fetch(READY)).ok
}

/** Runs one command as it stands, but for its dates and the key that is cut short, and writes down what it shows. */
async function record(asWritten: string, charactersMax = LINE_CHARACTERS_MAX): Promise<void> {
  const command = withDates(asWritten.replace(COMMENT, ''), startedOn, today)
    .replaceAll('0x8f…', KEY)
    .replaceAll('0x…', ADDRESS)
  const [api = ''] = commandsOf(readme, 'Ask it')
  const file = join(data, 'command.sh')
  writeFileSync(file, `${[api, ...variables, command].join('\n')}\n`)
  const run = runInTerminal(`sh ${file}`, env, COMMAND_COLUMNS)
  const code = await run.ended
  const lines = shownBy(run.output(), COMMAND_COLUMNS).filter(isShown)
  if (command.includes('token create')) secret = lines.at(-1)
  if (VARIABLE.test(command)) variables.push(command)
  const cut = (line: string): string => (line.length <= charactersMax ? line : `${line.slice(0, charactersMax)}…`)
  blocks.push([`$ ${command}`, ...shorten(lines.map(cut)), ...(code === 0 ? [] : [`(ended with ${code})`])].join('\n'))
}

/** npm's words about its own configuration are of the machine that records. */
function isShown(line: string): boolean {
  return line !== '' && !/^(npm (warn|notice)|config options\.$)/.test(line)
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + HISTORY_MAX_MS
  while (!(await condition())) {
    if (performance.now() > deadlineMs)
      throw new Error('the devnet did not get done with its history, or the program with it')
    await sleep(LOOK_MS)
  }
}

function shorten(lines: readonly string[]): readonly string[] {
  const { first, last } = LINES_MAX
  const between = lines.length - first - last
  if (between <= 1) return lines
  return [...lines.slice(0, first), `(… ${between} more lines)`, ...lines.slice(-last)]
}

function documentOf(install: string): string {
  const intro = `# The first ten minutes

What the README's commands show in a terminal: written by \`npm run transcript\`, which takes them from its code blocks. Before it,
\`${install}\` had run. Dates are those of the day of recording; the key that the README cuts short is one of the devnet; lines are cut
at ${LINE_CHARACTERS_MAX} characters, in a validator's life at ${LIFE_CHARACTERS_MAX}; a token that was created is replaced.
`
  const text = `${intro}\n${blocks.map((block) => `\`\`\`console\n${block}\n\`\`\`\n`).join('\n')}`
  const replaced = secret === undefined || secret === '' ? text : text.replaceAll(secret, '<token>')
  return replaced.replaceAll(data, './data').replaceAll(ROOT, '~/epochline')
}
