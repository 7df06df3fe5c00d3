import { stripVTControlCharacters, styleText } from 'node:util'
import { openBars, openLines, type Progress } from './progress.ts'

/** Where one process speaks to people: lines and progress bars share a terminal without destroying each other. */
export interface Screen {
  /** Whole lines on standard output: what a command answers. */
  print(text: string): void
  /** Takes the log, a JSON line at a time, to standard error; on a terminal it is written for people. */
  readonly log: { write(line: string): void }
  /** Shows long work with its rate and the time left on standard error, until disposed. One at a time. */
  openProgress(): Progress
}

interface ScreenStream {
  readonly isTTY?: boolean | undefined
  write(text: string): unknown
}

/** Opens the screen on the streams of this process. `TERM=dumb` is a terminal that knows no escape codes: it gets no bars. */
export function openScreen(
  stdout: ScreenStream = process.stdout,
  stderr: NodeJS.WriteStream = process.stderr,
  env: NodeJS.ProcessEnv = process.env,
): Screen {
  const isTerminal = stderr.isTTY === true
  let bars: ReturnType<typeof openBars> | undefined
  const write = (stream: ScreenStream, text: string): void => {
    if (bars === undefined || stream.isTTY !== true) stream.write(text)
    else bars.writeAbove(() => stream.write(text))
  }
  return {
    print: (text) => write(stdout, text),
    log: { write: (line) => write(stderr, isTerminal ? formatLogLine(line, stderr) : line) },
    openProgress() {
      if (!isTerminal || env.TERM === 'dumb') return openLines(stderr, Date.now)
      const opened = openBars(stderr)
      bars = opened
      // A second Ctrl-C and a crash do not dispose, and would leave a terminal without cursor.
      const stop = (): void => opened[Symbol.dispose]()
      process.once('exit', stop)
      return {
        update: opened.update,
        [Symbol.dispose]() {
          process.off('exit', stop)
          bars = undefined
          stop()
        },
      }
    },
  }
}

const LEVELS: Readonly<Record<number, string>> = { 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' }
const INFO = 30
const ERROR = 50
/** What every line of the log has, and a person need not read. */
const ROUTINE_FIELDS = new Set(['level', 'time', 'pid', 'hostname', 'name', 'msg', 'chain'])

/** `09:00:02 warn mainnet: the sentence code=node_lagging`; what is no line of the log stays as it is. */
function formatLogLine(line: string, stream: NodeJS.WriteStream): string {
  const entry = parseEntry(line)
  if (entry === undefined) return line
  const { level, time, msg, chain } = entry
  const clock = new Date(time).toTimeString().slice(0, '09:00:02'.length)
  // What is told at `info` says everything in its sentence.
  const fields = level === INFO ? [] : Object.entries(entry).filter(([name]) => !ROUTINE_FIELDS.has(name))
  const words = [
    ...(level === INFO ? [] : [LEVELS[level] ?? String(level)]),
    ...(typeof chain === 'string' ? [`${chain}:`] : []),
    msg,
    ...fields.map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`),
  ]
  // Nothing that came from elsewhere moves the cursor.
  const text = stripVTControlCharacters(words.join(' ')).replaceAll(/[\p{Cc}\s]+/gu, ' ')
  const shown = level <= INFO ? text : styleText(level < ERROR ? 'yellow' : 'red', text, { stream })
  return `${clock} ${shown}\n`
}

interface LogEntry {
  readonly level: number
  readonly time: number
  readonly msg: string
  readonly chain?: unknown
}

function parseEntry(line: string): LogEntry | undefined {
  if (!line.startsWith('{')) return undefined
  try {
    const entry = JSON.parse(line) as Partial<LogEntry>
    const isEntry = typeof entry.level === 'number' && typeof entry.time === 'number' && typeof entry.msg === 'string'
    return isEntry ? (entry as LogEntry) : undefined
  } catch {
    return undefined // cut short by a process that died
  }
}
