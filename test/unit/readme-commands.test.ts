import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { commandsOf, consoleCommandsOf, withDates } from '../transcript/readme-commands.ts'

const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8')

it('finds the commands of the README where they stand', () => {
  expect(commandsOf(readme, 'Run it')).toEqual([
    expect.stringMatching(/^npm ci && npm start /),
    expect.stringMatching(/^npm ci && npm test /),
    expect.stringMatching(/^npm run test:e2e /),
    expect.stringMatching(/^npm run test:faults /),
  ])
  const asked = commandsOf(readme, 'Ask it')
  expect(asked[0]).toMatch(/^API=http/)
  expect(asked.slice(1).every((command) => command.startsWith('curl '))).toBe(true)
  expect(asked.find((command) => command.includes('/graphql'))).toMatch(/"query":\n.*"}'$/s)
  const owned = consoleCommandsOf(readme, 'Ask who owns which token')
  expect(owned.map((command) => command.split(/[ =]/)[0])).toEqual([
    ...['NFT', 'curl', 'LANTERNS', 'curl', 'curl', 'BLOCK', 'curl'],
  ])
  expect(owned.join(' ')).not.toContain('…')
  const life = commandsOf(readme, 'Lead a validator through its life')
  expect(life.map((command) => command.split(/[ =]/)[0])).toEqual([
    ...['curl', 'KEY', 'SIGNED', 'curl', 'npm', 'curl', 'npm', 'curl', 'npm', 'npm', 'curl'],
  ])
  expect(life[2]).toMatch(/^SIGNED=\$\(node -e '.*\n.*console\.log\)'\)$/s)
  expect(commandsOf(readme, 'Point it at real nodes').join('\n')).toContain('admin token create --account acme --new')
})

it('moves dates to those of the chain that is asked', () => {
  expect(withDates('--from 2026-11-01 --to 2026-11-19 # 18.11.2026', '2026-11-20', '2026-12-01')).toBe(
    '--from 2026-11-29 --to 2026-11-30 # 18.11.2026',
  )
})
