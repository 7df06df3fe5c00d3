import type { ChainConfig, Config, GatewayConfig } from '../infra/config/types.ts'
import type { DevnetProcess } from '../infra/devnet/child.ts'
import type { Counters } from '../infra/ports/counters.ts'
import type { EventLog } from '../infra/ports/event-log.ts'
import type { JobQueue } from '../infra/ports/job-queue.ts'
import type { Log } from '../infra/ports/log.ts'
import type { NodeStatus } from '../infra/ports/node-status.ts'
import type { NetworkStatus } from '../infra/ports/upstreams.ts'
import type { Warehouse } from '../infra/ports/warehouse.ts'
import type { Progress } from '../infra/progress.ts'
import type { Screen } from '../infra/screen.ts'
import type { LiveSetting } from './live-setting.ts'
import type { VaultHealth } from './vault-health.ts'
import type { Watch } from './watch.ts'

/** What roles and commands may need; each is opened once for all roles of a process. */
export interface Ports {
  readonly eventLog: EventLog
  readonly warehouse: Warehouse
  readonly jobQueue: JobQueue
}

/** With what roles alone need. */
export interface RolePorts extends Ports {
  /** Of quotas. */
  readonly counters: Counters
  /** Of clients by their addresses. */
  readonly clientCounters: Counters
}

/** What runs beside the ports: shared by the roles of a process. */
export interface Running {
  readonly config: Config
  readonly log: Log
  readonly screen: Screen
  readonly progress: Progress
  /** The devnet of this process, if it has one. */
  readonly devnet: DevnetProcess | undefined
  /** The configured chains as they are now: they change while the program runs. */
  readonly chains: LiveSetting<readonly ChainConfig[]>
  /** What the gateway sends calls to, with the devnet's nodes: it changes likewise. */
  readonly gateway: LiveSetting<GatewayConfig>
  /** State of the nodes that this process reads from, by chain. */
  readonly nodes: Map<string, () => readonly NodeStatus[]>
  /** Newest slot or block number of the nodes of each chain that this process follows. */
  readonly nodeHeads: Map<string, number>
  /** The key vault, where this process has it. */
  readonly vault: Watch<VaultHealth>
  /** The gateway's upstreams, where this process has it. */
  readonly upstreams: Watch<readonly NetworkStatus[]>
  /** Why a role of this process has stopped while the others go on, by its name. */
  readonly stoppedRoles: Map<Role['name'], string>
}

/** Unix milliseconds on the chains of this process: those of its devnet may have been led into time to come. */
export function chainNowMs({ devnet }: Pick<Running, 'devnet'>): number {
  return Date.now() + 1_000 * (devnet?.aheadSec ?? 0)
}

/** Both clocks of this process (processors/validators/clocks.ts). */
export function clocksOf(running: Pick<Running, 'devnet'>): { now(): number; wallNow(): number } {
  return { now: () => chainNowMs(running), wallNow: Date.now }
}

/** A long-running part of the program: what it needs, and what it does until the signal aborts. */
export interface Role {
  readonly name: 'ingest' | 'process' | 'api' | 'validators' | 'webhooks' | 'metadata' | 'users'
  readonly needs: readonly (keyof RolePorts)[]
  /** It decides by facts of the log: where one of those that it cannot do without is unreadable, it stops, and the other roles go on. */
  readonly decidesByFacts?: true
  /** Throws AppError for a setting that cannot hold now: before anything is started that takes its time. */
  check?(config: Config): Promise<void>
  run(ports: RolePorts, running: Running, signal: AbortSignal): Promise<void>
}
