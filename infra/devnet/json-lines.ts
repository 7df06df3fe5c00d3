import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs'
import { damaged } from './state-file.ts'

/** What was said one after the other, as lines of JSON. */
export interface JsonLines<Line> {
  /** As they were when the file was opened. */
  readonly lines: readonly Line[]
  /** Durable when it returns. */
  append(line: Line): void
}

/**
 * Opens a file of lines, which need not exist; without one nothing is remembered. A line without its end was being written when the process
 * died, so that nobody was told of it: it is cut off. Throws AppError `config` for a line that is no JSON, or that `isLine` does not know.
 */
export function openJsonLines<Line>(
  path: string | undefined,
  isLine: (value: object) => boolean = () => true,
): JsonLines<Line> {
  if (path === undefined) return { lines: [], append() {} }
  return {
    lines: readWhole(path).map((text) => {
      const line = parse(path, text)
      if (typeof line !== 'object' || line === null || !isLine(line)) throw damaged(path)
      return line as Line
    }),
    append: (line) => appendFileSync(path, `${JSON.stringify(line)}\n`, { flush: true }),
  }
}

function readWhole(path: string): readonly string[] {
  if (!existsSync(path)) return []
  const text = readFileSync(path, 'utf8')
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  if (whole.length < text.length) truncateSync(path, Buffer.byteLength(whole))
  return whole.split('\n').filter((line) => line !== '')
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw damaged(path, cause)
  }
}
