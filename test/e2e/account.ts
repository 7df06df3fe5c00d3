import { expect } from 'vitest'
import { feeRecipientOf, pubkeyOf, toHex } from '../../infra/devnet/consensus/keys.ts'
import { type Environment, runCommand } from './processes.ts'

/** 61 of the genesis validators, some with incidents, and those that the day's deposits bring in. */
const NUMBERS = [...Array.from({ length: 61 }, (_, number) => number), 256, 257, 258]
export const TRACKED = NUMBERS.map((number) => toHex(pubkeyOf(number)))

/** An account that tracks them, with where they are paid and its fee rate; resolves with its token. */
export async function createAccount(env: Environment): Promise<string> {
  const account = ['--account', 'acme']
  const created = await runCommand(['admin', 'token', 'create', ...account, '--new'], env)
  expect(created.code, created.stderr).toBe(0)
  const tracked = await runCommand(['admin', 'validators', 'track', ...account], env, TRACKED.join('\n'))
  expect(tracked.code, tracked.stderr).toBe(0)
  const recipients = NUMBERS.map((number) => `${toHex(pubkeyOf(number))},${feeRecipientOf(number)}`)
  const told = await runCommand(['admin', 'validators', 'fee-recipient', '--yes'], env, recipients.join('\n'))
  expect(told.code, told.stderr).toBe(0)
  const rate = await runCommand(
    ['admin', 'fee-rate', 'set', ...account, '--rate', '0.1', '--from', '2026-01-01', '--yes'],
    env,
  )
  expect(rate.code, rate.stderr).toBe(0)
  return created.stdout.trim()
}
