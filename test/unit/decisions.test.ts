import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const FOLDERS = ['api', 'commands', 'docs', 'infra', 'ingest', 'processors', 'schemas', 'test'].join(',')

const decisions = readdirSync(join(ROOT, 'docs/decisions')).map((file) => {
  const [title = ''] = readFileSync(join(ROOT, 'docs/decisions', file), 'utf8').split('\n')
  return { file, named: Number(file.slice(0, 4)), titled: Number(/^# (\d+)\. \S/.exec(title)?.[1]) }
})

test('every decision has a number of its own, in its name and in its title', () => {
  expect(decisions.filter(({ named, titled }) => named !== titled)).toEqual([])
  expect(new Set(decisions.map(({ named }) => named)).size).toBe(decisions.length)
})

test('whoever names a decision names one that there is', () => {
  const numbers = new Set(decisions.map(({ named }) => named))
  const files = globSync([`{${FOLDERS}}/**/*.{ts,md,sql,yaml}`, '*.md'], { cwd: ROOT })
  const unknown = files.flatMap((file) => {
    const named = readFileSync(join(ROOT, file), 'utf8').matchAll(/\bdecisions? (\d+)/gi)
    return Array.from(named, ([, number]) => Number(number)).filter((number) => !numbers.has(number))
  })
  expect(files.length).toBeGreaterThan(500)
  expect(unknown).toEqual([])
})
