import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openApi } from '../api/http/server.ts'
import { openBeaconSource } from '../infra/beacon/source.ts'
import type { Config } from '../infra/config/types.ts'
import { type DevnetMessage, type DevnetProcess, openDevnetProcess } from '../infra/devnet/child.ts'
import { DEMO_TOKEN, DEMO_VALIDATORS, demoAccountFacts } from '../infra/devnet/demo-account.ts'
import { runDevnet } from '../infra/devnet/run.ts'
import { openExecutionSource } from '../infra/execution/source.ts'
import { openCounters, openEventLog, openJobQueue, openMigratedWarehouse } from '../infra/open-ports.ts'
import type { BeaconSource } from '../infra/ports/beacon-source.ts'
import type { EventLog } from '../infra/ports/event-log.ts'
import type { ExecutionSource } from '../infra/ports/execution-source.ts'
import type { Log } from '../infra/ports/log.ts'
import type { Warehouse } from '../infra/ports/warehouse.ts'
import { openProgress, type Progress } from '../infra/progress.ts'
import { followHead } from '../ingest/beacon-head/head-follower.ts'
import { followEpochs } from '../ingest/epochs/epoch-follower.ts'
import { measureHealth } from '../processors/loop/measure-health.ts'
import { startProcessors } from '../processors/projections.ts'
import { AppError, isNodeFault } from '../schemas/errors.ts'
import { firstChain, type Nodes, nodesOf } from './first-chain.ts'

/** What every command works with. */
export interface Setting {
  readonly config: Config
  readonly log: Log
  /** Aborts on Ctrl-C and SIGTERM: finish what runs, then stop. */
  readonly signal: AbortSignal
}

export type Role = 'ingest' | 'process' | 'api'

const STATUS_INTERVAL_MS = 1_000

/**
 * Opens what the roles need and runs them until the signal aborts; the first that fails ends them all. Everything is open
 * before anything starts, so a wrong setting leaves nothing half-started.
 */
export async function runRoles(setting: Setting, roles: readonly Role[]): Promise<void> {
  const { config, log, signal } = setting
  const has = (role: Role): boolean => roles.includes(role)
  await using ports = new AsyncDisposableStack()
  const eventLog = ports.use(await openEventLog(config, log))
  const warehouse = has('process') || has('api') ? ports.use(await openMigratedWarehouse(config)) : undefined
  if (has('api')) ports.use(await openCounters(config))
  if (has('process')) ports.use(await openJobQueue(config))
  using progress = openProgress()
  const alone = roles.length > 1 && config.devnet !== undefined
  const devnet = alone ? ports.use(await startDevnet(eventLog, progress)) : undefined
  const sources = has('ingest') ? await openSources(sourceUrls(config, devnet), { log, ports }) : undefined

  const stop = new AbortController()
  const ending = AbortSignal.any([signal, stop.signal])
  const tasks: Promise<void>[] = []
  if (warehouse !== undefined && has('api')) {
    const health = async () => measureHealth(eventLog, warehouse, Date.now() / 1000)
    const { host, port } = config
    const { network } = firstChain(config).names
    const api = ports.use(await openApi({ warehouse, network, host, port, log, now: Date.now, health }))
    announce(config, api.url, devnet)
    tasks.push(untilAborted(ending))
  }
  if (warehouse !== undefined && has('process')) {
    tasks.push(startProcessors({ eventLog, warehouse, log }, ending))
    tasks.push(showProcessing(warehouse, eventLog, progress, ending))
  }
  if (sources !== undefined) tasks.push(...startIngest(setting, eventLog, { sources, progress, ending }))
  if (devnet !== undefined) tasks.push(Promise.race([devnet.ended, untilAborted(ending)]))
  await allOrNone(tasks, stop)
}

function sourceUrls(config: Config, devnet: DevnetProcess | undefined): Nodes {
  if (devnet === undefined) return nodesOf(config)
  return { kind: 'nodes', beaconUrls: [devnet.beaconUrl], executionUrls: [devnet.executionUrl] }
}

interface Sources {
  readonly beacon: BeaconSource
  readonly execution: ExecutionSource
}

/** Opens both halves of the chain; they close with the ports. Throws AppError `config` that names the variable to look at. */
export async function openSources(
  nodes: Nodes,
  { log, ports }: { readonly log: Log; readonly ports: AsyncDisposableStack },
): Promise<Sources> {
  const beacon = openBeaconSource({ urls: nodes.beaconUrls, log }).catch(blame('BEACON_URL'))
  const execution = openExecutionSource({ urls: nodes.executionUrls, log }).catch(blame('EXECUTION_URL'))
  const [beaconOpened, executionOpened] = await Promise.allSettled([beacon, execution])
  for (const opened of [beaconOpened, executionOpened]) if (opened.status === 'fulfilled') ports.use(opened.value)
  if (beaconOpened.status === 'rejected') throw beaconOpened.reason
  if (executionOpened.status === 'rejected') throw executionOpened.reason
  return { beacon: beaconOpened.value, execution: executionOpened.value }
}

/** Where a node has to be looked for when it is missing at the start; later outages are waited for. */
const NODE_EXAMPLES = { BEACON_URL: 'http://127.0.0.1:5052', EXECUTION_URL: 'http://127.0.0.1:8545' } as const

function blame(variable: keyof typeof NODE_EXAMPLES): (error: unknown) => never {
  return (error) => {
    if (!isNodeFault(error)) throw error
    throw new AppError(
      'config',
      `${variable} names no node that can be used: ${error.message}; e.g. ${variable}=${NODE_EXAMPLES[variable]}.`,
      { cause: error },
    )
  }
}

interface IngestParts {
  readonly sources: Sources
  readonly progress: Progress
  readonly ending: AbortSignal
}

function startIngest(setting: Setting, eventLog: EventLog, parts: IngestParts): readonly Promise<void>[] {
  const { config, log } = setting
  const { sources, progress, ending } = parts
  const { beacon, execution } = sources
  const { names, start: startEpoch } = firstChain(config)
  const shared = { beacon, eventLog, log, concurrency: config.concurrency, startEpoch }
  return [
    followHead(
      {
        ...shared,
        execution,
        onProgress: ({ slot, headSlot }) =>
          progress.update('blocks', { done: slot, total: headSlot, note: `lag ${headSlot - slot}` }),
      },
      ending,
    ),
    followEpochs(
      {
        ...shared,
        network: names.network,
        onProgress: ({ nextEpoch, finalEpochs }) =>
          progress.update('epochs', {
            done: nextEpoch,
            total: finalEpochs,
            note: `final, lag ${finalEpochs - nextEpoch}`,
          }),
      },
      ending,
    ),
  ]
}

/** Starts the devnet and gives its account to the log, once. */
async function startDevnet(eventLog: EventLog, progress: Progress): Promise<DevnetProcess> {
  const devnet = await openDevnetProcess({
    mainFile: join(import.meta.dirname, '../main.ts'),
    onProgress: (slot, targetSlot) => progress.update('devnet', { done: slot, total: targetSlot, note: 'slots' }),
  })
  try {
    const facts = demoAccountFacts(devnet.genesisTimeSec, DEMO_VALIDATORS)
    const known = new Set<string>()
    for await (const { event } of eventLog.read({ topic: 'accounts', signal: AbortSignal.timeout(READ_TIMEOUT_MS) }))
      known.add(event.id)
    const missing = facts.filter((fact) => !known.has(fact.id))
    if (missing.length > 0) await eventLog.append('accounts', missing)
    return devnet
  } catch (error) {
    await devnet[Symbol.asyncDispose]()
    throw error
  }
}

const READ_TIMEOUT_MS = 60_000

/** `epochline devnet`: the devnet alone, or as the child of `all`, which it then tells about itself. */
export async function runDevnetRole({ config, signal }: Setting): Promise<void> {
  const { devnet } = config
  if (devnet === undefined) {
    throw new AppError(
      'usage',
      'BEACON_URL and EXECUTION_URL, or the configuration file, name real nodes: without them the devnet runs.',
    )
  }
  const parent = process.connected ? process : undefined
  const orphaned = new AbortController()
  parent?.on('disconnect', () => orphaned.abort())
  const tell = (message: DevnetMessage): void => {
    if (parent?.connected === true) parent.send?.(message)
  }
  using progress = parent === undefined ? openProgress() : undefined
  const running = runDevnet(
    {
      seed: devnet.seed,
      beaconPort: devnet.beaconPort,
      executionPort: devnet.executionPort,
      directory: join(config.dataDirectory, 'devnet'),
      onProgress: ({ slot, targetSlot }) => {
        tell({ kind: 'progress', slot, targetSlot })
        progress?.update('devnet', { done: slot, total: targetSlot, note: 'slots' })
      },
      onReady: ({ beaconUrl, executionUrl, secondExecutionUrl, genesisTimeSec }) => {
        tell({ kind: 'ready', beaconUrl, executionUrl, secondExecutionUrl, genesisTimeSec })
        if (parent !== undefined) return
        const second = secondExecutionUrl === undefined ? '' : `Second      ${secondExecutionUrl}\n`
        process.stdout.write(`Beacon API  ${beaconUrl}\nJSON-RPC    ${executionUrl}\n${second}`)
      },
    },
    AbortSignal.any([signal, orphaned.signal]),
  )
  try {
    await running
  } catch (error) {
    if (parent === undefined || !(error instanceof AppError)) throw error
    tell({ kind: 'failed', code: error.code, message: error.message }) // it is the parent's to say
  } finally {
    // The channel would keep this process alive; what has been told still arrives.
    if (process.connected) process.disconnect?.()
  }
}

function announce(config: Config, url: string, devnet: DevnetProcess | undefined): void {
  const { mode, dataDirectory } = config
  const token = devnet === undefined ? '<token>' : DEMO_TOKEN
  const { protocol, network } = firstChain(config).names
  const base = `${url}/${protocol}/${network}/${token}`
  const lines = [
    `epochline   ${mode.kind} mode${mode.kind === 'embedded' ? `, data in ${dataDirectory}` : ''}`,
    `REST        ${base}/api/v1/validator/total-rewards`,
    `GraphQL     ${base}/graphql`,
    `OpenAPI     ${url}/openapi.json`,
    `Readiness   ${url}/ready`,
    ...(devnet === undefined
      ? []
      : [
          `Beacon API  ${devnet.beaconUrl}`,
          `JSON-RPC    ${devnet.executionUrl}`,
          `Token       ${DEMO_TOKEN} (this devnet only)`,
        ]),
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}

/** One line for the processors, and a sentence for every day that closes. */
async function showProcessing(
  warehouse: Warehouse,
  eventLog: EventLog,
  progress: Progress,
  ending: AbortSignal,
): Promise<void> {
  const told = new Set<string>()
  while (!ending.aborted) {
    const { lag, lastFinalizedEpoch = -1 } = await measureHealth(eventLog, warehouse, Date.now() / 1000)
    const events = Object.values(lag).reduce((sum, one) => sum + one, 0)
    const behind = lag.finalized ?? 0
    const done = lastFinalizedEpoch + 1
    progress.update('process', { done, total: done + (behind > 0 ? 1 : 0), note: `epochs, lag ${events} events` })
    const days = await warehouse.query<{ day: string; validators: number; validators_unexplained: number }>(
      'SELECT day, validators, validators_unexplained FROM closed_days FINAL ORDER BY day',
    )
    for (const { day, validators, validators_unexplained: unexplained } of days) {
      if (told.has(day)) continue
      told.add(day)
      process.stdout.write(
        `day ${day}    closed: ${validators} validators, ${unexplained} with unexplained balance changes\n`,
      )
    }
    await sleep(STATUS_INTERVAL_MS, undefined, { signal: ending }).catch(ignoreAbort(ending))
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function ignoreAbort(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}

/** Waits for all; the first failure stops the others and is what is thrown. */
async function allOrNone(tasks: readonly Promise<void>[], stop: AbortController): Promise<void> {
  const failures: unknown[] = []
  await Promise.all(
    tasks.map((task) =>
      task.catch((error: unknown) => {
        failures.push(error)
        stop.abort()
      }),
    ),
  )
  if (failures.length > 0) throw failures[0]
}
