import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { planOf } from '../../commands/plan-of.ts'
import { readConfig } from '../../infra/config/config.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'epochline-config-plans-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

const NODES = { BEACON_URL: 'http://127.0.0.1:1', EXECUTION_URL: 'http://127.0.0.1:2' }

function read(text: string, env: Readonly<Record<string, string>> = NODES) {
  const file = join(directory, 'epochline.yaml')
  writeFileSync(file, text)
  return readConfig({ ...env, EPOCHLINE_CONFIG: file })
}

test('without any the default plan is that of all accounts, but of the devnet’s', () => {
  const usual = { name: 'default', requestsPerDay: 100_000, requestsPerSecond: 50 }
  expect(read('').plans).toEqual({ plans: [usual], planOfAccount: {} })
  expect([planOf(read(''))('demo'), planOf(read(''))('constructor')]).toEqual([usual, usual])
  const devnet = planOf(read('', {}))
  expect([devnet('demo'), devnet('acme')]).toEqual([{ name: 'devnet' }, usual])
})

test('accounts have the plan that names them; what a plan does not say is the default, and no limit is a word', () => {
  const text = `plans:
  default: { requests_per_day: 1000 }
  partner: { requests_per_day: unlimited, accounts: [acme, demo] }
  trial: { requests_per_second: 2 }`
  const plan = planOf(read(text))
  expect(plan('other')).toEqual({ name: 'default', requestsPerDay: 1_000, requestsPerSecond: 50 })
  expect(plan('acme')).toEqual({ name: 'partner', requestsPerSecond: 50 })
  expect(planOf(read(text, {}))('demo')).toEqual({ name: 'partner', requestsPerSecond: 50 })
  expect(read(text).plans.plans.map(({ name }) => name)).toEqual(['default', 'partner', 'trial'])
})

test.each([
  ['plans: { a: { requests_per_day: 0 } }', 'is not a whole number from 1 to 1000000000000, or unlimited'],
  ['plans: { a: { requests_per_second: none } }', 'is not a whole number from 1 to 100000, or unlimited'],
  ['plans: { A: {} }', 'is no name of a plan'],
  ['plans: { a: { accounts: [x] }, b: { accounts: [x] } }', 'has the plan a as well'],
  ['plans: { default: { accounts: [x] } }', 'is not needed'],
  ['plans: { a: { accounts: ["No account"] } }', 'is not the name of an account'],
])('%s is refused', (text, sentence) => {
  expect(() => read(text)).toThrow(sentence)
})
