import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openSqliteJobQueue } from '../../infra/job-queue/sqlite.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { DerivationWork, restMs } from '../../processors/derivation-work.ts'
import { Derivation } from '../../processors/derive.ts'
import { chainClock, closeDay } from '../../processors/rewards/days.ts'
import { daySpan } from '../../schemas/eth/day-span.ts'
import { parseDay } from '../../schemas/eth/time.ts'
import { deriveDay } from '../../schemas/jobs/derive-day.ts'
import { givenChain } from './given-chain.ts'
import { projectEverything, projecting } from './projecting.ts'
import { silentLog } from './silent-log.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const TEST_MS = 60_000
const given = givenChain()
const stores = storesOfFile()

it('tells a day with its sums when it closes, and no second time; lets a day rest that stays open', {
  timeout: TEST_MS,
}, async () => {
  const { warehouse, openLog, empty } = stores()
  await empty()
  await using eventLog = await openLog(given.events)
  const nobody = { fold: async () => {}, day: async () => {}, account: async () => {} }
  const ports = await projecting(eventLog, warehouse)
  await projectEverything({
    ...ports,
    derive: new Derivation(warehouse, nobody).derive,
  })

  const directory = mkdtempSync(join(tmpdir(), 'closed-day-'))
  const told: { fields: object; message: string }[] = []
  const log = { ...silentLog, info: (fields: object, message: string) => void told.push({ fields, message }) }
  {
    await using jobQueue = await openSqliteJobQueue({ file: join(directory, 'jobs.sqlite'), log })
    const wholeDay = given.wholeDays.at(-1) ?? ''
    const input = { chain: 'mainnet', day: parseDay(wholeDay) ?? 0 }
    const open = { chain: 'mainnet', day: input.day + 1 }
    const stop = new AbortController()
    const asked: { readonly sql: string; readonly atMs: number }[] = []
    const heard: Warehouse = {
      ...warehouse,
      query(sql, params, limits) {
        asked.push({ sql, atMs: performance.now() })
        return warehouse.query(sql, params, limits)
      },
    }
    const working = new DerivationWork({ ...ports, warehouse: heard, jobQueue, log }).run(stop.signal)
    const runs: { readonly beginMs: number; readonly endMs: number; readonly looks: number }[] = []
    for (const job of [open, open, input, input]) {
      asked.length = 0
      await jobQueue.request(deriveDay.name, deriveDay.idOf(job), job)
      await expect.poll(() => jobQueue.pending(deriveDay.name), { timeout: TEST_MS }).toBe(0)
      const looks = asked.filter(({ sql }) => sql.includes('execution_block_hash NOT IN')).length
      runs.push({ beginMs: asked.at(0)?.atMs ?? 0, endMs: asked.at(-1)?.atMs ?? 0, looks })
    }
    stop.abort()
    await working
    const [sums] = await warehouse.query<{ validators: number; cl: string; el: string }>(
      `SELECT toUInt32(count()) AS validators, sum(cl_reward_gwei) AS cl, toString(sum(el_reward_wei)) AS el FROM daily_rewards FINAL
       WHERE chain = 'mainnet' AND day = {day:Date} AND is_whole = 1`,
      { day: wholeDay },
    )
    const { validators = 0, cl = '', el = '' } = sums ?? {}
    expect(validators).toBeGreaterThan(0)
    // Which blocks are missing is asked once no epoch is.
    expect(runs.map(({ looks }) => looks)).toEqual([0, 0, 1, 1])
    const [first, again] = runs
    if (first === undefined || again === undefined) throw new Error('four days were derived')
    expect(again.beginMs - first.endMs).toBeGreaterThanOrEqual(restMs(first.endMs - first.beginMs))
    expect(told).toHaveLength(1)
    expect(told[0]?.fields).toMatchObject({ chain: 'mainnet', day: wholeDay, validators })
    expect(told[0]?.message).toContain(`day ${wholeDay} closed: ${validators} validators earned `)
    const amounts = [...(told[0]?.message ?? '').matchAll(/(-?[\d.]+) ETH/g)].map(([, amount]) => Number(amount))
    expect(amounts[0]).toBeCloseTo(Number(cl) / 1e9, 9)
    expect(amounts[1]).toBeCloseTo(Number(el) / 1e18, 9)
  }
  rmSync(directory, { recursive: true })
})

it('makes equal rows of a day, however many statements it takes', { timeout: TEST_MS }, async () => {
  const { warehouse, openLog, empty } = stores()
  await empty()
  await using eventLog = await openLog(given.events)
  await projectEverything(await projecting(eventLog, warehouse))
  const day = given.wholeDays.at(-1) ?? ''
  const rows = () =>
    warehouse.query<{ validator_index: number }>(
      "SELECT * FROM daily_rewards FINAL WHERE chain = 'mainnet' AND day = {day:Date} ORDER BY validator_index",
      { day },
    )
  const whole = await rows()
  const indices = whole.map((row) => row.validator_index)
  const newest = Math.max(...indices)
  expect(indices.some((index) => index < newest / 2)).toBe(true)
  const clock = await chainClock(warehouse, 'mainnet')
  const span = clock && daySpan(clock, parseDay(day) ?? 0)
  if (span === undefined) throw new Error('the day is of the chain')
  for (const atOnce of [Math.ceil(newest / 3), newest]) {
    await warehouse.command('TRUNCATE TABLE daily_rewards')
    expect(await closeDay(warehouse, 'mainnet', span, atOnce)).toBe(true)
    expect(await rows()).toEqual(whole)
  }
})
