import type { Config } from '../infra/config/types.ts'
import { watchConfig } from '../infra/config/watch.ts'
import { refuseOtherDevnet } from '../infra/devnet/identity.ts'
import {
  openClientCounters,
  openCounters,
  openEventLog,
  openJobQueue,
  openMigratedWarehouse,
} from '../infra/open-ports.ts'
import type { NetworkStatus } from '../infra/ports/upstreams.ts'
import { AppError } from '../schemas/errors.ts'
import { isAbortOf, untilAborted } from '../schemas/wait.ts'
import { devnetUrls } from './chain-nodes.ts'
import { devnetDirectory } from './devnet-directory.ts'
import { gatewayConfigOf } from './gateway-config.ts'
import { allOrNone } from './ingest-role.ts'
import { LiveSetting } from './live-setting.ts'
import { neededPorts } from './needed-ports.ts'
import type { Role, RolePorts, Running } from './role.ts'
import { answerCommands } from './running-program.ts'
import type { Setting } from './setting.ts'
import { startDevnet } from './start-devnet.ts'
import type { VaultHealth } from './vault-health.ts'
import { Watch } from './watch.ts'

/** What the answers to commands need beside the warehouse. */
const ASKED_FOR: ReadonlySet<keyof RolePorts> = new Set<keyof RolePorts>(['eventLog', 'jobQueue'])

/**
 * Opens what the roles need and runs them until the signal aborts; the first that fails ends them all. Everything is open
 * before anything starts, so a wrong setting leaves nothing half-started.
 */
export async function runRoles(setting: Setting, roles: readonly Role[]): Promise<void> {
  const { config, log, screen, signal } = setting
  refuseDevnetOfOthers(config, roles)
  await using open = new AsyncDisposableStack()
  const needs = new Set(roles.flatMap((role) => role.needs))
  // One process has the embedded engine: commands that need it ask this one.
  const isAsked = config.mode.kind === 'embedded' && needs.has('warehouse')
  const ports = await openPorts(setting, isAsked ? needs.union(ASKED_FOR) : needs, open)
  for (const role of roles) await role.check?.(config)
  const hasDevnet = roles.length > 1 && config.devnet !== undefined
  if (hasDevnet) refuseOtherDevnet(devnetDirectory(config.dataDirectory), config.devnet)
  using progress = screen.openProgress()
  log.info({ mode: config.mode.kind }, `started: ${roles.map(({ name }) => name).join(', ')}`)
  const devnet = hasDevnet ? open.use(await startDevnet(ports.eventLog, setting, progress)) : undefined
  const upstreamsOf = (of: Config) => gatewayConfigOf(of, devnet ?? devnetUrls(config))
  const chains = new LiveSetting(config.chains)
  const gateway = new LiveSetting(upstreamsOf(config))
  const seen = {
    nodes: new Map(),
    nodeHeads: new Map(),
    vault: new Watch<VaultHealth>(),
    upstreams: new Watch<readonly NetworkStatus[]>(),
    stoppedRoles: new Map(),
  }
  const running: Running = { config, log, screen, progress, devnet, chains, gateway, ...seen }
  if (isAsked) open.use(await answerCommands(ports, running))

  const stop = new AbortController()
  const ending = AbortSignal.any([signal, stop.signal])
  const runsAlone = roles.length === 1
  const tasks = roles.map((role) => {
    const ended = role.run(ports, running, ending)
    return runsAlone || role.decidesByFacts === undefined ? ended : unlessUnreadable(role, running, ended)
  })
  tasks.push(
    watchConfig({
      current: config,
      read: setting.readAgain,
      onChange: (changed) => {
        chains.replace(changed.chains)
        gateway.replace(upstreamsOf(changed))
      },
      log,
      signal: ending,
    }),
  )
  if (devnet !== undefined) tasks.push(Promise.race([devnet.ended, untilAborted(ending)]))
  try {
    await allOrNone(tasks, stop)
  } catch (error) {
    // A role that was still reading something when it was stopped.
    if (!isAbortOf(signal, error)) throw error
  }
}

/** What a role cannot read is no reason for the others to end: starting again would not help, so it stays stopped, and is named. */
async function unlessUnreadable({ name }: Role, { stoppedRoles, log }: Running, ended: Promise<void>): Promise<void> {
  try {
    await ended
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'undecodable')) throw error
    stoppedRoles.set(name, error.message)
    log.error({ role: name }, `the role ${name} has stopped, and the others go on: ${error.message}`)
  }
}

/** The devnet runs within the process of all roles: who ingests alone would look for a node that is not there. */
function refuseDevnetOfOthers({ devnet, chains }: Config, roles: readonly Role[]): void {
  const isIngestAlone = roles.length === 1 && roles[0]?.name === 'ingest'
  if (!isIngestAlone || devnet === undefined || !chains.every(({ source }) => source.kind === 'devnet')) return
  throw new AppError(
    'usage',
    'The devnet is run and ingested by `epochline all`: beside it, or without it, there is nothing to ingest here. To follow the devnet ' +
      'that `epochline devnet` runs, name it as a node: ' +
      `BEACON_URL=http://127.0.0.1:${devnet.beaconPort} EXECUTION_URL=http://127.0.0.1:${devnet.executionPort}.`,
  )
}

/** Opens the ports that are needed. */
async function openPorts(
  { config, log }: Setting,
  needs: ReadonlySet<keyof RolePorts>,
  open: AsyncDisposableStack,
): Promise<RolePorts> {
  const eventLog = needs.has('eventLog') ? open.use(await openEventLog(config, log)) : undefined
  const warehouse = needs.has('warehouse') ? open.use(await openMigratedWarehouse(config, log)) : undefined
  const jobQueue = needs.has('jobQueue') ? open.use(await openJobQueue(config, log)) : undefined
  const counters = needs.has('counters') ? open.use(await openCounters(config)) : undefined
  const clientCounters = needs.has('clientCounters') ? open.use(await openClientCounters(config)) : undefined
  return neededPorts({ eventLog, warehouse, jobQueue, counters, clientCounters })
}
