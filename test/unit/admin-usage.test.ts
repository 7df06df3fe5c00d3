import { expect, it } from 'vitest'
import { Usage } from '../../api/gateway/usage.ts'
import { showUsage } from '../../commands/admin/usage.ts'
import { LiveSetting } from '../../commands/live-setting.ts'
import { answerCommands } from '../../commands/running-program.ts'
import { openEventLog, openJobQueue, openMigratedWarehouse } from '../../infra/open-ports.ts'
import { insertAll } from '../../processors/loop/rows.ts'
import { projectUsage } from '../../processors/usage/project-usage.ts'
import { dayStartSec, parseDay } from '../../schemas/eth/time.ts'
import type { EncodedEvent } from '../../schemas/events/codec.ts'
import { created } from './account-facts.ts'
import { processed } from './given-log.ts'
import { refusal } from './refusal.ts'
import { settingsOfFile, type TestSetting } from './setting-of-file.ts'
import { silentLog } from './silent-log.ts'

const settings = settingsOfFile()
const DAY = '2026-11-20'
const DAY_MS = 1_000 * dayStartSec(parseDay(DAY) ?? 0)
const NEXT_DAY_MS = DAY_MS + 86_400_000

/** Calls of 10 bytes that are answered with 100: account, network, when, status, how long each, how many. */
const CALLS = [
  ['a', 'ethereum/mainnet', DAY_MS, 200, 10, 3],
  ['a', 'ethereum/mainnet', NEXT_DAY_MS - 1, 502, 30, 1],
  ['a', 'solana/mainnet', DAY_MS, 200, 1, 2],
  ['b', 'ethereum/mainnet', DAY_MS, 200, 5, 1],
  ['b', 'ethereum/mainnet', NEXT_DAY_MS, 200, 5, 100],
] as const

it('operators see what accounts have used, in whole days, by network', async () => {
  const setting = await given()
  const shown = async (options: { account?: string; from: string; to?: string }): Promise<readonly string[][]> => {
    await showUsage(setting, { ...options, json: false })
    const lines = setting.printed().trimEnd().split('\n')
    return lines.slice(1).map((line) => line.split(/ {2,}/))
  }
  const ofA = [
    ['a', 'ethereum/mainnet', '4', '75.00 %', '15.0 ms', '3', '40', '400'],
    ['a', 'solana/mainnet', '2', '100.00 %', '1.0 ms', '2', '20', '200'],
  ]
  const ofB = (calls: number) => ['b', 'ethereum/mainnet', `${calls}`, '100.00 %', '5.0 ms', ...ofCalls(calls)]
  const ofCalls = (calls: number) => [`${calls}`, `${10 * calls}`, `${100 * calls}`]
  expect(await shown({ from: DAY, to: DAY })).toEqual([...ofA, ofB(1)])
  expect(await shown({ from: DAY, to: '2026-11-21' })).toEqual([...ofA, ofB(101)])
  expect(await shown({ from: DAY, to: DAY, account: 'a' })).toEqual(ofA)
  await showUsage(setting, { from: DAY, to: DAY, account: 'b', json: true })
  expect(JSON.parse(setting.printed())).toEqual([
    {
      ...{ account: 'b', blockchain: 'ethereum/mainnet', calls: 1, success_rate: 1, average_ms: 5, billed: 1 },
      ...{ request_bytes: 10, answer_bytes: 100, pushes: 0 },
    },
  ])
  await showUsage(setting, { from: '2020-01-01', to: '2020-01-01', json: false })
  expect(setting.printed()).toBe('Nothing was called in these days.\n')
  const ask = (options: object) => refusal(showUsage(setting, { json: false, ...options }))
  expect(await ask({ account: 'aa' })).toMatch(/^There is no account aa: .* Did you mean a\?/)
  expect(await ask({ from: DAY, to: '2026-11-19' })).toMatch(/^--to is before --from/)
  expect(await ask({ from: 'yesterday' })).toMatch(/^--from is not a date YYYY-MM-DD/)
})

it('the program that has the tables is asked, and says the same', async () => {
  const setting = await given()
  const shown = async (options: { account?: string; from: string; to?: string; json: boolean }): Promise<string> => {
    await showUsage(setting, options)
    return setting.printed()
  }
  const questions = [
    { from: DAY, to: '2026-11-21', json: false },
    { from: DAY, to: DAY, account: 'b', json: true },
    { from: '2020-01-01', to: '2020-01-01', json: false },
  ]
  const alone: string[] = []
  for (const question of questions) alone.push(await shown(question))
  expect(alone[0]).toContain('solana/mainnet')

  await using eventLog = await openEventLog(setting.config, setting.log)
  await using warehouse = await openMigratedWarehouse(setting.config)
  await using jobQueue = await openJobQueue(setting.config, setting.log)
  const running = { ...setting, chains: new LiveSetting([]), nodes: new Map(), nodeHeads: new Map() }
  // One process has the tables: nobody reads them beside it.
  expect(await refusal(showUsage(setting, { from: DAY, json: false }))).toMatch(/is in use by process/)
  await using _program = await answerCommands({ eventLog, warehouse, jobQueue }, running)
  for (const [i, question] of questions.entries()) expect(await shown(question)).toBe(alone[i])
  expect(await refusal(showUsage(setting, { account: 'aa', json: false }))).toMatch(/^There is no account aa:/)
})

async function given(): Promise<TestSetting> {
  const setting = settings()
  await using eventLog = await openEventLog(setting.config, setting.log)
  await eventLog.append('accounts', [created('a'), created('b')])
  await processed(setting, async (warehouse) => {
    let offset = 0n
    const append = async (_topic: string, events: readonly EncodedEvent[]) => {
      for (const event of events)
        await insertAll(warehouse, projectUsage({ event, position: { partition: 0, offset: offset++ } }).rows)
      return []
    }
    for (const [account, place, atMs, status, ms, calls] of CALLS) {
      await using usage = new Usage({ eventLog: { append }, log: silentLog })
      const row = usage.minuteAt(atMs).rowOf({ account, tokenHash: 'ab'.repeat(32), place }, 'any', status)
      const billed = status === 200 ? 1 : 0
      for (let i = 0; i < calls; i++) row.count({ billed, ms, requestBytes: 10, answerBytes: 100 })
    }
  })
  return setting
}
