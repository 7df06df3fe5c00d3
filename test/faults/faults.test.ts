import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Devnet } from '../../infra/devnet/open.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import { inOrder } from '../../ingest/in-order.ts'
import { writeChains } from '../e2e/configuration.ts'
import { type Environment, eventually, runCommand, startProgram } from '../e2e/processes.ts'
import {
  cursorOf,
  dump,
  expectEqualTables,
  filterRows,
  isProcessed,
  ofAnyLog,
  openLog,
  type Row,
  type Tables,
} from '../e2e/stores.ts'
import { appendAccount } from './account.ts'
import { catalogue } from './catalogue.ts'
import { documentedFaults, FAULTS_OF_NODES, showFaults, writeDocument } from './document.ts'
import type { Fault } from './fault.ts'
import { type FaultyNode, type NodeFault, openFaultyNode, TrueNode } from './faulty-node.ts'
import { fillBack, follow, openLines, type Progress } from './follow.ts'
import { JOINER, LAST_SLOT, openHistory, PAST_SLOTS, VALIDATORS } from './history.ts'
import { ofStates } from './replies.ts'

/** The chain that nothing happens to. */
const SOUND = 'sound_00'
const RUN_TIMEOUT_MS = 120_000
const PROCESS_TIMEOUT_MS = 400_000
/** Followers of the finished history at once. */
const SIDE_BY_SIDE = 8
const END_WITHIN_MS = 10_000
const ROUND_MS = 20
/** Epochs that a log lacks until a backfill reads them. */
const FILLED_BACK = { fromEpoch: 0, toEpoch: 3 }
/** No fault of the growing chain is a silent one: what takes long is the machine. */
const LIVE_LIMITS = { headersTimeoutMs: 60_000 }

const ONLY = new RegExp(process.env.EPOCHLINE_FAULTS_ONLY ?? '')
const EVERY = Number(process.env.EPOCHLINE_FAULTS_EVERY ?? '1')
const ALL_FAULTS = catalogue({ joiner: JOINER, headSlot: () => devnet.headSlot })
const FAULTS = ALL_FAULTS.filter(({ name }, i) => ONLY.test(name) && i % EVERY === 0)
/** The real program is told to end while no node answers its questions about states, and started again. */
const STOPPING = { name: 'the program: ended by a signal while a node hangs', chain: 'stopping' }
const PAST = FAULTS.filter(({ moment }) => moment !== 'live')
const LIVE = FAULTS.filter(({ moment }) => moment === 'live')
/** Names of one length: tables tell how large events are, and events name their chain. */
const chainOf = (fault: Fault): string => `fault_${String(FAULTS.indexOf(fault)).padStart(2, '0')}`

interface Nodes {
  readonly beacon: TrueNode
  readonly execution: TrueNode
}

/** Every fault by its name, with the chain that met it. */
const CHAINS: readonly (readonly [string, string])[] = [
  ...FAULTS.map((fault) => [fault.name, chainOf(fault)] as const),
  [STOPPING.name, STOPPING.chain],
]

/** How the program came through a fault. */
interface Outcome {
  readonly told: readonly string[]
  /** Wrong answers that it was given. */
  readonly faults: number
  readonly failure?: unknown
}

const directory = mkdtempSync(join(tmpdir(), 'epochline-faults-'))
const env: Environment = {
  EPOCHLINE_DATA: join(directory, 'data'),
  EPOCHLINE_CONFIG: join(directory, 'epochline.yaml'),
}
const outcomes = new Map<string, Outcome>()
let devnet: Devnet
let eventLog: EventLog
let tables: Tables
let verified: Awaited<ReturnType<typeof runCommand>>

/** Head and finality of what there is of the history. */
function here(): { readonly slot: number; readonly finalizedEpoch: number } {
  const { head } = devnet.history
  return { slot: head.head.slot, finalizedEpoch: head.finality.finalized.epoch }
}

interface Meeting {
  /** Resolves when the log has what there was of the history at the beginning. */
  readonly begun: Promise<void>
  readonly ended: Promise<void>
}

/** Lets the ingester of a chain meet the fault until its log has the whole history, and notes how it came through. */
function meet(chain: string, fault: Partial<Fault>, nodes: Nodes): Meeting {
  const begun = Promise.withResolvers<void>()
  const past = here()
  const onProgress = ({ slot, nextEpoch, headRoot }: Progress, end: () => void): void => {
    const has = (goal: typeof past) => slot >= goal.slot && nextEpoch >= goal.finalizedEpoch
    if (has(past)) begun.resolve()
    // A head of the same slot may be another branch's.
    if (devnet.headSlot >= LAST_SLOT && has(here()) && headRoot === devnet.history.head.head.root) end()
  }
  const run = async () => {
    const { log, told } = openLines()
    await using open = new AsyncDisposableStack()
    const openNodes = (truth: TrueNode, faulty: Fault['beacon'] = [{ faults: [] }]) =>
      Promise.all(
        faulty.map(async ({ faults, changeEvents }) => open.use(await openFaultyNode(truth, faults, changeEvents))),
      )
    const beacons = await openNodes(nodes.beacon, fault.beacon)
    const executions = await openNodes(nodes.execution, fault.execution)
    const urls = { beaconUrls: beacons.map(({ url }) => url), executionUrls: executions.map(({ url }) => url) }
    const signal = AbortSignal.timeout(RUN_TIMEOUT_MS)
    const limits = fault.moment === 'live' ? LIVE_LIMITS : {}
    const shared = { chain, eventLog, limits, signal }
    const read = async (): Promise<void> => {
      if (fault.moment !== 'backfill') return follow({ ...shared, ...urls, onProgress }, log)
      const sound = { beaconUrls: [nodes.beacon.url], executionUrls: [nodes.execution.url] }
      const startEpoch = FILLED_BACK.toEpoch + 1
      await follow({ ...shared, ...sound, startEpoch, onProgress }, openLines().log)
      await fillBack({ ...shared, ...urls }, FILLED_BACK, log)
    }
    const failed = await read().catch((failure: unknown) => ({ failure }))
    const faults = [...beacons, ...executions].reduce((sum, node) => sum + node.faults, 0)
    outcomes.set(chain, { told, faults, ...failed })
    begun.resolve()
  }
  return { begun: begun.promise, ended: run() }
}

/** Makes the history, the last part of it while followers listen. */
async function makeHistory(nodes: Nodes): Promise<void> {
  await devnet.advanceTo(PAST_SLOTS)
  settle(nodes, true)
  const meetings = LIVE.map((fault) => meet(chainOf(fault), fault, nodes))
  await Promise.all(meetings.map(({ begun }) => begun))
  settle(nodes, false)
  for (let slot = PAST_SLOTS + 1; slot <= LAST_SLOT; slot++) {
    await devnet.advanceTo(slot)
    await sleep(ROUND_MS)
  }
  await Promise.all(meetings.map(({ ended }) => ended))
  settle(nodes, true)
}

function settle({ beacon, execution }: Nodes, isSettled: boolean): void {
  for (const node of [beacon, execution]) node.isSettled = isSettled
}

async function readHistory(nodes: Nodes): Promise<void> {
  await meet(SOUND, {}, nodes).ended
  const runs = inOrder({ from: 0, to: PAST.length - 1, concurrency: SIDE_BY_SIDE }, async (i) => {
    const fault = PAST[i] as Fault
    await meet(chainOf(fault), fault, nodes).ended
  })
  for await (const _ of runs);
}

async function stopWhileNodesHang(nodes: Nodes): Promise<void> {
  await using execution = await openFaultyNode(nodes.execution, [])
  const told: string[] = []
  const ingestUntil = async (faults: readonly NodeFault[], isReached: (node: FaultyNode) => Promise<boolean>) => {
    await using beacon = await openFaultyNode(nodes.beacon, faults)
    const urls = { beacon: { urls: [beacon.url] }, execution: { urls: [execution.url] }, start: { epoch: 0 } }
    // As the other runs, whose faults are those of reward endpoints.
    writeChains(env.EPOCHLINE_CONFIG ?? '', { [STOPPING.chain]: { ...urls, rewards: 'endpoints' } })
    await using program = await startProgram(['ingest'], { ...env, LOG_LEVEL: 'info' }, { announces: false })
    await eventually('the moment to stop', async () => (await isReached(beacon)) || undefined, PROCESS_TIMEOUT_MS)
    const code = await program.stop(END_WITHIN_MS)
    for (const line of program.output().split('\n')) {
      if (line.startsWith('{')) told.push(`${pino.levels.labels[JSON.parse(line).level]}: ${JSON.parse(line).msg}`)
    }
    return { code, faults: beacon.faults }
  }
  const hangs: NodeFault = { of: ofStates, reply: () => 'hang' }
  const { code, faults } = await ingestUntil([hangs], async (node) => node.faults > 0)
  const again = await ingestUntil([], async () => {
    const [slot = 0, epoch = 0] = [
      await cursorOf(env, STOPPING.chain, 'head'),
      await cursorOf(env, STOPPING.chain, 'epochs'),
    ]
    return slot > here().slot && epoch >= here().finalizedEpoch
  })
  const failure = code === 0 && again.code === 0 ? {} : { failure: new Error(`ended with ${code} and ${again.code}`) }
  outcomes.set(STOPPING.chain, { told, faults, ...failure })
}

/** Everything that the runs have logged, in tables, and the proof of it. */
async function processAll(): Promise<void> {
  await using program = await startProgram(['process'], env, { announces: false })
  const isDone = async () => (await isProcessed(env)) || undefined
  await eventually('all events in tables', isDone, PROCESS_TIMEOUT_MS).catch((error: unknown) => {
    throw new Error(program.output(), { cause: error })
  })
  expect(await program.stop(), program.output()).toBe(0)
  tables = ofAnyLog(await dump(env))
  verified = await runCommand(['verify', '--quiet'], env)
}

beforeAll(async () => {
  devnet = await openHistory()
  const chains = [SOUND, ...CHAINS.map(([, chain]) => chain)]
  const urls = { beacon: { urls: [devnet.beaconUrl] }, execution: { urls: [devnet.executionUrl] } }
  writeChains(env.EPOCHLINE_CONFIG ?? '', { [STOPPING.chain]: urls })
  eventLog = await openLog(env)
  await appendAccount(eventLog, chains)
  await using beacon = new TrueNode(devnet.beaconUrl)
  await using execution = new TrueNode(devnet.executionUrl)
  await makeHistory({ beacon, execution })
  await readHistory({ beacon, execution })
  await stopWhileNodesHang({ beacon, execution })
  await eventLog[Symbol.asyncDispose]()
  await processAll()
})

afterAll(async () => {
  await devnet?.[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true, force: true })
})

/** The rows of one chain, as if it were any. */
function tablesOf(chain: string): Tables {
  const own = filterRows(tables, (row) => row.chain === chain)
  const unnamed = Object.entries(own).map(([name, rows]) => [name, rows.map((row: Row) => ({ ...row, chain: '' }))])
  // What waits at the head is read at one slot of an epoch, whichever the fault leaves time for: nothing but estimates is made of it.
  // Balances that go with a block are asked for by the whole program alone, which one of the runs is.
  return { ...(Object.fromEntries(unnamed) as Tables), chain_queues: [], deposit_queue_fronts: [], block_balances: [] }
}

describe('without a fault', () => {
  it('days are closed, with what makes the comparison mean something', () => {
    const sound = tablesOf(SOUND)
    expect(outcomes.get(SOUND)).toEqual({ told: [], faults: 0 })
    expect(devnet.history.slot(JOINER.epoch * 32)?.registry).toHaveLength(VALIDATORS + 1)
    expect(devnet.history.slot(JOINER.epoch * 32 - 1)?.registry).toHaveLength(VALIDATORS)
    expect(sound.closed_days).toHaveLength(2)
    expect(sound.daily_rewards.length).toBeGreaterThan(30)
    expect(sound.settlements.length).toBeGreaterThan(30)
  })
})

describe.each(CHAINS.map(([name, chain]) => ({ name, chain })))('$name', ({ name, chain }) => {
  it('ends in the tables of an undisturbed run', () => {
    const outcome = outcomes.get(chain)
    expect(outcome?.failure, outcome?.told.join('\n')).toBeUndefined()
    expectEqualTables(tablesOf(chain), tablesOf(SOUND))
  })

  it('is proven as an undisturbed run is', () => {
    const linesOf = (name: string) => {
      const own = verified.stdout.split('\n').filter((line) => line.startsWith(`${name} `))
      return own.map((line) => line.slice(name.length))
    }
    expect(linesOf(chain)).toEqual(linesOf(SOUND))
  })

  it('is told to the operator', () => {
    const outcome = outcomes.get(chain)
    const fault = FAULTS.find((one) => one.name === name)
    expect(outcome?.told.join('\n'), `${outcome?.faults} wrong answers`).toMatch(fault?.tells ?? /^/)
  })
})

describe('all together', () => {
  it('the proof of every figure holds', () => {
    expect(`${verified.code} ${verified.stderr}`, verified.stdout.slice(-2_000)).toBe('0 ')
  })

  it('are listed in docs/faults.md', () => {
    const told = CHAINS.map(([name, chain]) => {
      const lines = outcomes.get(chain)?.told ?? []
      return { name, lines: lines.map((line) => line.replaceAll(chain, 'mainnet')) }
    })
    process.stdout.write(`${showFaults(told)}\n`)
    if (process.env.EPOCHLINE_FAULTS_WRITE !== undefined && FAULTS.length === ALL_FAULTS.length)
      writeDocument(FAULTS_OF_NODES, told)
    expect(documentedFaults(FAULTS_OF_NODES)).toEqual([...ALL_FAULTS, STOPPING].map(({ name }) => name))
  })
})
