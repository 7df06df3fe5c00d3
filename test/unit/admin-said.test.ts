import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { setFeeRate } from '../../commands/admin/fee-rates.ts'
import { revokeToken } from '../../commands/admin/tokens.ts'
import { moveValidators } from '../../commands/admin/validators.ts'
import { openEventLog } from '../../infra/open-ports.ts'
import { dayOfInstant, formatDay } from '../../schemas/eth/time.ts'
import { created, tracked } from './account-facts.ts'
import { givenKey } from './given-chain.ts'
import { refusal } from './refusal.ts'
import { settingsOfFile, type TestSetting } from './setting-of-file.ts'

const settings = settingsOfFile()
const today = dayOfInstant(Date.now() / 1000)
const day = (ahead: number): string => formatDay(today + ahead)

async function given(): Promise<TestSetting> {
  const setting = settings()
  await using eventLog = await openEventLog(setting.config, setting.log)
  await eventLog.append('accounts', [created('a'), created('b'), tracked('a', [givenKey(0)])])
  return setting
}

it('a fee rate says what it is now, and until when', async () => {
  const setting = await given()
  await setFeeRate(setting, { account: 'a', rate: '0.2', from: day(5) })
  expect(setting.printed()).toBe(`The fee rate of a is 0.2 from ${day(5)} on.\n`)
  await setFeeRate(setting, { account: 'a', rate: '0.1' })
  expect(setting.printed()).toBe(
    `The fee rate of a is 0.1 from ${day(0)} on until ${day(5)}, then as was said before.\n`,
  )
})

it('a rate with too many decimals is told as that', async () => {
  const rate = `0.${'1'.repeat(19)}`
  expect(await refusal(setFeeRate(await given(), { account: 'a', rate }))).toBe(
    `--rate has more than 18 decimals: "${rate}"; nothing was set.`,
  )
  expect(await refusal(setFeeRate(await given(), { account: 'a', rate: '1.5' }))).toMatch(/not a decimal fraction/)
})

it('a token that is revoked is told by its hash and account', async () => {
  const setting = await given()
  await revokeToken(setting, Readable.from([Buffer.from('a\n')]))
  expect(setting.printed()).toMatch(/^The token sha256 [0-9a-f]{12}… of a was revoked\.\n$/)
})

it.each([
  [400, /is 400 days ahead: until then nothing changes\. If it is a slip/],
  [-400, /is 400 days back\. If it is a slip/],
])('a move %i days from today is told to be far', async (ahead, note) => {
  const setting = await given()
  const move = { from: 'a', to: 'b', yes: true }
  await moveValidators(setting, { ...move, at: day(ahead) }, [givenKey(0)])
  expect(setting.printed()).toMatch(note)
})

it('a move of these days is not told to be far', async () => {
  const setting = await given()
  await moveValidators(setting, { from: 'a', to: 'b', yes: true, at: day(30) }, [givenKey(0)])
  expect(setting.printed()).not.toContain('slip')
})
