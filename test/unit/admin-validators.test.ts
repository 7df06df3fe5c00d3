import { describe, expect, it } from 'vitest'
import { readAccountBook } from '../../commands/admin/account-facts.ts'
import { tellFeeRecipients } from '../../commands/admin/fee-recipients.ts'
import { moveValidators, trackValidators, untrackValidators } from '../../commands/admin/validators.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import { parseDay } from '../../schemas/eth/time.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { created, trackedBefore } from './account-facts.ts'
import { givenKey } from './given-chain.ts'
import { settingsOfFile, type TestSetting } from './setting-of-file.ts'

const KEY = givenKey(0)
const OTHER_KEY = givenKey(1)
const settings = settingsOfFile()

/** A log with three accounts. */
async function withAccounts(): Promise<TestSetting> {
  const setting = settings()
  await append(setting, ['a', 'b', 'c'].map(created))
  return setting
}

/** Who has the key on which days, `2026-03-01 a`. */
async function owners(setting: TestSetting, pubkey = KEY): Promise<string[]> {
  const { ownership } = await readAccountBook(setting)
  return ownership.ownersOf('mainnet', pubkey).map(({ account, fromDay, toDay }) => `${fromDay} ${account} ${toDay}`)
}

const number = (text: string) => parseDay(text) as number
const [MARCH, MAY] = [number('2026-03-01'), number('2026-05-01')]
const END = 65_535

async function append(setting: TestSetting, events: readonly EncodedEvent[]): Promise<void> {
  await using eventLog = await openEventLog(setting.config, setting.log)
  await eventLog.append('accounts', events)
}

describe('track', () => {
  it('makes an account the owner since the start of all history, once', async () => {
    const setting = await withAccounts()
    await trackValidators(setting, { account: 'a' }, [KEY])
    expect(setting.printed()).toMatch(/^1 validators of mainnet are tracked for a from the start of all history on:/)
    await trackValidators(setting, { account: 'a' }, [KEY, OTHER_KEY])
    expect(setting.printed()).toMatch(/^1 validators .*\(1 more were already\)/)
    expect(await owners(setting)).toEqual([`0 a ${END}`])
    expect(await owners(setting, OTHER_KEY)).toEqual([`0 a ${END}`])
  })

  it('is refused for a key that somebody else has, and names the account and the day', async () => {
    const setting = await withAccounts()
    await trackValidators(setting, { account: 'a', at: '2026-03-01' }, [KEY])
    for (const at of [{}, { at: '2026-05-01' }]) {
      await expect(trackValidators(setting, { account: 'b', ...at }, [OTHER_KEY, KEY])).rejects.toMatchObject({
        code: 'usage',
        message: expect.stringMatching(
          new RegExp(`^${KEY} is tracked for a from 2026-03-01 on: .*\\nNothing was changed\\.$`),
        ),
      })
    }
    expect(await owners(setting)).toEqual([`${MARCH} a ${END}`])
    expect(await owners(setting, OTHER_KEY)).toEqual([])
  })

  it('may name a day on which nobody has it, and says until when', async () => {
    const setting = await withAccounts()
    await trackValidators(setting, { account: 'a', at: '2026-05-01' }, [KEY])
    setting.printed()
    await trackValidators(setting, { account: 'b', at: '2026-03-01' }, [KEY])
    expect(setting.printed()).toContain("until 2026-05-01, then a's, as was said before")
    expect(await owners(setting)).toEqual([`${MARCH} b ${MAY}`, `${MAY} a ${END}`])
  })

  it('of two operators at once lets one through, and tells the other whose it is', async () => {
    const setting = await withAccounts()
    const ended = await Promise.allSettled(
      ['a', 'b', 'c'].map((account) => trackValidators(setting, { account }, [KEY])),
    )
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const [owner] = await owners(setting)
    const account = owner?.split(' ')[1]
    for (const one of ended) {
      if (one.status === 'rejected') expect(one.reason.message).toContain(`is tracked for ${account} since the start`)
    }
  })

  it('with --watch gives the view to any account, and takes no day', async () => {
    const setting = await withAccounts()
    await trackValidators(setting, { account: 'a' }, [KEY])
    await trackValidators(setting, { account: 'b', watch: true }, [KEY])
    const { ownership } = await readAccountBook(setting)
    expect(ownership.isWatching('b', 'mainnet', KEY)).toBe(true)
    expect(await owners(setting)).toEqual([`0 a ${END}`])
    await untrackValidators(setting, { account: 'b', watch: true }, [KEY])
    expect((await readAccountBook(setting)).ownership.isWatching('b', 'mainnet', KEY)).toBe(false)
    const withDay = { account: 'b', watch: true, at: '2026-03-01' }
    await expect(trackValidators(setting, withDay, [KEY])).rejects.toThrow(/leave --at out/)
  })
})

describe('untrack and move', () => {
  it('end the days of the account that has the key, which keeps those before', async () => {
    const setting = await withAccounts()
    await trackValidators(setting, { account: 'a' }, [KEY])
    await moveValidators(setting, { from: 'a', to: 'b', at: '2026-03-01' }, [KEY])
    await untrackValidators(setting, { account: 'b', at: '2026-05-01' }, [KEY])
    expect(await owners(setting)).toEqual([`0 a ${MARCH}`, `${MARCH} b ${MAY}`])
    // It is nobody's now: an account that takes it up has to say since when.
    await expect(trackValidators(setting, { account: 'a' }, [KEY])).rejects.toThrow(/is tracked for a until 2026-03-01/)
  })

  it('are refused for another account, for a key that is nobody’s, without a day and with a wrong one', async () => {
    const setting = await withAccounts()
    await trackValidators(setting, { account: 'a', at: '2026-03-01' }, [KEY])
    const refused = async (doing: Promise<void>, sentence: RegExp) =>
      expect(doing).rejects.toMatchObject({ code: 'usage', message: expect.stringMatching(sentence) })
    const at = '2026-05-01'
    await refused(
      untrackValidators(setting, { account: 'b', at }, [KEY]),
      /is not b's on 2026-05-01: it is tracked for a/,
    )
    await refused(moveValidators(setting, { from: 'b', to: 'c', at }, [KEY]), /is not b's on 2026-05-01/)
    await refused(untrackValidators(setting, { account: 'a', at: '2026-02-28' }, [KEY]), /is nobody's on 2026-02-28/)
    await refused(untrackValidators(setting, { account: 'a' }, [KEY]), /--at YYYY-MM-DD/)
    await refused(untrackValidators(setting, { account: 'a', at: '2026-02-30' }, [KEY]), /--at is not a date/)
    await refused(moveValidators(setting, { from: 'a', to: 'a', at }, [KEY]), /one account/)
    expect(await owners(setting)).toEqual([`${MARCH} a ${END}`])
  })
})

it('fee-recipient tells up to which day an address holds of which something was said before', async () => {
  const setting = await withAccounts()
  const recipient = `0x${'fe'.repeat(20)}`
  await tellFeeRecipients(setting, { recipient, from: '2026-05-01', takeBack: true }, [KEY])
  expect(setting.printed()).toBe(
    '1 fee recipients of validators of mainnet were taken back from 2026-05-01 on; their blocks are read again.\n',
  )
  await tellFeeRecipients(setting, { recipient }, [KEY, OTHER_KEY])
  expect(setting.printed()).toBe(
    '2 fee recipients of validators of mainnet are known from the start of all history on; their blocks are read again.\n' +
      `  ${KEY} at ${recipient}: until 2026-05-01, then as was said before\n`,
  )
})

it('fee-recipient refuses an address whose checksum does not hold', async () => {
  const setting = await withAccounts()
  const recipient = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD'
  await expect(tellFeeRecipients(setting, { recipient }, [KEY])).rejects.toThrow(/checksum \(EIP-55\)/)
  await tellFeeRecipients(setting, { recipient: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' }, [KEY])
})

it('a key that two accounts had in a log of an earlier release is the later one’s, until a fact decides', async () => {
  const setting = settings()
  const undecided = async () => (await readAccountBook(setting)).ownership.undecided()
  await append(setting, [trackedBefore('a', [KEY, OTHER_KEY]), trackedBefore('b', [KEY, OTHER_KEY])])
  expect(await undecided()).toMatchObject([{ accounts: ['a', 'b'] }, { accounts: ['a', 'b'] }])
  await moveValidators(setting, { from: 'b', to: 'a', at: '1970-01-01' }, [KEY])
  await trackValidators(setting, { account: 'b', at: '1970-01-01' }, [OTHER_KEY])
  expect(await owners(setting)).toEqual([`0 a ${END}`])
  expect(await owners(setting, OTHER_KEY)).toEqual([`0 b ${END}`])
  expect(await undecided()).toEqual([])
})
