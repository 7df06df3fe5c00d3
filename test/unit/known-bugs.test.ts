import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HISTORY_EVENTS } from '../transition/history-events.ts'

const ROOT = join(import.meta.dirname, '../..')
const BUGS = 37

const sections = readFileSync(join(ROOT, 'docs/known-bugs.md'), 'utf8').split(/^## /m).slice(1)
const bugs = sections.map((section) => {
  const lines = section.split('\n').filter((line) => line.startsWith('- '))
  return { number: Number(/^(\d+)\. \S/.exec(section)?.[1]), lines }
})

/** Whether a test or an event of that name is there: names of tests are texts of their files, whatever their quotes. */
function isThere(line: string): boolean {
  const event = /^- event `(\w+)`$/.exec(line)?.[1]
  if (event !== undefined) return (HISTORY_EVENTS as readonly string[]).includes(event)
  const [, file = '', name = ''] = /^- `(test\/[^`]+)`: (.+)$/.exec(line) ?? []
  if (name === '' || !existsSync(join(ROOT, file))) return false
  const text = readFileSync(join(ROOT, file), 'utf8')
  return ["'", '"', '`'].some((quote) => text.includes(quote + name + quote))
}

test('every known bug of another system has a test that keeps it out', () => {
  expect(bugs.map(({ number }) => number)).toEqual(Array.from({ length: BUGS }, (_, i) => i + 1))
  for (const { number, lines } of bugs) expect(lines.length, `bug ${number}`).toBeGreaterThan(0)
})

test('the tests that known bugs name are there', () => {
  expect(bugs.flatMap(({ number, lines }) => lines.filter((line) => !isThere(line)).map((l) => [number, l]))).toEqual(
    [],
  )
})
