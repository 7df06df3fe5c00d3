import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { openBeaconSource } from '../../infra/beacon/source.ts'
import { openSqliteEventLog } from '../../infra/event-log/sqlite.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { Log } from '../../infra/ports/log.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import { openWarehouse } from '../../infra/warehouse/open.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { startProcessors } from '../../processors/projections.ts'
import { ACCOUNTS_KEY, TRACKED_PER_EVENT_MAX, validatorsTracked } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { pubkeyOf } from './synthetic-beacon-node.ts'

/** What one run of one size has measured. */
export interface IngestFigures {
  readonly epochs: number
  readonly secondsPerEpoch: number
  readonly peakRssMb: number
  readonly logBytes: number
  readonly clickhouseBytes: number
}

/** Epochs before the clock starts: they compile the code, fill the caches and identify the validators. */
const WARM_UP_EPOCHS = 4
/** The first epochs have no attestation rewards yet. */
const START_EPOCH = 2
const LOOK_MS = 5

const log: Log = {
  debug: () => {},
  info: () => {},
  warn: (_, message) => void process.stderr.write(`${message}\n`),
  error: (_, message) => void process.stderr.write(`${message}\n`),
}

async function track(eventLog: EventLog, validators: number): Promise<void> {
  const pubkeys = Array.from({ length: validators }, (_, index) => pubkeyOf(index))
  for (let from = 0; from < validators; from += TRACKED_PER_EVENT_MAX) {
    const part = pubkeys.slice(from, from + TRACKED_PER_EVENT_MAX)
    const id = `account.validators-tracked:bench:${part[0]}:${part.length}`
    const data = { account: 'bench', pubkeys: part }
    const time = '2024-01-01T00:00:00.000Z'
    await eventLog.append('accounts', [encodeEvent(validatorsTracked, { id, key: ACCOUNTS_KEY, time, data })])
  }
}

async function measure(setup: {
  readonly validators: number
  readonly epochs: number
  readonly directory: string
  readonly beaconUrl: string
  /** Until it is called, only the epochs of the warm-up are final. */
  readonly finalizeAll: () => void
}): Promise<IngestFigures> {
  const { validators, epochs, directory, beaconUrl, finalizeAll } = setup
  await using eventLog = await openSqliteEventLog({ file: join(directory, 'event-log.sqlite') })
  await using warehouse = await openWarehouse({ directory: join(directory, 'warehouse') })
  await migrate(warehouse, await readMigrations())
  await using beacon = await openBeaconSource({ urls: [beaconUrl], log })
  await track(eventLog, validators)
  const stop = new AbortController()
  const processed = { epoch: 0 }
  const onProgress = ({ nextEpoch }: { readonly nextEpoch: number }) => {
    processed.epoch = nextEpoch
  }
  const options = { beacon, eventLog, network: 'synthetic', log, startEpoch: START_EPOCH, onProgress, pollMs: LOOK_MS }
  const running = Promise.all([
    followEpochs(options, stop.signal),
    startProcessors({ eventLog, warehouse, log }, stop.signal),
  ])
  /** Resolves when the rows of so many epochs are in the warehouse. */
  const through = async (count: number) => {
    const done = async () =>
      processed.epoch >= START_EPOCH + count && (await eventLog.lag('beacon.epochs', 'finalized')) === 0n
    while (!(await done())) await wait(LOOK_MS)
  }
  await Promise.race([through(WARM_UP_EPOCHS), running])
  const first = processed.epoch
  const start = performance.now()
  finalizeAll()
  await Promise.race([through(WARM_UP_EPOCHS + epochs), running])
  const seconds = (performance.now() - start) / 1000
  const measured = processed.epoch - first
  stop.abort()
  await running
  return {
    epochs: measured,
    secondsPerEpoch: seconds / measured,
    peakRssMb: process.resourceUsage().maxRSS / 1024,
    logBytes: (await bytesOfLog(eventLog)) / (validators * (processed.epoch - START_EPOCH)),
    clickhouseBytes: await bytesInClickhouse(warehouse),
  }
}

async function bytesOfLog(eventLog: EventLog): Promise<number> {
  let bytes = 0
  const { signal } = new AbortController()
  for await (const { event } of eventLog.read({ topic: 'beacon.epochs', signal })) bytes += event.data.byteLength
  return bytes
}

async function bytesInClickhouse(warehouse: Awaited<ReturnType<typeof openWarehouse>>): Promise<number> {
  await warehouse.command('OPTIMIZE TABLE validator_epochs FINAL')
  const [parts] = await warehouse.query<{ bytes: string; rows: string }>(
    `SELECT sum(bytes_on_disk) AS bytes, sum(rows) AS rows FROM system.parts
     WHERE active AND database = currentDatabase() AND table = 'validator_epochs'`,
  )
  return Number(parts?.bytes) / Number(parts?.rows)
}

const [validators, epochs] = process.argv.slice(2).map(Number) as [number, number]
const directory = await mkdtemp(join(tmpdir(), 'bench-ingest-'))
const lastEpoch = START_EPOCH + WARM_UP_EPOCHS + epochs
const nodeFile = join(import.meta.dirname, 'synthetic-beacon-node.ts')
const node = fork(nodeFile, [validators, START_EPOCH + WARM_UP_EPOCHS, lastEpoch].map(String))
try {
  const [beaconUrl] = (await once(node, 'message')) as [string]
  const finalizeAll = () => void node.send('finalize all')
  const figures = await measure({ validators, epochs, directory, beaconUrl, finalizeAll })
  process.send?.(figures)
} finally {
  node.kill()
  await rm(directory, { recursive: true, force: true })
}
process.disconnect?.()
