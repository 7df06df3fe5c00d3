import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../infra/config/config.ts'
import { pubkeyOf, toHex } from '../../infra/devnet/consensus/keys.ts'
import { openEventLog, openMigratedWarehouse } from '../../infra/open-ports.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { chainKey } from '../../schemas/chains.ts'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { ingestCursor } from '../../schemas/events/cursor.ts'
import { PROJECTIONS } from '../../schemas/tables/projections.ts'
import { silentLog } from '../unit/silent-log.ts'
import {
  blocksOf,
  clRewards,
  eth,
  indicesAt,
  type OracleBlock,
  type OracleNode,
  type OracleRevenue,
  type OracleReward,
  revenues,
} from './oracle.ts'
import {
  type DevnetChild,
  type Environment,
  eventually,
  type Running,
  runCommand,
  startDevnetChild,
  startProgram,
} from './processes.ts'

/** First complete UTC+8 day of the devnet with its fixed genesis: slots 303 to 7502. */
const DAY = '2026-01-11'
const NEXT_DAY = '2026-01-12'
const DAY_BEFORE_SLOT = 302
const DAY_LAST_SLOT = 7_502
/** The day's last slot is final about three epochs later. */
const LAST_SLOT = 7_650
/** The default scenario announces the block of this slot and then replaces it. */
const ORPHANED_SLOT = 420

/** 61 of the genesis validators, some with incidents, and those that the day's deposits bring in. */
const TRACKED = [...Array.from({ length: 61 }, (_, number) => number), 256, 257, 258].map((n) => toHex(pubkeyOf(n)))
const FEE_RATE = { numerator: 1n, denominator: 10n }
const PAGE = 1000

const HISTORY_TIMEOUT_MS = 400_000

/**
 * The whole way, by real processes: devnet -> ingest -> log -> processors -> warehouse -> HTTP, against an oracle that knows only
 * the devnet's states and receipts. `modeOf` gives the variables of a mode for one fresh set of stores.
 */
export function pipelineSuite(mode: string, modeOf: (name: string, directory: string) => Environment): void {
  describe(`the pipeline in ${mode} mode`, () => {
    const directory = mkdtempSync(join(tmpdir(), 'epochline-e2e-'))
    let devnet: DevnetChild
    let node: OracleNode
    let env: Environment
    let program: Running
    let token: string
    let blocks: readonly OracleBlock[]
    let paid: readonly OracleRevenue[]
    let indices: ReadonlyMap<string, number>
    let undisturbed: Tables

    const environmentOf = (name: string): Environment => ({
      ...modeOf(name, join(directory, name)),
      EPOCHLINE_DATA: join(directory, name),
      BEACON_URL: devnet.beaconUrl,
      EXECUTION_URL: devnet.executionUrl,
      START_EPOCH: '0',
    })
    const mine = (index: number): boolean => trackedIndices().has(index)
    const trackedIndices = (): ReadonlySet<number> => new Set(TRACKED.flatMap((pubkey) => indices.get(pubkey) ?? []))
    const api = async (path: string): Promise<Answer> => {
      const response = await fetch(`${program.url}/ethereum/mainnet/${token}${path}`)
      return (await response.json()) as Answer
    }
    const ready = async (): Promise<{ head_slot: number | null; last_finalized_epoch: number | null }> =>
      (await fetch(`${program.url}/ready`)).json() as never

    beforeAll(async () => {
      devnet = await startDevnetChild()
      node = devnet
      env = environmentOf('undisturbed')
      token = await createAccount(env)
      program = await startProgram(['all'], env)
      await devnet.advanceTo(ORPHANED_SLOT)
      await eventually(
        'the orphan’s arrival',
        async () => ((await ready()).head_slot ?? 0) >= ORPHANED_SLOT || undefined,
        60_000,
      )
      await devnet.advanceTo(LAST_SLOT)
      const lastEpoch = await finalEpochOf(node)
      await eventually(
        'the last final epoch',
        async () => (await ready()).last_finalized_epoch === lastEpoch || undefined,
        HISTORY_TIMEOUT_MS,
      )
      await eventually('the day’s closing', async () => (await api(daily())).data?.reward?.[0], 30_000)
      const [first, last] = [1, (lastEpoch + 1) * 32 - 1]
      blocks = await blocksOf(node, first, last)
      indices = await indicesAt(node, last)
      paid = await revenues(
        node,
        blocks.filter(({ proposerIndex }) => mine(proposerIndex)),
      )
    })

    afterAll(async () => {
      await program?.kill()
      await devnet?.[Symbol.asyncDispose]()
      rmSync(directory, { recursive: true, force: true })
    })

    const daily = (): string => `/api/v1/validator/daily-rewards?start_date=${DAY}&end_date=${NEXT_DAY}`

    it('serves the day’s rewards as the states and receipts have them, to the gwei and the wei', async () => {
      const rewards = await clRewards(node, { before: DAY_BEFORE_SLOT, last: DAY_LAST_SLOT, blocks })
      const inDay = paid.filter(({ slot }) => slot > DAY_BEFORE_SLOT && slot <= DAY_LAST_SLOT)
      const clGwei = sum([...rewards].filter(([index]) => mine(index)).map(([, { clGwei: gwei }]) => gwei))
      const elWei = sum(inDay.map(({ revenueWei }) => revenueWei))
      const elBy = (index: number): bigint =>
        sum(inDay.filter((b) => b.proposerIndex === index).map((b) => b.revenueWei))
      const earning = [...trackedIndices()].filter(
        (index) => (rewards.get(index)?.clGwei ?? 0n) * 10n ** 9n + elBy(index) > 0n,
      )
      const answer = await api(daily())
      expect(answer).toMatchObject({ code: '200', msg: 'Success', pagination: { page: 1, limit: 10, total: 1 } })
      expect(answer.data?.reward).toEqual([
        {
          date: DAY,
          cl_reward: eth(clGwei, 9),
          el_reward: eth(elWei, 18),
          total_reward: eth(clGwei * 10n ** 9n + elWei, 18),
          validators_active_count: earning.length,
        },
      ])
      expect(await api(daily().replace('daily', 'daliy'))).toEqual(answer)
    })

    it('serves totals up to the newest final epoch as the states have them', async () => {
      const lastEpoch = (await ready()).last_finalized_epoch as number
      const last = (lastEpoch + 1) * 32 - 1
      const rewards = await clRewards(node, { before: 0, last, blocks })
      const answer = await api(`/api/v1/validator/total-rewards?limit=${PAGE}`)
      const expected = [...trackedIndices()].sort((a, b) => a - b).map((index) => totalOf(index, rewards, paid))
      expect(answer.data?.validator_details).toHaveLength(expected.length)
      for (const [at, detail] of (answer.data?.validator_details ?? []).entries()) {
        expect(detail, `validator ${expected[at]?.validator_index}`).toMatchObject(expected[at] as object)
      }
      expect(answer.data).toMatchObject({
        validators_total_count: TRACKED.length,
        validators_total_cl_balance: eth(sum([...rewards].filter(([i]) => mine(i)).map(([, r]) => r.balanceGwei)), 9),
        validators_total_rewards: eth(
          sum([...rewards].filter(([i]) => mine(i)).map(([, r]) => r.clGwei)) * 10n ** 9n +
            sum(paid.map((b) => b.revenueWei)),
          18,
        ),
      })
    })

    it('saw tips, builder payments, deposits and withdrawals in the day, so that equality means something', async () => {
      const rewards = await clRewards(node, { before: DAY_BEFORE_SLOT, last: DAY_LAST_SLOT, blocks })
      const tracked = [...rewards].filter(([index]) => mine(index)).map(([, reward]) => reward)
      expect(sum(tracked.map((r) => r.depositedGwei)) > 32n * 10n ** 9n).toBe(true)
      expect(sum(tracked.map((r) => r.withdrawnGwei)) > 0n).toBe(true)
      const kinds = Map.groupBy(paid, ({ kind }) => kind)
      expect(kinds.get('tips')?.length).toBeGreaterThan(10)
      expect(kinds.get('payment')?.length).toBeGreaterThan(10)
    })

    it('settles every proven block of the account once, newest first, fee and share summing to the revenue', async () => {
      const proven = paid.filter(({ kind }) => kind !== 'failed payment').sort((a, b) => b.blockNumber - a.blockNumber)
      // Settled rewards need dates within a month of each other.
      const path = `/api/v1/cloud/validator/el/settle/rewards?start_date=2026-01-10&end_date=2026-01-13&limit=${PAGE}`
      const answer = await api(path)
      const fee = (wei: bigint): bigint => (wei * FEE_RATE.numerator) / FEE_RATE.denominator
      expect(answer.pagination?.total).toBe(proven.length)
      expect(
        answer.data?.rewards?.map((row) => [
          row.block_number,
          row.validator_index,
          row.el_reward,
          row.service_fee,
          row.user_reward,
        ]),
      ).toEqual(
        proven
          .slice(0, PAGE)
          .map(({ blockNumber, proposerIndex, revenueWei: wei }) => [
            blockNumber,
            proposerIndex,
            eth(wei, 18),
            eth(fee(wei), 18),
            eth(wei - fee(wei), 18),
          ]),
      )
      expect(answer.data).toMatchObject({
        sum_service_fee: eth(sum(proven.map((b) => fee(b.revenueWei))), 18),
        sum_reward: eth(sum(proven.map((b) => b.revenueWei - fee(b.revenueWei))), 18),
      })
    })

    it('took back the block that a reorg replaced', async () => {
      await using eventLog = await openEventLog(readConfig(env), silentLog)
      const seen = await Array.fromAsync(eventLog.read({ topic: 'beacon.blocks', signal: AbortSignal.timeout(60_000) }))
      const reverted = seen.filter(({ event }) => event.type === 'beacon.block-reverted')
      expect(reverted.length).toBeGreaterThan(0)
    })

    it('stops cleanly, and proves every validator and day from the command line', async () => {
      expect(await program.stop(), program.output()).toBe(0)
      const { code, stdout, stderr } = await runCommand(['verify'], env)
      expect(`${code} ${stderr}`, stdout.slice(-2_000)).toBe('0 ')
      const lines = stdout.trim().split('\n')
      expect(lines.filter((line) => line.endsWith('  ok'))).toHaveLength(trackedIndices().size)
      expect(lines.at(-1)).toMatch(
        /^1 days, \d+ validator-days, 0 wrong; \d+ validator-epochs, 0 unexplained; \d+ settlements, 0 wrong$/,
      )
    })

    it('gives row-for-row equal tables after a rebuild, and after another', async () => {
      undisturbed = await dump(env)
      expect(undisturbed.daily_rewards).toHaveLength(trackedIndices().size)
      for (const _ of [1, 2]) {
        const { code, stderr } = await runCommand(['rebuild'], env)
        expect(code, stderr).toBe(0)
        expect(await dump(env)).toEqual(undisturbed)
      }
    })

    it('gives the same tables after kill -9 in the middle of ingest and of processing', async () => {
      const other = environmentOf('killed')
      await copyAccounts(env, other)
      const lastEpoch = await finalEpochOf(node)
      await killWhile(['ingest'], other, async () => ((await cursorOf(other, 'epochs')) ?? 0) > lastEpoch / 3)
      await killWhile(['ingest'], other, async () => {
        const [epochs, head] = [await cursorOf(other, 'epochs'), await cursorOf(other, 'head')]
        return (epochs ?? 0) > lastEpoch && (head ?? 0) > LAST_SLOT
      })
      const total = await lagOf(other)
      await killWhile(['process'], other, async () => (await lagOf(other)) < (total * 2n) / 3n)
      expect(await lagOf(other)).toBeGreaterThan(0n)
      await killWhile(['process'], other, async () => (await lagOf(other)) === 0n)
      expect(withoutVersions(await dump(other))).toEqual(withoutVersions(undisturbed))
    })

    it('goes on where it was when it is started again', async () => {
      program = await startProgram(['all'], env)
      const before = await api(daily())
      expect(before.data?.reward).toHaveLength(1)
      await devnet.advanceTo(LAST_SLOT + 64)
      const lastEpoch = await finalEpochOf(node)
      await eventually(
        'the next final epoch',
        async () => (await ready()).last_finalized_epoch === lastEpoch || undefined,
        60_000,
      )
      expect(await api(daily())).toEqual(before)
    })
  })
}

interface Answer {
  readonly code: string
  readonly msg: string
  readonly pagination?: { readonly page: number; readonly limit: number; readonly total: number }
  readonly data?: {
    readonly reward?: readonly object[]
    readonly validator_details?: readonly object[]
    readonly rewards?: readonly Readonly<Record<string, string | number>>[]
  }
}

type Tables = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n)
}

function totalOf(
  index: number,
  rewards: ReadonlyMap<number, OracleReward>,
  paid: readonly OracleRevenue[],
): Record<string, unknown> {
  const { clGwei = 0n, balanceGwei = 0n } = rewards.get(index) ?? {}
  const elWei = sum(paid.filter((b) => b.proposerIndex === index).map((b) => b.revenueWei))
  return {
    validator_index: index,
    cl_total_reward: eth(clGwei, 9),
    el_total_reward: eth(elWei, 18),
    total_reward: eth(clGwei * 10n ** 9n + elWei, 18),
    cl_balance: eth(balanceGwei, 9),
  }
}

async function createAccount(env: Environment): Promise<string> {
  const account = ['--account', 'acme']
  const created = await runCommand(['admin', 'token', 'create', ...account], env)
  expect(created.code, created.stderr).toBe(0)
  const tracked = await runCommand(['admin', 'validators', 'track', ...account], env, TRACKED.join('\n'))
  expect(tracked.code, tracked.stderr).toBe(0)
  const rate = await runCommand(['admin', 'fee-rate', 'set', ...account, '--rate', '0.1', '--from', '2026-01-01'], env)
  expect(rate.code, rate.stderr).toBe(0)
  return created.stdout.trim()
}

/** The newest epoch of which every slot is final. */
async function finalEpochOf(node: OracleNode): Promise<number> {
  const response = await fetch(`${node.beaconUrl}/eth/v1/beacon/states/head/finality_checkpoints`)
  const { data } = (await response.json()) as { data: { finalized: { epoch: string } } }
  return Number(data.finalized.epoch) - 1
}

async function dump(env: Environment): Promise<Tables> {
  await using warehouse = await openMigratedWarehouse(readConfig(env))
  const tables: Record<string, Readonly<Record<string, unknown>>[]> = {}
  for (const [table, key] of Object.entries(PROJECTIONS)) {
    tables[table] = await warehouse.query(`SELECT * FROM ${table} FINAL ORDER BY ${key.join(', ')}`)
  }
  return tables
}

function withoutVersions(tables: Tables): Tables {
  return Object.fromEntries(
    Object.entries(tables).map(([table, rows]) => [table, rows.map(({ version: _, ...rest }) => rest)]),
  )
}

/** The same account with the same token in another log. */
async function copyAccounts(from: Environment, to: Environment): Promise<void> {
  await using source = await openEventLog(readConfig(from), silentLog)
  await using target = await openEventLog(readConfig(to), silentLog)
  const facts = await Array.fromAsync(source.read({ topic: 'accounts', signal: AbortSignal.timeout(60_000) }))
  await target.append(
    'accounts',
    facts.map(({ event }) => event),
  )
}

async function cursorOf(env: Environment, name: string): Promise<number | undefined> {
  await using eventLog = await openEventLog(readConfig(env), silentLog)
  let next: number | undefined
  for await (const { event } of eventLog.read({ topic: 'ingest.cursors', signal: AbortSignal.timeout(60_000) })) {
    if (event.key === chainKey('mainnet', name)) next = decodeEvent(ingestCursor, event).next
  }
  return next
}

/** Events that no projection has acknowledged, over all topics. */
async function lagOf(env: Environment): Promise<bigint> {
  const config = readConfig(env)
  await using eventLog = await openEventLog(config, silentLog)
  const lags = await Promise.all(PROJECTORS.map(({ topic, group }) => eventLog.lag(topic, group)))
  return sum(lags)
}

/** Runs a role until the condition holds, then kills it without warning. */
async function killWhile(args: readonly string[], env: Environment, until: () => Promise<boolean>): Promise<void> {
  await using role = await startProgram(args, env, { announces: false })
  await eventually(
    `the moment to kill ${args.join(' ')}`,
    async () => ((await until()) ? true : undefined),
    HISTORY_TIMEOUT_MS,
  ).catch((error: unknown) => {
    throw new Error(role.output(), { cause: error })
  })
  await role.kill()
}
