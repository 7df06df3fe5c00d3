import { expect, it } from 'vitest'
import { removeChain } from '../../commands/chain.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import { ACCOUNTS_KEY, settlementsLocked } from '../../schemas/events/accounts.ts'
import { decodeEvent, type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { ingestCursor } from '../../schemas/events/cursor.ts'
import { chainRemoved } from '../../schemas/events/log-facts.ts'
import { created, tracked, watched } from './account-facts.ts'
import { givenKey } from './given-chain.ts'
import { refusal } from './refusal.ts'
import { settingsOfFile, type TestSetting } from './setting-of-file.ts'

const settings = settingsOfFile()
const time = '2026-03-01T00:00:00.000Z'

/** Of an earlier release, which kept nothing, where it has no id. */
function locked(account: string, through: string, lockId = ''): EncodedEvent {
  return encodeEvent(settlementsLocked, { id: 'lock', key: ACCOUNTS_KEY, time, data: { account, through, lockId } })
}

/** A log with something of mainnet, which the configuration no longer has, and these facts. */
async function given(...facts: readonly EncodedEvent[]): Promise<TestSetting> {
  const setting = settings({ EPOCHLINE_NETWORK: 'hoodi' })
  await using eventLog = await openEventLog(setting.config, setting.log)
  const data = { chain: 'mainnet', next: 1 }
  await eventLog.append('ingest.cursors', [
    encodeEvent(ingestCursor, { id: 'cursor', key: 'mainnet:epochs', time, data }),
  ])
  await eventLog.append('accounts', ['a', 'b'].map(created).concat(facts))
  return setting
}

async function isRemoved(setting: TestSetting): Promise<boolean> {
  await using eventLog = await openEventLog(setting.config, setting.log)
  const told = await Array.fromAsync(eventLog.read({ topic: 'log', signal: setting.signal }))
  return told.some(
    ({ event }) => event.type === chainRemoved.name && decodeEvent(chainRemoved, event).chain === 'mainnet',
  )
}

it('a chain of which settlements are locked is removed only where that is asked for', async () => {
  const setting = await given(
    tracked('a', [givenKey(0)], '2026-01-05'),
    tracked('b', [givenKey(1)]),
    locked('a', '2026-01-07'),
    locked('b', '2026-01-03'),
    created('c'),
    tracked('c', [givenKey(2)], '2026-01-05'),
    locked('c', '2026-01-07', 'kept'),
  )
  expect(await refusal(removeChain(setting, 'mainnet', { evenLocked: false }))).toBe(
    [
      'The settlements of a are locked through 2026-01-07, and those of its validators of mainnet would be gone from 2026-01-05 on.',
      'The settlements of b are locked through 2026-01-03, and those of its validators of mainnet would be gone from the start of all history on.',
      'The settlements of c are locked through 2026-01-07, and what it was settled of mainnet from 2026-01-05 on stays as it was recorded, and no block would be there that proves it.',
      'With --even-locked the chain is removed; nothing was.',
    ].join('\n'),
  )
  expect(await isRemoved(setting)).toBe(false)
  await removeChain(setting, 'mainnet', { evenLocked: true })
  expect(await isRemoved(setting)).toBe(true)
})

it('a chain is removed where no account had validators of it on a locked day', async () => {
  const setting = await given(
    tracked('a', [givenKey(0)], '2026-01-05'),
    watched('b', [givenKey(0)]),
    locked('a', '2026-01-04'),
    locked('b', '2026-01-07'),
  )
  await removeChain(setting, 'mainnet', { evenLocked: false })
  expect(await isRemoved(setting)).toBe(true)
})
