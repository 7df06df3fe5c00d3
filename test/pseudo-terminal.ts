import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Writable } from 'node:stream'

/** What the operating system says when util-linux' `script` is not there; undefined where it is. */
export const NO_PSEUDO_TERMINAL = whyNoPseudoTerminal()

function whyNoPseudoTerminal(): string | undefined {
  try {
    const version = execFileSync('script', ['--version'], { encoding: 'utf8' })
    return version.includes('util-linux') ? undefined : `script is not the one of util-linux: ${version.trim()}`
  } catch (error) {
    return `script of util-linux cannot be run: ${error instanceof Error ? error.message : String(error)}`
  }
}

export interface TerminalRun {
  /** Everything that was written to the terminal so far, with its escape codes. */
  output(): string
  /** What a person types; Ctrl-C is \x03. */
  readonly keyboard: Writable
  /** The exit code. */
  readonly ended: Promise<number>
}

export const TERMINAL_COLUMNS = 80
export const TERMINAL_ROWS = 50

/** Runs a command of the shell in a pseudo-terminal that is standard input, output and error at once. */
export function runInTerminal(command: string, env: NodeJS.ProcessEnv, columns = TERMINAL_COLUMNS): TerminalRun {
  const sized = `stty cols ${columns} rows ${TERMINAL_ROWS} -echo; exec ${command}`
  const child = spawn('script', ['-qec', sized, '/dev/null'], { env: { TERM: 'xterm', ...env, SHELL: '/bin/sh' } })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  return {
    output: () => output,
    keyboard: child.stdin,
    ended: once(child, 'close').then(([code]) => Number(code)),
  }
}

/** A sequence that moves the cursor, clears or sets a mode; otherwise one character. */
const STEP = new RegExp(`${String.fromCharCode(27)}\\[(\\??[\\d;]*)([A-Za-z])|[\\s\\S]`, 'gu')

/** What stands on the terminal in the end: its lines, those that have scrolled out at the top included. */
export function shownBy(output: string, columns = TERMINAL_COLUMNS): readonly string[] {
  const terminal = new Terminal(columns)
  for (const [whole, parameter = '', command] of output.matchAll(STEP)) {
    if (command === undefined) terminal.write(whole)
    else terminal.obey(command, parameter)
  }
  return terminal.lines
}

/** As much of a terminal as the program uses. */
class Terminal {
  readonly #rows: string[][] = []
  #row = 0
  #column = 0
  #wraps = true
  readonly #columns: number

  constructor(columns: number) {
    this.#columns = columns
  }

  get lines(): readonly string[] {
    return Array.from(this.#rows, (row) => (row ?? []).join('').trimEnd())
  }

  get #line(): string[] {
    const line = this.#rows[this.#row] ?? []
    this.#rows[this.#row] = line
    return line
  }

  write(character: string): void {
    if (character === '\n') this.#row++
    else if (character === '\r') this.#column = 0
    else this.#put(character)
  }

  #put(character: string): void {
    if (this.#column === this.#columns && this.#wraps) {
      this.#row++
      this.#column = 0
    }
    const at = Math.min(this.#column, this.#columns - 1)
    const line = this.#line
    while (line.length < at) line.push(' ')
    line[at] = character
    this.#column = at + 1
  }

  obey(command: string, parameter: string): void {
    const count = Number(parameter.split(';')[0] || 1)
    if (command === 'A') this.#row = Math.max(0, this.#row - count)
    else if (command === 'G') this.#column = count - 1
    else if (command === 'K') this.#line.splice(parameter === '2' ? 0 : this.#column)
    else if (command === 'J') {
      this.#line.splice(this.#column)
      this.#rows.splice(this.#row + 1)
    } else if (parameter === '?7') this.#wraps = command === 'h'
    else if (command !== 'm' && parameter !== '?25') throw new Error(`unknown to this terminal: ${parameter}${command}`)
  }
}
