import type { Health } from '../api/http/health.ts'
import { hasBeacon } from '../infra/config/select-chain.ts'
import type { LagWatch } from '../processors/loop/lag-watch.ts'
import { measureHealth, type WatchedChain } from '../processors/loop/measure-health.ts'
import { PROJECTORS } from '../processors/projections.ts'
import { formatInstant } from '../schemas/eth/time.ts'
import type { Ports, Running } from './role.ts'
import type { VaultHealth } from './vault-watch.ts'

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

/** What health is asked of; without a watch there is no vault. */
export type Watched = Pick<Running, 'chains' | 'nodes' | 'nodeHeads'> & Partial<Pick<Running, 'devnet' | 'vault'>>

/** How far this process's chains have come, how the nodes are that it reads from, and its key vault. `nowSec` is Unix seconds. */
export async function healthOf(
  ports: Pick<Ports, 'eventLog' | 'warehouse'>,
  running: Watched,
  { lagWatch, nowSec }: { readonly lagWatch: LagWatch; readonly nowSec: number },
): Promise<Health> {
  const measured = await measureHealth(
    { eventLog: ports.eventLog, warehouse: ports.warehouse, projectors: PROJECTORS, lagWatch },
    watchedChains(running),
    nowSec,
  )
  return withVault(withNodes(measured, running), running.vault?.health())
}

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
        return `${name} does not answer${since} (${fault})`
      }),
    ],
  }
}

/** Lost keys are named and nothing is made unready by them: what is served is right, and they may be lost for good. */
function withVault(measured: Health, vault: VaultHealth | undefined): Health {
  if (vault === undefined) return measured
  const { state, sinceMs, fault = 'no answer', missing } = vault
  const answers = state === 'answering'
  return {
    ...measured,
    vault: { state, sinceSec: sinceMs / 1_000, ...(answers ? {} : { fault }), missing },
    checks: { ...measured.checks, vault_answers: answers },
    reasons: answers ? measured.reasons : [...measured.reasons, `the key vault does not answer: ${fault}`],
  }
}
