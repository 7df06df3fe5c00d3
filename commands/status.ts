import { toReadyAnswer } from '../api/http/health.ts'
import type { Config } from '../infra/config/types.ts'
import { openEventLog, openJobQueue, openMigratedWarehouse } from '../infra/open-ports.ts'
import { DERIVING_JOBS } from '../processors/derive.ts'
import { DeadLetters } from '../processors/loop/dead-letters.ts'
import { LagWatch } from '../processors/loop/lag-watch.ts'
import { findDayGaps } from '../processors/verify/day-gaps.ts'
import { findUntoldValidators } from '../processors/verify/untold-validators.ts'
import { DAY_SEC } from '../schemas/eth/time.ts'
import { NO_TYPE } from '../schemas/events/dead-letter.ts'
import type { ReadyAnswer } from '../schemas/routes/probes.ts'
import { type ExitCallsStatus, exitCallLines, readExitCalls } from './exit-calls-status.ts'
import { type ExitsStatus, exitLines, readExits } from './exits-status.ts'
import { healthOf, type Watched } from './health.ts'
import { LiveSetting } from './live-setting.ts'
import type { Ports } from './role.ts'
import { askRunning } from './running-program.ts'
import { nowSec, type Setting } from './setting.ts'
import { readWebhooks, type WebhookStatus, webhookLine } from './webhooks-status.ts'
import { readWithheld, type WithheldDay, withheldLine } from './withheld-status.ts'

/** Closed days of a chain with a beacon chain. */
interface DaysStatus {
  readonly closed: number
  /** `YYYY-MM-DD`; null while none is closed. */
  readonly first: string | null
  readonly newest: string | null
  /** Days between them that are not closed, or that lack validators. */
  readonly gaps: readonly { readonly day: string; readonly why: string }[]
  /** Closed days that are in no figure for some validators, since they are not proven; absent where there is none. */
  readonly withheld?: readonly WithheldDay[]
}

/** Tracked validators of a chain of which no epoch tells anything yet. */
interface UntoldStatus {
  readonly count: number
  /** The first of them. */
  readonly pubkeys: readonly string[]
}

/** What `status --json` prints. */
export interface Status extends Omit<ReadyAnswer, 'chains'> {
  /** Whether the program that holds the data folder has answered; in servers mode nobody holds it. */
  readonly program: 'running' | 'stopped' | 'servers'
  readonly chains: Readonly<
    Record<
      string,
      /** `validators_untold` is absent where none is. */
      ReadyAnswer['chains'][string] & { readonly days: DaysStatus; readonly validators_untold?: UntoldStatus }
    >
  >
  /** By chain: exits that are open or have failed; absent where none is. */
  readonly exits?: Readonly<Record<string, ExitsStatus>>
  /** By chain: what withdrawal addresses have asked for by the exit-request contract; absent where nothing is. */
  readonly exit_calls?: Readonly<Record<string, ExitCallsStatus>>
  /** Webhooks whose receivers have not taken something; absent where none is. */
  readonly webhooks?: readonly WebhookStatus[]
  /** Jobs that are to be done or being done. */
  readonly jobs: Readonly<Record<string, number>>
  readonly dead_letters: readonly {
    readonly chain: string
    readonly topic: string
    readonly event_id: string
    readonly reason: string
  }[]
}

/** Prints where everything stands: for people, or as one JSON value. The program may run meanwhile. */
export async function runStatus(setting: Setting, { json }: { readonly json: boolean }): Promise<void> {
  const { config, log, screen, signal } = setting
  const show = (status: Status): void =>
    screen.print(json ? `${JSON.stringify(status, null, 2)}\n` : formatStatus(status))
  const print = (line: string): void => show(JSON.parse(line) as Status)
  if (await askRunning(config, { command: 'status' }, { print, signal })) return
  await using eventLog = await openEventLog(config, log)
  await using warehouse = await openMigratedWarehouse(config, log)
  await using jobQueue = await openJobQueue(config, log)
  const alone = { config, chains: new LiveSetting(config.chains), nodes: new Map(), nodeHeads: new Map() }
  const program = config.mode.kind === 'servers' ? 'servers' : 'stopped'
  show(await readStatus({ eventLog, warehouse, jobQueue }, alone, program))
}

/** Where everything stands. */
export async function readStatus(
  ports: Ports,
  running: Watched & { readonly config: Config },
  program: Status['program'],
): Promise<Status> {
  const { eventLog, warehouse, jobQueue } = ports
  const ready = toReadyAnswer(await healthOf(ports, running, { lagWatch: new LagWatch(), nowSec: nowSec() }))
  const days = await warehouse.query<{ chain: string; closed: string; first: string; newest: string }>(
    'SELECT chain, count() AS closed, min(day) AS first, max(day) AS newest FROM closed_days FINAL GROUP BY chain',
  )
  const gaps = await findDayGaps(warehouse)
  const withheld = await readWithheld(warehouse)
  const untold = new Map((await findUntoldValidators(warehouse)).map((one) => [one.chain, one.untold]))
  const untoldOf = (chain: string): { readonly validators_untold?: UntoldStatus } => {
    const pubkeys = (untold.get(chain) ?? []).map(({ pubkey }) => pubkey)
    if (pubkeys.length === 0) return {}
    return { validators_untold: { count: pubkeys.length, pubkeys: pubkeys.slice(0, UNTOLD_NAMED_MAX) } }
  }
  const daysOf = (chain: string): DaysStatus => {
    const row = days.find((one) => one.chain === chain)
    const unproven = withheld.get(chain)
    return {
      closed: Number(row?.closed ?? 0),
      first: row?.first ?? null,
      newest: row?.newest ?? null,
      gaps: gaps
        .filter((gap) => gap.chain === chain)
        .map(({ day, closed, validators_missing: lacking }) => ({
          day,
          why: closed === 1 ? `lacks ${lacking} tracked validators` : 'not closed',
        })),
      ...(unproven === undefined ? {} : { withheld: unproven }),
    }
  }
  const finalEpochs = Object.entries(ready.chains).map(([name, chain]) => [name, finalEpochOf(chain)] as const)
  const exits = await readExits(warehouse, Object.fromEntries(finalEpochs))
  const exitCalls = await readExitCalls(warehouse, Object.keys(ready.chains))
  const jobs = await Promise.all(DERIVING_JOBS.map(async (name) => [name, await jobQueue.pending(name)] as const))
  const webhooks = await readWebhooks(eventLog, jobQueue)
  const letters = (await DeadLetters.open(eventLog)).unresolved.filter(({ eventType }) => eventType !== NO_TYPE)
  return {
    program,
    ...ready,
    chains: Object.fromEntries(
      Object.entries(ready.chains).map(([name, chain]) => [name, { ...chain, days: daysOf(name), ...untoldOf(name) }]),
    ),
    ...(Object.keys(exits).length === 0 ? {} : { exits }),
    ...(Object.keys(exitCalls).length === 0 ? {} : { exit_calls: exitCalls }),
    ...(webhooks.length === 0 ? {} : { webhooks }),
    jobs: Object.fromEntries(jobs),
    dead_letters: letters.map(({ chain, topic, eventId, reason }) => ({ chain, topic, event_id: eventId, reason })),
  }
}

function finalEpochOf(chain: ReadyAnswer['chains'][string]): number | null {
  return 'last_finalized_epoch' in chain ? chain.last_finalized_epoch : null
}

/** There may be as many as are tracked. */
const UNTOLD_NAMED_MAX = 1_000
/** Lists are cut for people; `--json` has all. */
const SHOWN_MAX = 10

/** The status for people: a name, and behind it lines about it. */
export function formatStatus(status: Status): string {
  const {
    program,
    reasons,
    chains,
    lag,
    jobs,
    exits,
    exit_calls: exitCalls,
    webhooks = [],
    nodes = {},
    upstreams,
    dead_letters: letters,
  } = status
  const sections: [string, readonly string[]][] = [
    ['program', [program === 'servers' ? 'any number of processes, on servers' : program]],
    ['status', [status.status === 'ready' ? 'ready' : 'not ready', ...reasons]],
    ...Object.entries(chains).map(([name, chain]): [string, readonly string[]] => [
      name,
      [...(status.paused.includes(name) ? ['paused'] : []), ...chainLines(chain)],
    ]),
    ['waiting', [waiting(lag, 'event'), waiting(jobs, 'job')].filter((line) => line !== '')],
    ...(exits === undefined ? [] : [exitsSection(exits)]),
    ...(exitCalls === undefined ? [] : [exitCallsSection(exitCalls)]),
    ...(webhooks.length === 0 ? [] : [['webhooks', webhooks.map(webhookLine)] as [string, readonly string[]]]),
    ['nodes', Object.entries(nodes).map(([name, node]) => `${name}: ${node.state}${since(node)}`)],
    ...(upstreams === undefined ? [] : [['upstreams', upstreamLines(upstreams)] as [string, readonly string[]]]),
    ...(status.vault === undefined ? [] : [['key vault', vaultLines(status.vault)] as [string, readonly string[]]]),
    ['dead letters', letters.map(({ topic, event_id: id, reason }) => `${topic} ${id}: ${reason}`)],
  ]
  const width = Math.max(...sections.map(([name]) => name.length)) + 2
  return sections.map(([name, lines]) => section(name.padEnd(width), lines)).join('')
}

function exitsSection(exits: NonNullable<Status['exits']>): [string, readonly string[]] {
  return ['exits', Object.entries(exits).flatMap(([chain, ofChain]) => exitLines(chain, ofChain))]
}

function exitCallsSection(calls: NonNullable<Status['exit_calls']>): [string, readonly string[]] {
  return ['exit calls', Object.entries(calls).flatMap(([chain, ofChain]) => exitCallLines(chain, ofChain))]
}

function section(name: string, lines: readonly string[]): string {
  const more = lines.length > SHOWN_MAX ? [`and ${lines.length - SHOWN_MAX} more`] : []
  const shown = lines.length === 0 ? ['none'] : [...lines.slice(0, SHOWN_MAX), ...more]
  return shown.map((line, i) => `${i === 0 ? name : ' '.repeat(name.length)}${line}\n`).join('')
}

function chainLines(chain: Status['chains'][string]): readonly string[] {
  if ('head_block' in chain) {
    const blocks = chain.head_lag_blocks === null ? '' : `${count(chain.head_lag_blocks, 'block')}, `
    return [
      `head block ${chain.head_block ?? 'none'}, ${blocks}${duration(chain.head_lag_seconds)} behind`,
      `final block ${chain.finalized_block ?? 'none'}`,
    ]
  }
  const { closed, first, newest, gaps, withheld } = chain.days
  const shown = gaps.slice(0, SHOWN_MAX).map(({ day, why }) => `${day} ${why}`)
  return [
    `head slot ${chain.head_slot ?? 'none'}, ${count(chain.head_lag_slots, 'slot')}, ${duration(chain.head_lag_seconds)} behind`,
    `final epoch ${chain.last_finalized_epoch ?? 'none'}, ${count(chain.finality_lag_epochs, 'epoch')}, ${duration(chain.finality_lag_seconds)} behind`,
    closed === 0 ? 'no day is closed' : `${count(closed, 'day')} closed, ${first} to ${newest}`,
    ...(gaps.length === 0 ? [] : [`${count(gaps.length, 'gap')}: ${shown.join('; ')}`]),
    ...(withheld === undefined ? [] : [withheldLine(withheld, SHOWN_MAX)]),
    ...(gaps.length === 0 && withheld === undefined ? ['no gaps'] : []),
    ...(chain.validators_untold === undefined ? [] : [untoldLine(chain.validators_untold)]),
  ]
}

function untoldLine({ count: validators, pubkeys }: UntoldStatus): string {
  const shown = pubkeys.slice(0, SHOWN_MAX)
  const more = validators > shown.length ? `, and ${validators - shown.length} more` : ''
  return `no epoch tells of ${count(validators, 'tracked validator')} yet: ${shown.join(', ')}${more}`
}

/** A line for each network, those of which most is left out first: lists are cut. */
function upstreamLines(upstreams: NonNullable<Status['upstreams']>): readonly string[] {
  const networks = Object.entries(upstreams).map(([name, { well, nodes }]) => {
    const all = Object.entries(nodes)
    const faults = all.flatMap(([id, { fault, web_socket_fault: socketFault }]) => [
      ...(fault === undefined ? [] : [`${id}: ${fault}`]),
      ...(socketFault === undefined ? [] : [`${id}: its WebSocket: ${socketFault}`]),
    ])
    const heads = all.flatMap(([, { head, fault }]) => (head === null || fault !== undefined ? [] : [head]))
    const head = heads.length === 0 ? '' : `, head ${Math.max(...heads)}`
    const line = `${name}: ${well} of ${all.length} well${head}${faults.length === 0 ? '' : ` (${faults.join('; ')})`}`
    return { line, wellShare: well / all.length }
  })
  return networks.toSorted((one, other) => one.wellShare - other.wellShare).map(({ line }) => line)
}

function vaultLines(vault: NonNullable<Status['vault']>): readonly string[] {
  const { count: missing, pubkeys } = vault.missing
  return [
    `${vault.state}${since(vault)}${vault.told_at === undefined ? '' : `, told ${vault.told_at}`}`,
    ...(missing === 0 ? [] : [`lacks the keys of ${count(missing, 'validator')}, which nobody must fund:`, ...pubkeys]),
  ]
}

function waiting(counts: Readonly<Record<string, number>>, what: string): string {
  return Object.entries(counts)
    .filter(([, some]) => some > 0)
    .map(([name, some]) => `${count(some, what)} of ${name}`)
    .join(', ')
}

function since({ since: instant, fault }: { readonly since?: string; readonly fault?: string }): string {
  return `${instant === undefined ? '' : ` since ${instant}`}${fault === undefined ? '' : ` (${fault})`}`
}

function count(number: number | null, what: string): string {
  if (number === null) return `an unknown number of ${what}s`
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

const MINUTE_SEC = 60
const HOUR_SEC = 3_600

/** Seconds as people say them. */
function duration(seconds: number | null): string {
  if (seconds === null) return 'an unknown time'
  if (seconds < 2 * MINUTE_SEC) return `${seconds} s`
  if (seconds < 2 * HOUR_SEC) return `${Math.round(seconds / MINUTE_SEC)} min`
  if (seconds < 2 * DAY_SEC) return `${Math.round(seconds / HOUR_SEC)} h`
  return `${Math.round(seconds / DAY_SEC)} days`
}
