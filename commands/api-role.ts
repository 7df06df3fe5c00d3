import type { Health } from '../api/http/health.ts'
import { openApi } from '../api/http/server.ts'
import { hasBeacon } from '../infra/config/select-chain.ts'
import { DEMO_TOKEN } from '../infra/devnet/demo-account.ts'
import { refuseOtherLog } from '../processors/loop/filled-from.ts'
import { readLogFacts } from '../processors/loop/log-facts.ts'
import { measureHealth } from '../processors/loop/measure-health.ts'
import { PROJECTORS } from '../processors/projections.ts'
import { untilAborted } from '../schemas/wait.ts'
import type { Ports, Role, Running } from './role.ts'
import { nowSec } from './setting.ts'

/** HTTP in, warehouse out. */
export const apiRole: Role = {
  name: 'api',
  needs: ['eventLog', 'warehouse'],
  async run(ports, running, signal) {
    const { warehouse, eventLog } = ports
    const { host, port, corsOrigins } = running.config
    const facts = await readLogFacts(eventLog, signal)
    if (facts !== undefined) await refuseOtherLog(warehouse, facts)
    await using api = await openApi({
      warehouse,
      chains: () => running.chains.current.map((chain) => ({ names: chain.names, hasBeacon: hasBeacon(chain) })),
      host,
      port,
      corsOrigins,
      log: running.log,
      now: Date.now,
      health: () => healthOf(ports, running),
    })
    announce(running, api.url)
    await untilAborted(signal)
  },
}

async function healthOf(ports: Ports, running: Running): Promise<Health> {
  const chains = running.chains.current.map((chain) => ({ name: chain.names.name, hasBeacon: hasBeacon(chain) }))
  const measured = await measureHealth({ ...ports, projectors: PROJECTORS }, chains, nowSec())
  const nodes = [...running.nodes].flatMap(([chain, status]) =>
    status().map(({ name, state, since, fault }) => {
      const sinceSec = since === undefined ? {} : { sinceSec: since / 1000 }
      return [`${chain} ${name}`, { state, ...sinceSec, ...(fault === undefined ? {} : { fault }) }] as const
    }),
  )
  return {
    ...measured,
    ...(nodes.length === 0 ? {} : { nodes: Object.fromEntries(nodes) }),
    checks: nodes.length === 0 ? {} : { nodes_answer: nodes.every(([, { state }]) => state !== 'away') },
  }
}

/** The first lines that a person sees: where to ask what. */
function announce({ config, chains, devnet, screen }: Running, url: string): void {
  const { mode, dataDirectory } = config
  const [first] = chains.current
  const token = devnet === undefined ? '<token>' : DEMO_TOKEN
  const base = first === undefined ? url : `${url}/${first.names.protocol}/${first.names.network}/${token}`
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
          ...(devnet.secondExecutionUrl === undefined ? [] : [`JSON-RPC 2  ${devnet.secondExecutionUrl}`]),
          `Token       ${DEMO_TOKEN} (this devnet only)`,
        ]),
  ]
  screen.print(`${lines.join('\n')}\n`)
}
