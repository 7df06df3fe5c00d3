import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { openBeaconSource } from '../../infra/beacon/source.ts'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import { openSqliteJobQueue } from '../../infra/job-queue/sqlite.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { JobQueue } from '../../infra/ports/job-queue.ts'
import type { Log } from '../../infra/ports/log.ts'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { prepareRuntime } from '../../infra/runtime.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { DERIVING_JOBS } from '../../processors/derive.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { runProcessing } from '../../processors/run-processing.ts'
import { verifyTables } from '../../processors/verify/verify.ts'
import { chainKey } from '../../schemas/chains.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { ACCOUNTS_KEY, TRACKED_PER_EVENT_MAX, validatorsTracked } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { IDENTIFIED_PER_EVENT_MAX, validatorsIdentified } from '../../schemas/events/validators.ts'
import { bytesInClickhouse, bytesOfLog } from './epoch-bytes.ts'
import { activeIndices, FIRST_EPOCH, pubkeyBytes, type StateChainSize } from './states/size.ts'

/** What is measured: a registry, of which so many active ones are tracked. */
export interface RewardsSize extends Omit<StateChainSize, 'epochs'> {
  readonly tracked: number
  /** That are measured. */
  readonly measured: number
}

/** What one run of one size has measured. */
export interface RewardsFigures {
  readonly epochs: number
  readonly secondsPerEpoch: number
  /** Of all threads, the warehouse's too; the node has a process of its own. */
  readonly cpuSecondsPerEpoch: number
  readonly peakRssMb: number
  readonly logBytes: number
  readonly clickhouseBytes: number
  readonly verifiedPerSecond: number
  /** Of the whole program behind the verification, whose memory must not grow with what it proves. */
  readonly verifyRssMb: number
}

/** Epochs before the clock starts: they compile the code, and the first state is read whole. */
const WARM_UP_EPOCHS = 2
const LOOK_MS = 25
const CHAIN = 'mainnet'
const TIME = '2026-01-01T00:00:00.000Z'

const log: Log = {
  debug: () => {},
  info: (_, message) => void process.stderr.write(`${message}\n`),
  warn: (_, message) => void process.stderr.write(`${message}\n`),
  error: (_, message) => void process.stderr.write(`${message}\n`),
}

function fileOfLog(directory: string): string {
  return join(directory, 'event-log.sqlite')
}

/** Who is tracked, and who they are: as in a log whose program was started again. In a process of its own, whose memory is no part of what is measured. */
async function track({ tracked, ...size }: RewardsSize, directory: string): Promise<void> {
  await using eventLog = await openSqliteEventLog({ file: fileOfLog(directory) })
  const active = activeIndices({ ...size, epochs: size.measured })
  const indices = Uint32Array.from(
    { length: tracked },
    (_, i) => active[Math.floor((i * active.length) / tracked)] ?? 0,
  )
  const pubkeyOf = (index: number) => hexOf(pubkeyBytes(index))
  for (let from = 0; from < tracked; from += TRACKED_PER_EVENT_MAX) {
    const pubkeys = Array.from(indices.subarray(from, from + TRACKED_PER_EVENT_MAX), pubkeyOf)
    const id = `account.validators-tracked:bench:${pubkeys[0]}:${pubkeys.length}`
    const data = { chain: CHAIN, account: 'bench', pubkeys }
    await eventLog.append('accounts', [encodeEvent(validatorsTracked, { id, key: ACCOUNTS_KEY, time: TIME, data })])
  }
  for (let from = 0; from < tracked; from += IDENTIFIED_PER_EVENT_MAX) {
    const validators = Array.from(indices.subarray(from, from + IDENTIFIED_PER_EVENT_MAX), (index) => ({
      index,
      pubkey: pubkeyOf(index),
      withdrawalCredentials: `0x01${'00'.repeat(31)}`,
    }))
    const id = `validator.identified:${CHAIN}:${validators[0]?.index}:${FIRST_EPOCH}`
    const event = { id, key: chainKey(CHAIN), time: TIME, data: { chain: CHAIN, validators } }
    await eventLog.append('validators', [encodeEvent(validatorsIdentified, event)])
  }
}

/** The node's process: it is told which epochs are final. */
interface NodeProcess {
  readonly url: string
  finalize(epoch: number): void
}

interface Ports {
  readonly eventLog: EventLog
  readonly warehouse: Warehouse
  readonly jobQueue: JobQueue
}

async function measure(size: RewardsSize, node: NodeProcess, directory: string): Promise<RewardsFigures> {
  await using eventLog = await openSqliteEventLog({ file: fileOfLog(directory) })
  await using warehouse = await openWarehouse({ directory: join(directory, 'warehouse') })
  await migrate(warehouse, await readMigrations())
  await using jobQueue = await openSqliteJobQueue({ file: join(directory, 'jobs.sqlite') })
  const ports = { eventLog, warehouse, jobQueue }
  const seconds = await follow(size, node, ports)
  await refuseUnexplained(warehouse, WARM_UP_EPOCHS + size.measured)
  const peakRssMb = maxRssMb()
  const clickhouseBytes = await bytesInClickhouse(warehouse)
  const validatorEpochs = size.tracked * (WARM_UP_EPOCHS + size.measured)
  return {
    epochs: size.measured,
    ...seconds,
    peakRssMb,
    logBytes: (await bytesOfLog(eventLog)) / validatorEpochs,
    clickhouseBytes,
    ...(await verify(ports, validatorEpochs)),
  }
}

async function follow(size: RewardsSize, node: NodeProcess, ports: Ports) {
  const { eventLog, jobQueue } = ports
  await using beacon = await openBeaconSource({ urls: [node.url], log })
  const stop = new AbortController()
  let nextEpoch = FIRST_EPOCH
  const onProgress = (progress: { readonly nextEpoch: number }) => {
    nextEpoch = progress.nextEpoch
  }
  const from = { chain: CHAIN, writer: eventLog, eventLog, unnamedChain: CHAIN, startEpoch: FIRST_EPOCH }
  const running = Promise.all([
    followEpochs({ ...from, beacon, log, onProgress, pollMs: LOOK_MS }, stop.signal),
    runProcessing({ ...ports, log, now: () => Date.now() / 1000 }, stop.signal),
  ])
  const until = async (done: () => Promise<boolean>) => {
    while (!(await done())) await Promise.race([wait(LOOK_MS), running])
  }
  /** Resolves when the rows of all epochs before this one are in the warehouse. */
  const through = async (epoch: number) => {
    node.finalize(epoch)
    await until(async () => nextEpoch >= epoch && (await eventLog.lag('beacon.epochs', 'finalized')) === 0n)
  }
  /** Resolves when nothing waits: no event, and nothing that is derived. */
  const done = () =>
    until(async () => {
      const lags = await Promise.all(PROJECTORS.map(({ topic, group }) => eventLog.lag(topic, group)))
      const jobs = await Promise.all(DERIVING_JOBS.map((name) => jobQueue.pending(name)))
      return lags.every((lag) => lag === 0n) && jobs.every((pending) => pending === 0)
    })
  await done() // whom accounts track, and who they are: a million of them take a while
  await through(FIRST_EPOCH + WARM_UP_EPOCHS)
  const [startMs, startCpu] = [performance.now(), process.cpuUsage()]
  await through(FIRST_EPOCH + WARM_UP_EPOCHS + size.measured)
  const seconds = (performance.now() - startMs) / 1_000
  const { user, system } = process.cpuUsage(startCpu)
  await done()
  stop.abort()
  await running
  const cpuSeconds = (user + system) / 1e6
  return { secondsPerEpoch: seconds / size.measured, cpuSecondsPerEpoch: cpuSeconds / size.measured }
}

async function verify(ports: Ports, validatorEpochs: number) {
  const lines: string[] = []
  const startMs = performance.now()
  const verdict = await verifyTables({
    ...ports,
    chain: CHAIN,
    signal: new AbortController().signal,
    notes: [],
    quiet: true,
    mayBeProcessed: false,
    print: async (line) => void lines.push(line),
  })
  const seconds = (performance.now() - startMs) / 1_000
  if (verdict.wrong + verdict.withheld + verdict.missing > 0 || verdict.nothingProven)
    throw new Error(`the tables do not hold: ${lines.slice(-10).join('\n')}`)
  return { verifiedPerSecond: validatorEpochs / seconds, verifyRssMb: maxRssMb() }
}

/** Throws unless everything was explained, by states that the chain names, and the day was closed. */
async function refuseUnexplained(warehouse: Warehouse, epochs: number): Promise<void> {
  const count = async (from: string) => {
    return Number((await warehouse.query<{ count: string }>(`SELECT count() AS count FROM ${from}`))[0]?.count)
  }
  const residuals = await count('epoch_residuals FINAL')
  const anchored = await count("epoch_proofs FINAL WHERE level IN ('anchored', 'agreed')")
  const days = await count('closed_days FINAL')
  if (residuals === 0 && anchored === epochs && days === 1) return
  throw new Error(
    `${residuals} balances are not explained, ${anchored} epochs of ${epochs} anchored, ${days} days closed`,
  )
}

function maxRssMb(): number {
  return process.resourceUsage().maxRSS / 1_024
}

/** Runs this file again, in a process that fills the log. */
async function fillLog(size: RewardsSize, directory: string): Promise<void> {
  const [code] = await once(fork(import.meta.filename, [JSON.stringify(size), directory]), 'exit')
  if (code !== 0) throw new Error(`the log was not filled: exit code ${code}`)
}

const [, , sizeText = '{}', toFill] = process.argv
const size = JSON.parse(sizeText) as RewardsSize
if (toFill === undefined) await run()
else await track(size, toFill)

async function run(): Promise<void> {
  // As the program does: what it wants of Node is a part of what it takes.
  prepareRuntime()
  const directory = await mkdtemp(join(tmpdir(), 'bench-rewards-'))
  const chain: StateChainSize = {
    registry: size.registry,
    active: size.active,
    epochs: WARM_UP_EPOCHS + size.measured,
  }
  const child = fork(join(import.meta.dirname, 'states/node.ts'), [JSON.stringify(chain)])
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the node ended with exit code ${code}`)
  })
  ended.catch(() => {}) // expected in the end
  try {
    const [url] = (await Promise.race([once(child, 'message'), ended])) as [string]
    await fillLog(size, directory)
    const figures = await measure(size, { url, finalize: (epoch) => void child.send(epoch) }, directory)
    process.send?.(figures)
  } finally {
    child.kill()
    await rm(directory, { recursive: true, force: true })
  }
  process.disconnect?.()
}
