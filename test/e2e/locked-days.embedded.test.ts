import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Devnet } from '../../infra/devnet/open.ts'
import { parseEth } from '../../schemas/eth/units.ts'
import type { SettledReward } from '../../schemas/routes/rewards/settled-rewards.ts'
import { appendAccount } from '../faults/account.ts'
import { LAST_SLOT, openHistory } from '../faults/history.ts'
import { ethereumChain, writeChains } from './configuration.ts'
import { type Environment, eventually, type Running, runCommand, startProgram, withLastWords } from './processes.ts'
import { isProcessed, openLog } from './stores.ts'

// One history under three names: the logs of two of them begin within the first day, which is locked with the next one, and a backfill brings
// its beginning. The third has it from the start, and says what records and corrections of a block have to add up to.

const WHOLE = 'mainnet'
const LATE = ['hoodi', 'sepolia'] as const
const FIRST_DAY = '2026-01-10'
const LOCKED_THROUGH = '2026-01-11'
const BEHIND_LOCKED = '2026-01-12'
const BEGINS_WITH_EPOCH = 1
const TOKEN = 'faults'
const PAGE = 1_000
/** Cells of a record. */
const COMPARED = ['id', 'kind', 'block_number', 'el_reward', 'user_reward', 'service_fee'] as const

describe('records of locked days', () => {
  const directory = mkdtempSync(join(tmpdir(), 'epochline-locked-days-'))
  const env: Environment = {
    EPOCHLINE_DATA: join(directory, 'data'),
    EPOCHLINE_CONFIG: join(directory, 'epochline.yaml'),
  }
  const open = new AsyncDisposableStack()
  let devnet: Devnet
  let program: Running
  let kept: ReadonlyMap<string, readonly SettledReward[]>

  beforeAll(async () => {
    devnet = open.use(await openHistory())
    await devnet.advanceTo(LAST_SLOT)
    const chain = ethereumChain(devnet)
    const late = { ...chain, start: { epoch: BEGINS_WITH_EPOCH } }
    writeChains(env.EPOCHLINE_CONFIG ?? '', {
      [WHOLE]: chain,
      ...Object.fromEntries(LATE.map((name) => [name, late])),
    })
    {
      await using eventLog = await openLog(env)
      await appendAccount(eventLog, [WHOLE, ...LATE])
    }
    program = await startProgram(['all'], env)
    for (const name of [WHOLE, ...LATE]) {
      const path = `/ethereum/${name}/${TOKEN}/api/v1/validator/daily-rewards?start_date=${LOCKED_THROUGH}&end_date=${BEHIND_LOCKED}`
      const isClosed = async () => {
        const answer = (await (await program.ask(path)).json()) as { completeness: { final_through: string | null } }
        return answer.completeness?.final_through === LOCKED_THROUGH || undefined
      }
      await withLastWords(program, eventually(`${LOCKED_THROUGH} of ${name}`, isClosed))
    }
    await processed()
    const lock = ['admin', 'settlements', 'lock', '--account', 'acme', '--through', LOCKED_THROUGH]
    const { code, stderr } = await runCommand(lock, env)
    expect(code, stderr).toBe(0)
    const records = [WHOLE, ...LATE].map(async (name) => [name, await lockedRecords(name)] as const)
    kept = new Map(await Promise.all(records))
  })

  afterAll(async () => {
    await program?.[Symbol.asyncDispose]()
    await open.disposeAsync()
    rmSync(directory, { recursive: true, force: true })
  })

  const processed = () => eventually('all events in the tables', async () => (await isProcessed(env)) || undefined)

  const settled = (chain: string, dates: string, accept = 'application/json'): Promise<Response> =>
    program.ask(`/ethereum/${chain}/${TOKEN}/api/v1/cloud/validator/el/settle/rewards?${dates}`, {
      headers: { accept },
    })

  async function recordsOf(chain: string, dates: string): Promise<readonly SettledReward[]> {
    const { data } = (await (await settled(chain, `limit=${PAGE}&${dates}`)).json()) as {
      data: { rewards: readonly SettledReward[] }
    }
    return data.rewards
  }

  const lockedRecords = (chain: string) => recordsOf(chain, `start_date=${FIRST_DAY}&end_date=${BEHIND_LOCKED}`)
  /** Of the time at which they were written: the last month. */
  const corrections = (chain: string) => recordsOf(chain, '')

  /** Wei by the height of the block that records are of; without blocks that paid nothing, which are not corrected. */
  function sumsByBlock(records: readonly SettledReward[]): ReadonlyMap<number, bigint> {
    const sums = new Map<number, bigint>()
    for (const { block_number: height, el_reward } of records)
      sums.set(height, (sums.get(height) ?? 0n) + (parseEth(el_reward) ?? 0n))
    return new Map([...sums].filter(([, wei]) => wei !== 0n))
  }

  /** Brings the beginning into the log beside the program, which is then started again, and has written what that changes. */
  async function backfillAndRestart(chain: string): Promise<void> {
    const range = ['--from', 'epoch:0', '--to', `epoch:${BEGINS_WITH_EPOCH - 1}`]
    const { code, stdout, stderr } = await runCommand(['backfill', '--chain', chain, ...range], env)
    expect(code, stdout + stderr).toBe(0)
    await processed()
    expect(await program.stop(), program.output()).toBe(0)
    program = await startProgram(['all'], env)
    const isCorrected = async () => (await corrections(chain)).length > 0 || undefined
    await withLastWords(program, eventually(`corrections of ${chain}`, isCorrected))
    await processed()
  }

  it('stay as they were, and what a backfill brings is a correction of each block', async () => {
    const [chain] = LATE
    expect(await corrections(chain)).toEqual([])
    const before = kept.get(chain) ?? []
    const isLacking = ({ id, el_reward: eth }: SettledReward) => eth !== '0' && !before.some((one) => one.id === id)
    const lacking = (kept.get(WHOLE) ?? []).filter(isLacking)
    expect([before.length > 0, lacking.length > 5]).toEqual([true, true])
    await backfillAndRestart(chain)
    expect(await lockedRecords(chain)).toEqual(before)
    const written = await corrections(chain)
    expect(written.map(({ kind, fee_rate }) => [kind, fee_rate])).toEqual(lacking.map(() => ['correction', '0']))
    expect(written.map(({ block_number }) => block_number).toSorted()).toEqual(
      lacking.map(({ block_number }) => block_number).toSorted(),
    )
    expect(sumsByBlock([...before, ...written])).toEqual(sumsByBlock(kept.get(WHOLE) ?? []))
  })

  it('are the same in GraphQL, which says why, and in the CSV export', async () => {
    const [chain] = LATE
    const written = await corrections(chain)
    const body = JSON.stringify({
      query: `{ settlements(kind: CORRECTION, first: ${PAGE}) { totalCount nodes { id kind blockNumber revenue { eth } reason } } }`,
    })
    const response = await program.ask(`/ethereum/${chain}/${TOKEN}/graphql`, { method: 'POST', body })
    expect(await response.json()).toEqual({
      data: {
        settlements: {
          totalCount: written.length,
          nodes: written.map(({ id, block_number: height, el_reward: eth }) => ({
            ...{ id: String(id), kind: 'CORRECTION', blockNumber: height, revenue: { eth } },
            reason: expect.stringMatching(
              new RegExp(
                `^Block ${height} proves ${eth} ETH \\(\\w+\\) by what is known now; 0 ETH were settled of it\\.$`,
              ),
            ),
          })),
        },
      },
    })
    const csv = await (await settled(chain, `start_date=${FIRST_DAY}`, 'text/csv')).text()
    const [names = [], ...lines] = csv
      .trim()
      .split('\r\n')
      .map((line) => line.split(','))
    const cells = (line: readonly string[]) => COMPARED.map((name) => line[names.indexOf(name)])
    const blocks = await recordsOf(chain, `start_date=${FIRST_DAY}&end_date=2026-02-01`)
    const shown = [...written, ...blocks].map((record) => COMPARED.map((name) => String(record[name])))
    expect(lines.map(cells).toSorted()).toEqual(shown.toSorted())
  })

  it('are not corrected again by a program that starts again, and goes on with the next number', async () => {
    const [first, second] = LATE
    const before = await corrections(first)
    await backfillAndRestart(second)
    expect(await corrections(first)).toEqual(before)
    for (const name of [WHOLE, ...LATE]) expect(await lockedRecords(name)).toEqual(kept.get(name))
    expect(await corrections(WHOLE)).toEqual([])
    const ids = [...before, ...(await corrections(second))].map(({ id }) => id).toSorted()
    expect(ids).toEqual(ids.map((_, nth) => 2 ** 52 + 1 + nth))
    expect(sumsByBlock([...(kept.get(second) ?? []), ...(await corrections(second))])).toEqual(
      sumsByBlock(kept.get(WHOLE) ?? []),
    )
    const { code, stdout, stderr } = await runCommand(['verify', '--quiet'], env)
    expect(code, stdout + stderr).toBe(0)
  })
})
