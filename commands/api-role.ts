import { randomUUID } from 'node:crypto'
import { Meter } from '../api/gateway/meter.ts'
import { Usage } from '../api/gateway/usage.ts'
import { Looks } from '../api/http/looks.ts'
import { openApi, refuseAddress } from '../api/http/server.ts'
import { openStatementSigner } from '../api/http/statement-signer.ts'
import { hasBeacon } from '../infra/config/select-chain.ts'
import { DEMO_TOKEN } from '../infra/devnet/demo-account.ts'
import { readSealingKey } from '../infra/key-vault/key-source.ts'
import { openUpstreams } from '../infra/upstreams/upstreams.ts'
import { areAccountsKnown } from '../processors/accounts/accounts-known.ts'
import { areTablesWhole, refuseOtherLog } from '../processors/loop/filled-from.ts'
import { LagWatch } from '../processors/loop/lag-watch.ts'
import { readLogFacts } from '../processors/loop/log-facts.ts'
import { unprovenDays } from '../processors/rewards/unproven-days.ts'
import { retryWithBackoff } from '../schemas/retry.ts'
import { untilAborted } from '../schemas/wait.ts'
import { differencesOf, healthOf } from './health.ts'
import { planOf } from './plan-of.ts'
import { quoteConfigOf } from './quote-config.ts'
import { clocksOf, type Role, type Running } from './role.ts'
import { nowSec } from './setting.ts'
import { openAccountParts } from './users/account-parts.ts'
import { stakingContractOf } from './validators/staking-chains.ts'

/** HTTP in, warehouse out. */
export const apiRole: Role = {
  name: 'api',
  needs: ['eventLog', 'warehouse', 'jobQueue', 'counters', 'clientCounters'],
  check: refuseAddress,
  async run(ports, running, signal) {
    const { warehouse, eventLog } = ports
    const { host, port, corsOrigins } = running.config
    const facts = await retryWithBackoff({ log: running.log, signal, what: 'the start of the API' }, async () => {
      const read = await readLogFacts(eventLog, signal)
      if (read !== undefined) await refuseOtherLog(warehouse, read)
      return read
    })
    if (signal.aborted) return
    const lagWatch = new LagWatch()
    const { networks } = running.gateway.current
    // Of a log that nobody has begun there are no keys to ask with.
    const secret = facts?.logId ?? randomUUID()
    await using upstreams = openUpstreams({ networks, log: running.log, secret })
    running.upstreams.watch(() => upstreams.status())
    running.gateway.onChange(() => upstreams.replace(running.gateway.current.networks), signal)
    await using usage = new Usage({ eventLog, log: running.log })
    await using meter = new Meter({
      counters: ports.counters,
      clientCounters: ports.clientCounters,
      planOf: planOf(running.config),
      trustedProxies: running.config.trustedProxies,
      usage,
      log: running.log,
    })
    await using open = new AsyncDisposableStack()
    const account = await openAccountParts(running, ports, open)
    const tablesWhole = new Looks({
      look: () => areTablesWhole(warehouse),
      // A table that is made anew counts, too.
      writes: () => warehouse.writesOf?.(['filled_from']),
      ageMsMax: ASKED_MS,
    })
    await using api = await openApi({
      warehouse,
      upstreams,
      gatewayHosts: () => running.gateway.current.hosts,
      meter,
      jobs: ports.jobQueue,
      chains: () =>
        running.chains.current.map((chain) => ({
          names: chain.names,
          hasBeacon: hasBeacon(chain),
          stakingContract: stakingContractOf(chain),
        })),
      unfundedRules: running.config.validators,
      servesUnproven: running.config.unproven === 'serve',
      host,
      port,
      corsOrigins,
      quotes: quoteConfigOf(running.config),
      account,
      // Made at the first statement where it is missing: nobody has been shown one before.
      statementSigner: openStatementSigner(() =>
        readSealingKey(running.config.statements.keySource, true, 'statement'),
      ),
      nftRequestsPerSecond: running.config.nft.requestsPerSecond,
      trustedProxies: running.config.trustedProxies,
      log: running.log,
      ...clocksOf(running),
      health: () =>
        healthOf(ports, running, { lagWatch, nowSec: nowSec(), logMsMax: LOG_MS_MAX, counters: ports.counters }),
      accountsKnown: asked(() => areAccountsKnown({ warehouse, eventLog, waitMs: ACCOUNTS_WAIT_MS })),
      tablesWhole: () => tablesWhole.of(''),
      unprovenDays: asked(() => unprovenDays(warehouse)),
      nodeDifferences: () => differencesOf(running),
    })
    announce(running, api.url)
    await untilAborted(signal)
  },
}

/** Whoever asks whether this is ready asks every few seconds; Kafka's client tries for 20 s and more before it says that no broker is there. */
const LOG_MS_MAX = 2_000
/** Facts wait for others for two seconds at most before they are written (processors/loop/consume.ts). */
const ACCOUNTS_WAIT_MS = 4_000
/** How long an answer about the tables is good for: every request asks, and whoever tries many tokens, or has none, asks as often. */
const ASKED_MS = 1_000

/** The answer of at most a second ago. */
function asked<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let last: { readonly atMs: number; readonly answer: Promise<Answer> } | undefined
  return () => {
    if (last === undefined || performance.now() - last.atMs > ASKED_MS)
      last = { atMs: performance.now(), answer: ask() }
    return last.answer
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
    `Gateway     ${base}`,
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
