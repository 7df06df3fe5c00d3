import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openAccountParts } from '../../commands/users/account-parts.ts'
import { openMemoryCounters } from '../../infra/counters/memory.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { userStands } from '../../schemas/events/users.ts'
import { settingsOfFile, type TestSetting } from './setting-of-file.ts'
import { silentLog } from './silent-log.ts'

const settings = settingsOfFile()

async function partsOf({ config }: Pick<TestSetting, 'config'>) {
  const told: string[] = []
  const log = { ...silentLog, error: (about: object, said: string) => told.push(`${said} ${JSON.stringify(about)}`) }
  await using eventLog = await openEventLog(config, log)
  await using counters = await openMemoryCounters()
  await using open = new AsyncDisposableStack()
  const parts = await openAccountParts({ config, log }, { eventLog, counters, clientCounters: counters }, open)
  return { parts, told: told.join('\n') }
}

test('the key for accounts is made once, and never in the place of one that was lost', async () => {
  const { config, log } = settings()
  const first = await partsOf({ config })
  expect(first.parts?.key).toHaveLength(32)
  expect((await partsOf({ config })).parts?.key).toEqual(first.parts?.key)
  const data = { address: '0'.repeat(64), keyId: '0'.repeat(16), signUps: [] }
  {
    await using eventLog = await openEventLog(config, log)
    const event = { id: 'user.stands:1', key: data.address, time: '2026-01-01T00:00:00.000Z', data }
    await eventLog.append('users', [encodeEvent(userStands, event)])
  }
  expect((await partsOf({ config })).parts?.key).toEqual(first.parts?.key)
  const { keySource } = config.accounts
  if (keySource.kind !== 'file') throw new Error('the key is in a file unless told')
  rmSync(keySource.file)
  const { parts, told } = await partsOf({ config })
  expect(parts).toBeUndefined()
  expect(told).toMatch(/^people cannot sign up or log in.*put it back/)
})

test('nobody signs up where nobody could be written to', async () => {
  const { config } = settings()
  expect(await partsOf({ config: { ...config, mail: undefined } })).toEqual({ parts: undefined, told: '' })
})

test.each([
  ['127.0.0.1', true],
  ['127.1.2.3', true],
  ['::1', true],
  ['localhost', true],
  ['0.0.0.0', false],
  ['::', false],
  ['127.example.org', false],
])('a listener at %s is on this machine alone: %s', async (host, isLoopback) => {
  const { config } = settings()
  expect((await partsOf({ config: { ...config, host } })).parts?.isLoopback).toBe(isLoopback)
})
