import { describe, expect, it } from 'vitest'
import { readAccountBook } from '../../commands/admin/account-facts.ts'
import { correctSettlement } from '../../commands/admin/settlements.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { formatEthFromWei } from '../../schemas/eth/units.ts'
import { rated, tracked } from './account-facts.ts'
import { givenChain, givenKey } from './given-chain.ts'
import { givenLog, holdTables, inTables, processed } from './given-log.ts'
import { refusal } from './refusal.ts'
import { settingsOfFile, type TestSetting } from './setting-of-file.ts'

const TEST_MS = 120_000
const ETH = 10n ** 18n
const chain = givenChain()
/** Its blocks leave tips to it. */
const key = givenKey(2)
const settings = settingsOfFile()
const given = () => givenLog(settings(), chain, [tracked('a', [key]), rated('a', '0.25', 0)])
const nothing = { account: 'a', userReward: '0', serviceFee: '0', reason: 'a slip' }
const correctionsOf = async (setting: TestSetting) => (await readAccountBook(setting)).corrections().length

/** What was settled of the validator. */
async function settledIn(warehouse: Warehouse): Promise<{ readonly user: bigint; readonly fee: bigint }> {
  const [sums] = await warehouse.query<{ user: string; fee: string }>(
    'SELECT sum(user_reward_wei) AS user, sum(service_fee_wei) AS fee FROM settlements FINAL WHERE pubkey = {key:String}',
    { key },
  )
  return { user: BigInt(sums?.user ?? 0), fee: BigInt(sums?.fee ?? 0) }
}

const line = (share: string, before: bigint, after: bigint): string =>
  `The settled ${share} of ${key} of mainnet for a: ${formatEthFromWei(before)} ETH, with this correction ${formatEthFromWei(after)} ETH.`

describe('a correction is written with --yes, once it was said', () => {
  it('what it makes of the validator’s sums, with those before it', { timeout: TEST_MS }, async () => {
    const setting = await given()
    const { user, fee } = await processed(setting, settledIn)
    expect(fee).toBeGreaterThan(0n)
    const first = { ...nothing, userReward: '2', serviceFee: '1' }
    const told = `${line('user share', user, user + 2n * ETH)}\n${line('service fee', fee, fee + ETH)}\n`
    expect(await refusal(correctSettlement(setting, first, key))).toBe(
      `${told}Say --yes to write this correction; nothing was written.`,
    )
    expect(await correctionsOf(setting)).toBe(0)
    await correctSettlement(setting, { ...first, yes: true }, key)
    expect(setting.printed()).toMatch(new RegExp(`^${RegExp.escape(told)}Correction \\d+: user share 2 ETH`))
    await inTables(setting)
    const second = await refusal(correctSettlement(setting, { ...nothing, userReward: '-1' }, key))
    expect(second).toContain(line('user share', user + 2n * ETH, user + ETH))
    expect(second).not.toMatch(/negative/i)
    expect(await correctionsOf(setting)).toBe(1)
  })

  it('that a sum becomes negative by it, by the program that has the tables too', { timeout: TEST_MS }, async () => {
    const setting = await given()
    const { user } = await processed(setting, settledIn)
    const slip = { ...nothing, userReward: '-100000' }
    const told = `${line('user share', user, user - 100_000n * ETH)} This is NEGATIVE`
    const alone = await refusal(correctSettlement(setting, slip, key))
    expect(alone).toContain(told)
    await using _program = await holdTables(setting)
    expect(await refusal(correctSettlement(setting, slip, key))).toBe(alone)
    expect(await correctionsOf(setting)).toBe(0)
  })

  it('why its sums cannot be counted', { timeout: TEST_MS }, async () => {
    const setting = await given()
    const correction = { ...nothing, userReward: '1' }
    const sentence = await refusal(correctSettlement(setting, correction, key))
    expect(sentence).toMatch(/cannot be counted now\.\n.*no warehouse yet/)
    expect(sentence).toMatch(/Say --yes/)
    await correctSettlement(setting, { ...correction, yes: true }, key)
    expect(setting.printed()).toMatch(/no warehouse yet[\s\S]*Correction \d+: user share 1 ETH/)
    expect(await correctionsOf(setting)).toBe(1)
  })
})
