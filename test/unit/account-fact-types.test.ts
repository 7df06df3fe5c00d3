import { globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectAccountFact } from '../../processors/accounts/account-facts.ts'
import { SETTLES } from '../../processors/verify/behind-log.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import type { EventType } from '../../schemas/events/codec.ts'

// Who lists the types of account facts, against all that there are.

const FOLDER = join(import.meta.dirname, '../../schemas/events')

const isEventType = (value: unknown): value is EventType<string, unknown> =>
  typeof value === 'object' && value !== null && 'topic' in value && 'decode' in value

const modules = await Promise.all(globSync('*.ts', { cwd: FOLDER }).map((file) => import(join(FOLDER, file))))
const types = modules.flatMap((all) => Object.values(all).filter(isEventType))
const facts = types.filter(({ topic }) => topic === 'accounts')
const names = facts.map(({ name }) => name)

test('of every account fact it is said whether settlements follow from it', () => {
  expect(new Set(names).size).toBe(names.length)
  expect([...SETTLES.keys()].toSorted()).toEqual(names.toSorted())
})

test('every account fact is known to who makes rows of them', () => {
  const project = (type: string, version: number) => () => {
    const event = {
      id: 'fact',
      type,
      version,
      key: ACCOUNTS_KEY,
      time: '2026-01-01T00:00:00.000Z',
      data: new Uint8Array(),
    }
    projectAccountFact({ position: { partition: 0, offset: 0n }, event }, 'mainnet')
  }
  expect(project('account.of-tomorrow', 1)).toThrow('unknown event type')
  for (const { name, version } of facts) expect(project(name, version), name).toThrow(/^(?!unknown event type)/)
})
