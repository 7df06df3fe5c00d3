import { expect } from 'vitest'
import { feeRecipientOf, pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { type Environment, runCommand } from './processes.ts'
import { openLog } from './stores.ts'

/** 61 of the genesis validators, some with incidents, and those that the day's deposits bring in. */
const NUMBERS = [...Array.from({ length: 61 }, (_, number) => number), 256, 257, 258]
export const TRACKED = NUMBERS.map((number) => hexOf(pubkeyOf(number)))

export interface TokenOptions {
  readonly account?: string
  readonly scopes?: string
}

/** A new account, in a log that is made where there is none; resolves with its token. */
export async function createToken(
  env: Environment,
  { account = 'acme', scopes = 'read' }: TokenOptions = {},
): Promise<string> {
  await (await openLog(env))[Symbol.asyncDispose]()
  const made = await runCommand(['admin', 'token', 'create', '--account', account, '--new', '--scope', scopes], env)
  expect(made.code, made.stderr).toBe(0)
  return made.stdout.trim()
}

/** An account that tracks them, with where they are paid and its fee rate; resolves with its token. */
export async function createAccount(env: Environment): Promise<string> {
  const account = ['--account', 'acme']
  const token = await createToken(env)
  const tracked = await runCommand(['admin', 'validators', 'track', ...account], env, TRACKED.join('\n'))
  expect(tracked.code, tracked.stderr).toBe(0)
  const recipients = NUMBERS.map((number) => `${hexOf(pubkeyOf(number))},${feeRecipientOf(number)}`)
  const told = await runCommand(['admin', 'validators', 'fee-recipient', '--yes'], env, recipients.join('\n'))
  expect(told.code, told.stderr).toBe(0)
  const rate = await runCommand(
    ['admin', 'fee-rate', 'set', ...account, '--rate', '0.1', '--from', '2026-01-01', '--yes'],
    env,
  )
  expect(rate.code, rate.stderr).toBe(0)
  return token
}
