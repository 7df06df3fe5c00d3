import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { openBeaconSource } from '../../infra/beacon/source.ts'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import { openExecutionSource } from '../../infra/execution/source.ts'
import { openSqliteJobQueue } from '../../infra/job-queue/sqlite.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import { prepareRuntime } from '../../infra/runtime.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { followBeaconHead } from '../../ingest/beacon-head/beacon-head.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { runProcessing } from '../../processors/run-processing.ts'
import { ACCOUNTS_KEY, TRACKED_PER_EVENT_MAX, validatorsTracked } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { bytesInClickhouse, bytesOfLog } from './epoch-bytes.ts'
import type { ChainPlace, Kind, TrafficByKind } from './synthetic-beacon-node.ts'
import { pubkeyOf, SLOTS_PER_EPOCH } from './synthetic-registry.ts'

/** What is measured: so many tracked validators of a registry, over so many epochs, with the head or without. */
export interface IngestSize {
  readonly tracked: number
  readonly registry: number
  readonly epochs: number
  /** Follow the head too, slot by slot; otherwise all epochs are final at once. */
  readonly followsHead: boolean
}

/** What one run of one size has measured. */
export interface IngestFigures {
  readonly epochs: number
  readonly secondsPerEpoch: number
  /** Without the node. */
  readonly cpuSecondsPerEpoch: number
  readonly peakRssMb: number
  readonly logBytes: number
  readonly clickhouseBytes: number
  /** Per epoch. */
  readonly traffic: TrafficByKind
}

/** Epochs before the clock starts: they compile the code, fill the caches and identify the validators. */
const WARM_UP_EPOCHS = 4
/** The first epochs have no attestation rewards yet. */
const START_EPOCH = 2
/** The head is so many epochs before what is final. */
const FINALITY_EPOCHS = 2
const LOOK_MS = 5
const CHAIN = 'mainnet'

const log: Log = {
  debug: () => {},
  info: () => {},
  warn: (_, message) => void process.stderr.write(`${message}\n`),
  error: (_, message) => void process.stderr.write(`${message}\n`),
}

async function track(eventLog: EventLog, { tracked, registry }: IngestSize): Promise<void> {
  const pubkeys = Array.from({ length: tracked }, (_, i) => pubkeyOf(Math.floor((i * registry) / tracked)))
  for (let from = 0; from < tracked; from += TRACKED_PER_EVENT_MAX) {
    const part = pubkeys.slice(from, from + TRACKED_PER_EVENT_MAX)
    const id = `account.validators-tracked:bench:${part[0]}:${part.length}`
    const data = { chain: CHAIN, account: 'bench', pubkeys: part }
    const time = '2024-01-01T00:00:00.000Z'
    await eventLog.append('accounts', [encodeEvent(validatorsTracked, { id, key: ACCOUNTS_KEY, time, data })])
  }
}

/** The node's process: tells it where the chain is, and asks what it was asked. */
interface NodeProcess {
  readonly url: string
  moveTo(place: ChainPlace): void
  traffic(): Promise<TrafficByKind>
}

async function measure(size: IngestSize, node: NodeProcess, directory: string): Promise<IngestFigures> {
  await using eventLog = await openSqliteEventLog({ file: join(directory, 'event-log.sqlite') })
  await using warehouse = await openWarehouse({ directory: join(directory, 'warehouse') })
  await migrate(warehouse, await readMigrations())
  await using jobQueue = await openSqliteJobQueue({ file: join(directory, 'jobs.sqlite') })
  await using beacon = await openBeaconSource({ urls: [node.url], log, rewardsBy: 'endpoints' })
  await using execution = await openExecutionSource({ urls: [node.url], log, binding: 'ethereum' })
  await track(eventLog, size)
  const stop = new AbortController()
  const reached = { epoch: 0, slot: 0 }
  const from = { chain: CHAIN, writer: eventLog, eventLog, unnamedChain: CHAIN }
  const shared = { ...from, beacon, log, startEpoch: START_EPOCH }
  const onProgress = ({ nextEpoch }: { readonly nextEpoch: number }) => {
    reached.epoch = nextEpoch
  }
  const onSlot = ({ height }: { readonly height: number }) => {
    reached.slot = height
  }
  const running = Promise.all([
    followEpochs({ ...shared, onProgress, ...(size.followsHead ? {} : { pollMs: LOOK_MS }) }, stop.signal),
    runProcessing({ eventLog, warehouse, jobQueue, log, now: () => Date.now() / 1000 }, stop.signal),
    ...(size.followsHead ? [followBeaconHead({ ...shared, execution, onProgress: onSlot }, stop.signal)] : []),
  ])
  const until = async (done: () => Promise<boolean> | boolean) => {
    while (!(await done())) await Promise.race([wait(LOOK_MS), running])
  }
  /** Resolves when the rows of so many epochs are in the warehouse. */
  const through = (epochs: number) =>
    until(async () => {
      return reached.epoch >= START_EPOCH + epochs && (await eventLog.lag('beacon.epochs', 'finalized')) === 0n
    })
  const { head: firstHead, finalEpoch: firstFinal } = placeAfter(WARM_UP_EPOCHS)
  if (size.followsHead) await until(() => reached.slot >= firstHead)
  await through(WARM_UP_EPOCHS)
  const first = reached.epoch
  const before = await node.traffic()
  const [start, startCpu] = [performance.now(), process.cpuUsage()]
  const { head: lastHead, finalEpoch } = placeAfter(WARM_UP_EPOCHS + size.epochs)
  if (!size.followsHead) node.moveTo({ headSlot: lastHead, finalEpoch })
  for (let slot = firstHead + 1; size.followsHead && slot <= lastHead; slot++) {
    const nowFinal = Math.max(firstFinal, Math.floor(slot / SLOTS_PER_EPOCH) - FINALITY_EPOCHS)
    node.moveTo({ headSlot: slot, finalEpoch: nowFinal })
    await until(() => reached.slot >= slot)
  }
  await through(WARM_UP_EPOCHS + size.epochs)
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(startCpu)
  const measured = reached.epoch - first
  const traffic = perEpoch(before, await node.traffic(), measured)
  stop.abort()
  await running
  return {
    epochs: measured,
    secondsPerEpoch: seconds / measured,
    cpuSecondsPerEpoch: (user + system) / 1e6 / measured,
    peakRssMb: process.resourceUsage().maxRSS / 1024,
    logBytes: (await bytesOfLog(eventLog)) / (size.tracked * (reached.epoch - START_EPOCH)),
    clickhouseBytes: await bytesInClickhouse(warehouse),
    traffic,
  }
}

/** Where the chain is when so many epochs can be ingested. */
function placeAfter(epochs: number): { readonly head: number; readonly finalEpoch: number } {
  const finalEpoch = START_EPOCH + epochs
  return { head: (finalEpoch + FINALITY_EPOCHS) * SLOTS_PER_EPOCH, finalEpoch }
}

function perEpoch(before: TrafficByKind, after: TrafficByKind, epochs: number): TrafficByKind {
  const kinds = Object.keys(after) as Kind[]
  const entries = kinds.map((kind) => {
    const requests = (after[kind].requests - before[kind].requests) / epochs
    return [kind, { requests, bytes: (after[kind].bytes - before[kind].bytes) / epochs }]
  })
  return Object.fromEntries(entries) as TrafficByKind
}

// As the program does: what it wants of Node is a part of what it takes.
prepareRuntime()
const size = JSON.parse(process.argv[2] ?? '{}') as IngestSize
const directory = await mkdtemp(join(tmpdir(), 'bench-ingest-'))
const last = placeAfter(WARM_UP_EPOCHS + size.epochs)
const warm = placeAfter(WARM_UP_EPOCHS)
const nodeFile = join(import.meta.dirname, 'synthetic-beacon-node.ts')
const child = fork(nodeFile, [size.registry, last.head + 1, warm.head, warm.finalEpoch].map(String))
try {
  const [url] = (await once(child, 'message')) as [string]
  const figures = await measure(
    size,
    {
      url,
      moveTo: (place) => void child.send(place),
      async traffic() {
        child.send('traffic')
        const [traffic] = (await once(child, 'message')) as [TrafficByKind]
        return traffic
      },
    },
    directory,
  )
  process.send?.(figures)
} finally {
  child.kill()
  await rm(directory, { recursive: true, force: true })
}
process.disconnect?.()
