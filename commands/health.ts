import type { Health, VaultHealth } from '../api/http/health.ts'
import type { DifferenceOfNode } from '../api/http/metrics.ts'
import { hasBeacon } from '../infra/config/select-chain.ts'
import type { Counters } from '../infra/ports/counters.ts'
import type { NetworkStatus } from '../infra/ports/upstreams.ts'
import type { LagWatch } from '../processors/loop/lag-watch.ts'
import { measureHealth, type WatchedChain } from '../processors/loop/measure-health.ts'
import { toldVault } from '../processors/loop/role-health.ts'
import { PROJECTORS } from '../processors/projections.ts'
import { AppError, type ErrorCode } from '../schemas/errors.ts'
import { formatInstant } from '../schemas/eth/time.ts'
import { MISSING_NAMED_MAX } from '../schemas/events/vault-state.ts'
import type { Ports, Running } from './role.ts'
import { RENEWED_MS } from './validators/telling-vault.ts'
import type { VaultHealth as OwnVault } from './vault-health.ts'

/** The configured chains, as health is asked of them. */
export function watchedChains({
  chains,
  nodeHeads,
  devnet,
}: Pick<Running, 'chains' | 'nodeHeads'> & Partial<Pick<Running, 'devnet'>>): readonly WatchedChain[] {
  return chains.current.map((chain) => ({
    name: chain.names.name,
    hasBeacon: hasBeacon(chain),
    paused: chain.paused,
    aheadSec: chain.source.kind === 'devnet' && chain.source.layer === 'ethereum' ? (devnet?.aheadSec ?? 0) : 0,
    nodeHead: nodeHeads.get(chain.names.name),
  }))
}

/** What health is asked of; without a watch this process has no vault, and no gateway; without stopped roles all of them run. */
export type Watched = Pick<Running, 'chains' | 'nodes' | 'nodeHeads'> &
  Partial<Pick<Running, 'devnet' | 'vault' | 'upstreams' | 'stoppedRoles'>>

export interface HealthOptions {
  readonly lagWatch: LagWatch
  /** Unix seconds. */
  readonly nowSec: number
  /** So long the log is waited for; without it as long as it takes. */
  readonly logMsMax?: number
  /** Of quotas, where this process takes them. */
  readonly counters?: Pick<Counters, 'ping'>
}

/** How far this process's chains have come, how the nodes are that it reads from, its counters, and its key vault. */
export async function healthOf(
  ports: Pick<Ports, 'eventLog' | 'warehouse'>,
  running: Watched,
  { nowSec, counters, ...options }: HealthOptions,
): Promise<Health> {
  const measured = await measureHealth(
    { eventLog: ports.eventLog, warehouse: ports.warehouse, projectors: PROJECTORS, ...options },
    watchedChains(running),
    nowSec,
  )
  const own = running.vault?.health()
  // Its role says why itself: nobody is to be sent after another process.
  const isStoppedHere = running.stoppedRoles?.has('validators') === true
  const vault = await vaultHealth(ports, { own, isStoppedHere, nowSec })
  const counted = withStopped(await withCounters(measured, counters), running.stoppedRoles)
  return withVault(withUpstreams(withNodes(counted, running), running.upstreams?.health()), vault)
}

/** Without the counters no request of a customer passes. Those of this process itself are always there. */
async function withCounters(measured: Health, counters: HealthOptions['counters']): Promise<Health> {
  if (counters?.ping === undefined) return measured
  const withCheck = (holds: boolean): Health => ({
    ...measured,
    checks: { ...measured.checks, counters_answer: holds },
  })
  try {
    await counters.ping()
    return withCheck(true)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { ...withCheck(false), reasons: [...measured.reasons, `the counters do not answer: ${error.message}`] }
  }
}

/** What a stopped role does is done by nobody else. */
function withStopped(measured: Health, stopped: Running['stoppedRoles'] = new Map()): Health {
  if (stopped.size === 0) return measured
  const reasons = [...stopped].map(([name, reason]) => `the role ${name} has stopped: ${reason}`)
  return { ...measured, checks: { ...measured.checks, roles_run: false }, reasons: [...measured.reasons, ...reasons] }
}

/** The gateway's networks have nothing to do with each other, nor with other families: none of them makes all of that unready. */
function withUpstreams(measured: Health, networks: readonly NetworkStatus[] = []): Health {
  if (networks.length === 0) return measured
  return { ...measured, upstreams: Object.fromEntries(networks.map(({ name, upstreams }) => [name, upstreams])) }
}

/** Faults of a node that is there, and answers something else than it was asked. */
const ANSWERS_WRONGLY: ReadonlySet<string> = new Set([
  'node_malformed',
  'node_inconsistent',
] satisfies readonly ErrorCode[])

function withNodes(measured: Health, running: Pick<Running, 'nodes'>): Health {
  const nodes = [...running.nodes].flatMap(([chain, status]) =>
    status().map(({ name, state, since, fault }) => {
      const sinceSec = since === undefined ? {} : { sinceSec: since / 1000 }
      return [`${chain} ${name}`, { state, ...sinceSec, ...(fault === undefined ? {} : { fault }) }] as const
    }),
  )
  if (nodes.length === 0) return measured
  const away = nodes.filter(([, { state }]) => state === 'away')
  return {
    ...measured,
    nodes: Object.fromEntries(nodes),
    checks: { ...measured.checks, nodes_answer: away.length === 0 },
    reasons: [
      ...measured.reasons,
      ...away.map(([name, { sinceSec, fault = 'no answer' }]) => {
        const since = sinceSec === undefined ? '' : ` since ${formatInstant(sinceSec)}`
        // Whoever looks for a server that is down should not be sent after one that answers something else.
        const how = ANSWERS_WRONGLY.has(fault) ? 'answers wrongly' : 'does not answer'
        return `${name} ${how}${since} (${fault})`
      }),
    ],
  }
}

/** What the nodes that this process reads from have told otherwise than figures go by. */
export function differencesOf(running: Pick<Running, 'nodes'>): readonly DifferenceOfNode[] {
  return [...running.nodes].flatMap(([chain, status]) =>
    status().flatMap(({ name, differences = [] }) => differences.map((one) => ({ ...one, chain, node: name }))),
  )
}

/** A process that has the vault says how it is every minute: after three the vault counts as away. */
const SILENT_SEC_MAX = (3 * RENEWED_MS) / 1_000

/** The vault of this process, or what another has told of the one that it has; undefined where no process ever had one. */
async function vaultHealth(
  { warehouse }: Pick<Ports, 'warehouse'>,
  {
    own,
    isStoppedHere,
    nowSec,
  }: { readonly own: OwnVault | undefined; readonly isStoppedHere: boolean; readonly nowSec: number },
): Promise<VaultHealth | undefined> {
  if (own !== undefined) {
    const { state, sinceMs, fault, missing } = own
    const named = { count: missing.length, pubkeys: missing.slice(0, MISSING_NAMED_MAX) }
    return { state, sinceSec: sinceMs / 1_000, ...(fault === undefined ? {} : { fault }), missing: named }
  }
  const told = await toldVault(warehouse)
  if (told === undefined) return undefined
  const { state, sinceSec, toldSec, fault, missing } = told
  if (isStoppedHere) return { state: 'stopped', sinceSec: toldSec, toldSec, missing }
  const isSilent = state !== 'stopped' && nowSec - toldSec > SILENT_SEC_MAX
  if (!isSilent) return { state, sinceSec, toldSec, ...(fault === '' ? {} : { fault }), missing }
  const silence =
    `nothing was heard of the process that has it since ${formatInstant(toldSec)}: start the role validators there again ` +
    '(stopped as it should be, not killed, it is missed no more)'
  return { state: 'away', sinceSec: toldSec, toldSec, fault: silence, missing }
}

/**
 * Lost keys are named and nothing is made unready by them: what is served is right, and they may be lost for good. Nor is it by a vault that
 * was stopped and has not died.
 */
function withVault(measured: Health, vault: VaultHealth | undefined): Health {
  if (vault === undefined) return measured
  if (vault.state === 'stopped') return { ...measured, vault }
  const { fault = 'no answer', ...known } = vault
  const answers = vault.state === 'answering'
  return {
    ...measured,
    vault: answers ? known : vault,
    checks: { ...measured.checks, vault_answers: answers },
    reasons: answers ? measured.reasons : [...measured.reasons, `the key vault does not answer: ${fault}`],
  }
}
