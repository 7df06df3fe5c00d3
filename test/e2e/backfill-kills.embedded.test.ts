import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Random, seededRandom } from '../../infra/devnet/consensus/random.ts'
import type { Devnet } from '../../infra/devnet/open.ts'
import { chainKey } from '../../schemas/chains.ts'
import { epochBlocks } from '../../schemas/events/beacon-epoch.ts'
import { appendAccount } from '../faults/account.ts'
import { type NodeFault, openFaultyNode, TrueNode } from '../faults/faulty-node.ts'
import { LAST_SLOT, openHistory } from '../faults/history.ts'
import { PATIENCE, tries } from '../long-form.ts'
import { writeChains } from './configuration.ts'
import { type Environment, eventually, runCommand, startProgram } from './processes.ts'
import {
  dump,
  eventsOf,
  expectEqualTables,
  filterRows,
  isProcessed,
  ofAnyLog,
  openLog,
  type Row,
  type Tables,
} from './stores.ts'

// Backfills of one history under as many names, in one log, each killed up to three times and then let end.

const SEED = process.env.EPOCHLINE_TEST_SEED ?? '1'
const KILLS = tries(4, 50)
const KILLS_OF_ONE_MAX = 3
/** What lies between two questions, appending above all, takes no longer. */
const BEHIND_QUESTION_MS_MAX = 60
/** Names of one length: tables tell how large events are, and events name their chain. */
const chainOf = (run: number): string => `run_${String(run).padStart(2, '0')}`
const UNDISTURBED = chainOf(0)
const CHAINS = Array.from({ length: KILLS + 1 }, (_, run) => chainOf(run))
const TIMEOUT = { timeout: 600_000 * PATIENCE }

/** Beacon nodes are asked ahead, execution nodes for the blocks of an epoch when it is about to be appended. */
const NODES = ['beacon', 'execution'] as const
type Questions = Record<(typeof NODES)[number], number>

/** When a process is killed: so long behind so many of its questions to one of the nodes. */
interface Moment {
  readonly node: keyof Questions
  readonly questions: number
  readonly laterMs: number
}

describe('a backfill that is killed again and again', () => {
  const directory = mkdtempSync(join(tmpdir(), 'epochline-backfill-kills-'))
  const env: Environment = {
    EPOCHLINE_DATA: join(directory, 'data'),
    EPOCHLINE_CONFIG: join(directory, 'epochline.yaml'),
  }
  const open = new AsyncDisposableStack()
  const killed: string[] = []
  /** Epochs that the log had of its chain at each kill. */
  const epochsAtKills: number[] = []
  let devnet: Devnet
  let lastEpoch: number
  let questions: Questions
  let onQuestion: (node: keyof Questions) => void = () => {}
  let tables: Tables

  beforeAll(async () => {
    devnet = open.use(await openHistory())
    await devnet.advanceTo(LAST_SLOT)
    lastEpoch = devnet.history.head.finality.finalized.epoch - 1
    const beacon = { urls: [await countQuestions('beacon', devnet.beaconUrl)] }
    const execution = { urls: [await countQuestions('execution', devnet.executionUrl)] }
    writeChains(env.EPOCHLINE_CONFIG ?? '', Object.fromEntries(CHAINS.map((chain) => [chain, { beacon, execution }])))
    await using eventLog = await openLog(env)
    await appendAccount(eventLog, CHAINS)
  })

  afterAll(async () => {
    await open.disposeAsync()
    rmSync(directory, { recursive: true, force: true })
  })

  /** URL of a node that answers as the one behind it, and counts. */
  async function countQuestions(node: keyof Questions, url: string): Promise<string> {
    const truth = open.use(new TrueNode(url))
    truth.isSettled = true
    const counting: NodeFault = {
      of: () => {
        questions[node]++
        onQuestion(node)
        return false
      },
      reply: () => 'reset',
    }
    return open.use(await openFaultyNode(truth, [counting])).url
  }

  /** Whether it was killed before it had ended. */
  async function backfill(chain: string, moment?: Moment): Promise<boolean> {
    const reached = Promise.withResolvers<void>()
    questions = { beacon: 0, execution: 0 }
    onQuestion = (node) => {
      if (node === moment?.node && questions[node] === moment.questions) delay(moment.laterMs).then(reached.resolve)
    }
    const range = ['--from', 'epoch:0', '--to', `epoch:${lastEpoch}`]
    await using program = await startProgram(['backfill', '--chain', chain, ...range], env, { announces: false })
    await Promise.race([reached.promise, program.exited])
    await program.kill()
    if ((await program.exited) === 'SIGKILL') return true
    expect(await program.stop(), program.output()).toBe(0)
    return false
  }

  async function epochsOf(chain: string): Promise<number> {
    await using eventLog = await openLog(env)
    const events = await eventsOf(eventLog, 'beacon.epochs')
    const own = events.filter(({ event }) => event.type === epochBlocks.name && event.key === chainKey(chain))
    return new Set(own.map(({ event }) => event.id)).size
  }

  /** Ends what was killed by the command that finds what lacks. */
  async function repairGaps(chain: string): Promise<void> {
    const isWhole = (await epochsOf(chain)) === lastEpoch + 1
    const gaps = ['gaps', '--chain', chain, '--from', 'epoch:0', '--to', `epoch:${lastEpoch}`]
    const told = await runCommand(gaps, env)
    expect(told.code, told.stdout + told.stderr).toBe(isWhole ? 0 : 1)
    expect(told.stdout).toMatch(isWhole ? /the log has all of them/ : /: not in the log/)
    const repaired = await runCommand([...gaps, '--repair'], env)
    expect(repaired.code, repaired.stdout + repaired.stderr).toBe(0)
    expect(repaired.stdout).toMatch(/the log has all of them for every tracked validator/)
  }

  /** Reads what all runs have logged into tables. */
  async function processAll(): Promise<void> {
    await using program = await startProgram(['process'], env, { announces: false })
    const isDone = async () => (await isProcessed(env)) || undefined
    await eventually('all events in tables', isDone).catch((error: unknown) => {
      throw new Error(program.output(), { cause: error })
    })
    expect(await program.stop(), program.output()).toBe(0)
  }

  function momentOf(random: Random, asked: Questions): Moment {
    const node = NODES[Math.floor(random() * NODES.length)] ?? 'beacon'
    const atQuestion = 1 + Math.floor(random() * asked[node])
    return { node, questions: atQuestion, laterMs: random() * BEHIND_QUESTION_MS_MAX }
  }

  it(`ends, though it died ${KILLS} times`, TIMEOUT, async () => {
    await backfill(UNDISTURBED)
    const asked = questions
    expect(await epochsOf(UNDISTURBED)).toBe(lastEpoch + 1)
    const random = seededRandom(SEED, 'backfill kills')
    while (epochsAtKills.length < KILLS) {
      const chain = chainOf(killed.push(chainOf(killed.length + 1)))
      const deaths = 1 + Math.floor(random() * KILLS_OF_ONE_MAX)
      for (let i = 0; i < deaths && epochsAtKills.length < KILLS; i++) {
        if (await backfill(chain, momentOf(random, asked))) epochsAtKills.push(await epochsOf(chain))
      }
      if (killed.length === 1) await repairGaps(chain)
      else await backfill(chain)
      expect(await epochsOf(chain)).toBe(lastEpoch + 1)
    }
    process.stdout.write(
      `seed ${SEED}: ${JSON.stringify(asked)} questions, ${killed.length} backfills killed with ${epochsAtKills.join()} epochs in the log\n`,
    )
    expect(new Set(epochsAtKills).size).toBeGreaterThan(1)
  })

  it('leaves the tables of one that nobody disturbed', TIMEOUT, async () => {
    await processAll()
    tables = ofAnyLog(await dump(env))
    const undisturbed = tablesOf(UNDISTURBED)
    expect(undisturbed.closed_days).toHaveLength(2)
    expect(undisturbed.daily_rewards.length).toBeGreaterThan(30)
    for (const chain of killed) expectEqualTables(tablesOf(chain), undisturbed)
  })

  it('is proven as one that nobody disturbed', TIMEOUT, async () => {
    const { code, stdout, stderr } = await runCommand(['verify', '--quiet'], env)
    expect(code, stdout + stderr).toBe(0)
    const linesOf = (chain: string) =>
      stdout
        .split('\n')
        .filter((line) => line.startsWith(`${chain} `))
        .map((line) => line.slice(chain.length))
    for (const chain of killed) expect(linesOf(chain)).toEqual(linesOf(UNDISTURBED))
  })

  /** The rows of one chain, as if it were any. */
  function tablesOf(chain: string): Tables {
    const own = filterRows(tables, (row) => row.chain === chain)
    const unnamed = Object.entries(own).map(([name, rows]) => [name, rows.map((row: Row) => ({ ...row, chain: '' }))])
    return Object.fromEntries(unnamed) as Tables
  }
})
