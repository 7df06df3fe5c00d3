import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeEvent } from '../../schemas/events/codec.ts'
import { executionBlockReverted } from '../../schemas/events/execution-block.ts'
import { createAccount, TRACKED } from './account.ts'
import { ethereumChain, executionChain, writeChains } from './configuration.ts'
import { executionBlocksOf, finalBlockOf } from './execution-oracle.ts'
import { expectCanonicalBlocks, expectExecutionChain, expectOnlyIn } from './expect-blocks.ts'
import {
  blocksOf,
  clRewards,
  eth,
  finalEpochOf,
  indicesAt,
  type OracleBlock,
  type OracleNode,
  type OracleRevenue,
  type OracleReward,
  revenues,
} from './oracle.ts'
import { plannedPayment } from './planned-payments.ts'
import {
  type DevnetChild,
  type Environment,
  eventually,
  killWhile,
  MOMENT_POLL_MS,
  type Running,
  runCommand,
  STEP_TIMEOUT_MS,
  startDevnetChild,
  startProgram,
  withLastWords,
} from './processes.ts'
import {
  copyAccounts,
  cursorOf,
  dump,
  eventsOf,
  expectEqualTables,
  filterRows,
  isProcessed,
  lagOf,
  ofAnyLog,
  openLog,
  type Tables,
} from './stores.ts'
import { isWrong, writeWrongRows, wrongRowsIn } from './wrong-rows.ts'

/** UTC+8 days of the devnet with its fixed genesis, which begins in the first one, and the slots whose states they begin and end with. */
const GENESIS_DAY = { date: '2026-01-10', before: 0, last: 302 }
const DAY = { date: '2026-01-11', before: 302, last: 2_102 }
const NEXT_DATE = '2026-01-12'
/** The day's last slot is final about three epochs later. */
const LAST_SLOT = 2_250
/** The default scenario announces the block of this slot and then replaces it. */
const ORPHANED_SLOT = 420
/** The newest block of the second chain when its next one comes on another branch, which leaves out the three before it. */
const SECOND_REORG_BLOCK = 40
const SECOND_REORG_DEPTH = 3
const SECOND_LAST_BLOCK = 300
const SECOND = 'scroll_mainnet'

/** Validators leave of their own will within the day: an eighth of mainnet's epochs before they may. */
const EARLY_EXITS = { shardCommitteePeriodEpochs: 32 }
const FEE_RATE = { numerator: 1n, denominator: 10n }
const PAGE = 1000

const HISTORY_TIMEOUT_MS = 1_000_000
/** Where the program dies in the middle of everything: newest final epoch in the tables, and what the second chain has then. */
const DEATHS = [
  { epoch: 25, secondBlock: 150 },
  { epoch: 48, secondBlock: SECOND_LAST_BLOCK },
] as const

export interface PipelineOptions {
  readonly mode: string
  /** The variables of a mode for one fresh set of stores. */
  readonly modeOf: (name: string) => Environment
  /**
   * `on the way`: the program that everything is asked of has been killed while it caught up. `on a second way`: it has not, and
   * another log of the same chains, filled and processed by processes that are killed, must give the same tables. `nowhere`: neither.
   */
  readonly deaths: 'on the way' | 'on a second way' | 'nowhere'
}

/**
 * The whole way, by real processes: devnet -> ingest -> log -> processors -> warehouse -> HTTP, against an oracle that knows only
 * the devnet's states and receipts. Two chains go it side by side: an Ethereum, and one of execution blocks alone.
 */
export function pipelineSuite({ mode, modeOf, deaths }: PipelineOptions): void {
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
    let orphans: readonly string[]
    /** What lies in the tables after the program has stopped. */
    let tables: Tables

    const environmentOf = (name: string): Environment => {
      const file = join(directory, `${name}.yaml`)
      writeChains(file, { mainnet: ethereumChain(devnet), [SECOND]: executionChain(devnet.secondExecutionUrl) })
      return { ...modeOf(name), EPOCHLINE_DATA: join(directory, name), EPOCHLINE_CONFIG: file }
    }
    const second = () => ({ chain: SECOND, url: devnet.secondExecutionUrl, last: SECOND_LAST_BLOCK })
    const mine = (index: number): boolean => trackedIndices().has(index)
    const trackedIndices = (): ReadonlySet<number> => new Set(TRACKED.flatMap((pubkey) => indices.get(pubkey) ?? []))
    const apiOf = async (chain: string, path: string): Promise<Answer> => {
      const response = await fetch(`${program.url}/${chain}/${token}${path}`)
      return (await response.json()) as Answer
    }
    const api = (path: string): Promise<Answer> => apiOf('ethereum/mainnet', path)
    const ready = async (): Promise<Ready> => (await fetch(`${program.url}/ready`)).json() as Promise<Ready>
    const secondHead = async (): Promise<number> => (await ready()).chains[SECOND]?.head_block ?? 0

    /** Kills the program whenever it has come so far, and starts it again. */
    const dieOnTheWay = async (): Promise<void> => {
      for (const { epoch, secondBlock } of DEATHS) {
        const reached = async () => ((await ready()).last_finalized_epoch ?? 0) >= epoch || undefined
        await eventually(`epoch ${epoch}`, reached, HISTORY_TIMEOUT_MS)
        const before = await secondHead()
        await devnet.advanceSecondTo(secondBlock)
        const moved = async () => (await secondHead()) > before || undefined
        await eventually('the first of its new blocks', moved, STEP_TIMEOUT_MS, MOMENT_POLL_MS)
        await program.kill()
        program = await startProgram(['all'], env)
      }
    }

    beforeAll(async () => {
      devnet = await startDevnetChild(EARLY_EXITS)
      node = devnet
      env = environmentOf('first')
      await (await openLog(env))[Symbol.asyncDispose]() // an account is for a log that is there
      token = await createAccount(env)
      program = await startProgram(['all'], env)
      await Promise.all([devnet.advanceTo(ORPHANED_SLOT), devnet.advanceSecondTo(SECOND_REORG_BLOCK)])
      orphans = (
        await executionBlocksOf(
          devnet.secondExecutionUrl,
          SECOND_REORG_BLOCK - SECOND_REORG_DEPTH + 1,
          SECOND_REORG_BLOCK,
        )
      ).map(({ hash }) => hash)
      await eventually('the orphans’ arrival', async () => {
        const hasFirst = ((await ready()).head_slot ?? 0) >= ORPHANED_SLOT
        return (hasFirst && (await secondHead()) >= SECOND_REORG_BLOCK) || undefined
      })
      const produced = devnet.advanceTo(LAST_SLOT)
      if (deaths === 'on the way') await dieOnTheWay()
      await Promise.all([produced, devnet.advanceSecondTo(SECOND_LAST_BLOCK)])
      const lastEpoch = await finalEpochOf(node)
      await eventually(
        'the last final epoch',
        async () => (await ready()).last_finalized_epoch === lastEpoch || undefined,
        HISTORY_TIMEOUT_MS,
      )
      const secondFinal = await finalBlockOf(devnet.secondExecutionUrl)
      await eventually(
        'the second chain’s newest final block',
        async () => (await ready()).chains[SECOND]?.finalized_block === secondFinal || undefined,
      )
      const closed = async () => (await api(daily(GENESIS_DAY.date, NEXT_DATE))).data?.reward?.length === 2 || undefined
      await withLastWords(program, eventually('the days’ closing', closed, HISTORY_TIMEOUT_MS))
      const [first, last] = [1, (lastEpoch + 1) * 32 - 1]
      blocks = await blocksOf(node, first, last)
      indices = await indicesAt(node, last)
      paid = await revenues(
        node,
        blocks.filter(({ proposerIndex }) => mine(proposerIndex)),
        plannedPayment,
      )
    })

    afterAll(async () => {
      await program?.kill()
      await devnet?.[Symbol.asyncDispose]()
      rmSync(directory, { recursive: true, force: true })
    })

    const daily = (from: string, to: string): string =>
      `/api/v1/validator/daily-rewards?start_date=${from}&end_date=${to}`

    it.each([
      { ...GENESIS_DAY, next: DAY.date },
      { ...DAY, next: NEXT_DATE },
    ])('serves the rewards of $date as the states and receipts have them, to the gwei and the wei', async (day) => {
      const { date, before, last, next } = day
      const rewards = await clRewards(node, { before, last, blocks })
      const inDay = paid.filter(({ slot }) => slot > before && slot <= last)
      const clGwei = sum([...rewards].filter(([index]) => mine(index)).map(([, { clGwei: gwei }]) => gwei))
      const elWei = sum(inDay.map(({ revenueWei }) => revenueWei))
      const failed = inDay.filter(({ kind }) => kind === 'failed payment').length
      const elBy = (index: number): bigint =>
        sum(inDay.filter((b) => b.proposerIndex === index).map((b) => b.revenueWei))
      const earning = [...trackedIndices()].filter(
        (index) => (rewards.get(index)?.clGwei ?? 0n) * 10n ** 9n + elBy(index) > 0n,
      )
      const answer = await api(daily(date, next))
      expect(answer).toMatchObject({ code: '200', msg: 'Success', pagination: { page: 1, limit: 10, total: 1 } })
      expect(answer.data?.reward).toEqual([
        {
          date,
          cl_reward: eth(clGwei, 9),
          el_reward: eth(elWei, 18),
          total_reward: eth(clGwei * 10n ** 9n + elWei, 18),
          validators_active_count: earning.length,
          ...(failed > 0 ? { blocks_unproven_count: failed } : {}),
        },
      ])
      expect(await api(daily(date, next).replace('daily', 'daliy'))).toEqual(answer)
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
      const rewards = await clRewards(node, { ...DAY, blocks })
      const tracked = [...rewards].filter(([index]) => mine(index)).map(([, reward]) => reward)
      expect(sum(tracked.map((r) => r.depositedGwei)) > 32n * 10n ** 9n).toBe(true)
      expect(sum(tracked.map((r) => r.withdrawnGwei)) > 0n).toBe(true)
      const kinds = Map.groupBy(paid, ({ kind }) => kind)
      expect(kinds.get('tips')?.length).toBeGreaterThan(10)
      expect(kinds.get('payment')?.length).toBeGreaterThan(10)
      expect(kinds.get('failed payment')?.length).toBeGreaterThan(0)
    })

    it('settles every proven block of the account once, newest first, fee and share summing to the revenue', async () => {
      const proven = paid.filter(({ kind }) => kind !== 'failed payment').sort((a, b) => b.blockNumber - a.blockNumber)
      // Settled rewards need dates within a month of each other.
      const path = `/api/v1/cloud/validator/el/settle/rewards?start_date=2026-01-10&end_date=2026-01-13&limit=${PAGE}`
      // Of blocks after the closed day, whose day stays open, it follows within seconds.
      const settled = async () => ((await api(path)).pagination?.total === proven.length ? true : undefined)
      await eventually('the settling of the newest blocks', settled)
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
      await using eventLog = await openLog(env)
      const seen = await eventsOf(eventLog, 'beacon.blocks')
      const reverted = seen.filter(({ event }) => event.type === 'beacon.block-reverted')
      expect(reverted.length).toBeGreaterThan(0)
    })

    it('took back the blocks of the second chain that a reorg replaced, and no others', async () => {
      await using eventLog = await openLog(env)
      const reverts = (await eventsOf(eventLog, 'execution.blocks'))
        .filter(({ event }) => event.type === executionBlockReverted.name)
        .map(({ event }) => decodeEvent(executionBlockReverted, event))
        .filter(({ chain }) => chain === SECOND)
      // Blocks that may have been half-written at a death are taken back, too, and told again.
      const lasting = new Set(
        (await executionBlocksOf(devnet.secondExecutionUrl, 1, SECOND_LAST_BLOCK)).map((b) => b.hash),
      )
      const replaced = reverts.filter(({ hash }) => !lasting.has(hash)).map(({ hash }) => hash)
      expect(new Set(replaced)).toEqual(new Set(orphans))
      if (deaths !== 'on the way') expect(reverts).toHaveLength(orphans.length)
    })

    it('tells of both chains whether it is ready, each by its own measure', async () => {
      const { chains, head_slot, last_finalized_epoch } = await ready()
      expect(Object.keys(chains)).toEqual(['mainnet', SECOND])
      expect(chains).toMatchObject({
        mainnet: { head_slot, last_finalized_epoch, checks: { has_data: true, follows_execution: true } },
        [SECOND]: {
          head_block: SECOND_LAST_BLOCK,
          head_lag_blocks: 0,
          finalized_block: await finalBlockOf(devnet.secondExecutionUrl),
          checks: { has_data: true, follows_finality: true },
        },
      })
    })

    it.each(['daily-rewards', 'total-rewards', 'el/settle/rewards'])(
      'has no %s of a chain without validators',
      async (name) => {
        const path = name.startsWith('el') ? `/api/v1/cloud/validator/${name}` : `/api/v1/validator/${name}`
        expect((await api(path)).code).toBe('200')
        expect(await apiOf('scroll/mainnet', path)).toEqual({
          code: '404',
          msg: 'Path Not Found: the chain has no validators',
          data: null,
        })
      },
    )

    /** Some of those who are tracked join on one of the days. */
    async function countValidatorDays(): Promise<number> {
      const registries = await Promise.all([GENESIS_DAY, DAY].map(({ last }) => indicesAt(node, last)))
      return registries.flatMap((known) => TRACKED.filter((pubkey) => known.has(pubkey))).length
    }

    it('stops cleanly, and proves every validator and day from the command line', async () => {
      expect(await program.stop(), program.output()).toBe(0)
      // Documents of tokens are read by a clock of their own: what came with the stop is in the log alone.
      await using processing = await startProgram(['process'], env, { announces: false })
      await eventually('an end of the work', async () => (await isProcessed(env)) || undefined, HISTORY_TIMEOUT_MS)
      expect(await processing.stop(), processing.output()).toBe(0)
      const { code, stdout, stderr } = await runCommand(['verify'], env)
      expect(`${code} ${stderr}`, stdout.slice(-2_000)).toBe('0 ')
      const lines = stdout.trim().split('\n')
      expect(lines.filter((line) => line.endsWith('  ok'))).toHaveLength(await countValidatorDays())
      expect(lines.at(-1)).toMatch(
        /^2 days, \d+ validator-days, 0 wrong; \d+ validator-epochs, 0 unexplained; \d+ settlements, 0 wrong$/,
      )
    })

    it('holds the canonical blocks of both chains once, each chain’s by its own name', async () => {
      tables = await dump(env)
      expect(tables.daily_rewards).toHaveLength(await countValidatorDays())
      await expectCanonicalBlocks(tables, { chain: 'mainnet', blocks: await blocksOf(node, 1, LAST_SLOT) }, second())
    })

    it('holds the second chain’s blocks as its node has them, with all their logs, and how far they are final', () =>
      expectExecutionChain(tables, second()))

    it('has nothing of the second chain in tables of validators and their rewards', () =>
      expectOnlyIn(tables, 'mainnet'))

    it.each([
      {
        what: 'one family of one chain',
        options: ['--chain', SECOND, '--family', 'execution'],
        left: ['closed_days mainnet', `closed_days ${SECOND}`, 'execution_finality mainnet'],
      },
      { what: 'everything', options: [], left: [] },
    ])('rebuilds $what, row for row, and leaves the rest as it is', async ({ options, left }) => {
      if (left.length > 0) await writeWrongRows(env, ['mainnet', SECOND])
      const { code, stdout, stderr } = await runCommand(['rebuild', ...options], env)
      expect(code, stderr).toBe(0)
      expect(stdout).toMatch(/are built anew out of the log/)
      const rebuilt = await dump(env)
      expect(wrongRowsIn(rebuilt)).toEqual(left)
      expectEqualTables(
        filterRows(rebuilt, (row) => !isWrong(row)),
        tables,
      )
    })

    it.runIf(deaths === 'on a second way')(
      'gives the same tables after kill -9 in the middle of ingest and of processing',
      async () => {
        const other = environmentOf('killed')
        await copyAccounts(env, other)
        const lastEpoch = await finalEpochOf(node)
        const headOf = async (chain: string) => (await cursorOf(other, chain, 'head')) ?? 0
        const epochs = async () => (await cursorOf(other, 'mainnet', 'epochs')) ?? 0
        const kill = (role: string, until: () => Promise<boolean>) =>
          killWhile([role], other, until, HISTORY_TIMEOUT_MS)
        await kill('ingest', async () => (await headOf(SECOND)) > SECOND_REORG_BLOCK)
        await kill('ingest', async () => (await epochs()) > lastEpoch / 3)
        await kill('ingest', async () => {
          const isThere = (await epochs()) > lastEpoch && (await headOf('mainnet')) > LAST_SLOT
          return isThere && (await headOf(SECOND)) > SECOND_LAST_BLOCK
        })
        const total = await lagOf(other)
        await kill('process', async () => (await lagOf(other)) < (total * 2n) / 3n)
        expect(await lagOf(other)).toBeGreaterThan(0n)
        await kill('process', () => isProcessed(other))
        expectEqualTables(ofAnyLog(await dump(other)), ofAnyLog(tables))
      },
    )

    it('goes on where it was when it is started again', async () => {
      program = await startProgram(['all'], env)
      const before = await api(daily(GENESIS_DAY.date, NEXT_DATE))
      expect(before.data?.reward).toHaveLength(2)
      await devnet.advanceTo(LAST_SLOT + 64)
      const lastEpoch = await finalEpochOf(node)
      await eventually(
        'the next final epoch',
        async () => (await ready()).last_finalized_epoch === lastEpoch || undefined,
        60_000,
      )
      expect(await api(daily(GENESIS_DAY.date, NEXT_DATE))).toEqual(before)
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

interface Ready {
  readonly head_slot: number | null
  readonly last_finalized_epoch: number | null
  readonly chains: Readonly<
    Record<string, { readonly head_block?: number | null; readonly finalized_block?: number | null }>
  >
}

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
