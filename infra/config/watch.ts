import { stat } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { AppError } from '../../schemas/errors.ts'
import type { Log } from '../ports/log.ts'
import { WakeUps } from '../wake-ups.ts'
import {
  type ConfigDiff,
  chainName,
  diffConfig,
  hostName,
  isEmptyDiff,
  type LiveSettings,
  type NamedDiff,
} from './diff-config.ts'
import { gatewayName } from './gateway.ts'
import type { Config } from './types.ts'

export interface WatchOptions {
  /** What the program runs on. */
  readonly current: Config
  /** Reads everything again; throws AppError `config` when something is mistaken. */
  readonly read: () => Config
  /** Is awaited before the next change is looked for; what it throws ends the watch. */
  readonly onChange: (config: Config, diff: ConfigDiff) => void | Promise<void>
  readonly log: Log
  readonly signal: AbortSignal
  readonly pollMs?: number
}

/**
 * How often the file is looked at. Asking for its state works where notices do not: after atomic renames, and for files
 * that are mounted into a container.
 */
const POLL_MS = 2_000
const RELOAD_SIGNAL = 'SIGHUP'

/** Settings that are read at the start only, as the file spells them: all that are not taken over. */
export const FIXED_SETTINGS = {
  host: 'http.host',
  port: 'http.port',
  corsOrigins: 'http.cors_origins',
  dataDirectory: 'data',
  logLevel: 'log_level',
  mode: 'servers',
  concurrency: 'ingest.concurrency',
  unproven: 'figures.unproven',
  vault: 'vault',
  statements: 'statements',
  nft: 'nft',
  plans: 'plans',
  webhooks: 'webhooks',
  accounts: 'accounts',
  mail: 'mail',
  metadata: 'metadata',
  validators: 'validators',
  quote: 'quote',
  trustedProxies: 'http.trusted_proxies',
  devnet: 'devnet',
} as const satisfies Record<Exclude<keyof Config, keyof LiveSettings | 'file'>, string>

/**
 * Takes over changes of the chains and of the gateway while the program runs: on SIGHUP at once, otherwise when
 * the file has changed and then stayed the same for one look, so that a half-written file is not read. Mistakes are logged
 * and change nothing, nor does a file that is gone. Of other settings it only tells that they need a restart. Resolves when
 * the signal aborts.
 */
export async function watchConfig(options: WatchOptions): Promise<void> {
  const { read, onChange, log, signal, pollMs = POLL_MS } = options
  const wakeUps = new WakeUps()
  let isAsked = false
  const onSignal = (): void => {
    isAsked = true
    wakeUps.wake(RELOAD_SIGNAL)
  }
  process.on(RELOAD_SIGNAL, onSignal)
  try {
    let current = options.current
    let seen: string | undefined
    let taken: string | undefined // nothing yet: what changed between the start and now is not missed
    while (!signal.aborted) {
      const state = await stateOf(current.file.path)
      if (isAsked || (state === seen && state !== taken)) {
        isAsked = false
        taken = state
        const next = takeOver(current, read, log)
        const diff = diffConfig(current, next)
        current = next
        const [hasChains, hasGateway] = [!isEmptyDiff(diff.chains), !isEmptyDiff(diff.gateway)]
        const hasHosts = !isEmptyDiff(diff.hosts)
        if (hasChains) log.info(namesOf(diff.chains, chainName), 'The chains of the configuration have changed')
        if (hasGateway) log.info(namesOf(diff.gateway, gatewayName), 'The upstreams of the gateway have changed')
        if (hasHosts) log.info(namesOf(diff.hosts, hostName), 'The host names of the gateway have changed')
        if (hasChains || hasGateway || hasHosts) await onChange(current, diff)
      }
      seen = state
      if (!isAsked) await wakeUps.wait(RELOAD_SIGNAL, pollMs, signal)
    }
  } finally {
    process.off(RELOAD_SIGNAL, onSignal)
  }
}

/** Differs whenever somebody has written the file or put another one in its place. */
async function stateOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeNs } = await stat(path, { bigint: true })
    return `${ino} ${size} ${mtimeNs}`
  } catch {
    return 'missing' // or cannot be asked for: reading it tells why
  }
}

/** What the program runs on from now: the settings it has, with the upstreams of the file, and its chains if they can be taken. */
function takeOver(current: Config, read: () => Config, log: Log): Config {
  let next: Config
  try {
    next = read()
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'config')) throw error
    log.error({ mistakes: error.message.split('\n') }, 'The configuration has mistakes: nothing of it is taken over')
    return current
  }
  if (current.file.isThere && !next.file.isThere) {
    log.warn({ file: current.file.path }, 'The configuration file is gone: the settings stay as they are')
    return current
  }
  const fixed = Object.entries(FIXED_SETTINGS) as [keyof typeof FIXED_SETTINGS, string][]
  const waiting = fixed.filter(([name]) => !isDeepStrictEqual(current[name], next[name])).map(([, setting]) => setting)
  if (waiting.length > 0) log.warn({ settings: waiting }, 'These settings of the configuration need a restart')
  // The devnet's log and that of a real chain never mix, so the chains on the other side of this change wait, too.
  const { chains } = isDeepStrictEqual(current.devnet, next.devnet) ? next : current
  return { ...current, chains, gateway: next.gateway, file: next.file }
}

function namesOf<Setting>(
  { added, removed, changed }: NamedDiff<Setting>,
  nameOf: (setting: Setting) => string,
): Readonly<Record<keyof NamedDiff<Setting>, readonly string[]>> {
  return {
    added: added.map(nameOf),
    removed: removed.map(nameOf),
    changed: changed.map(({ after }) => nameOf(after)),
  }
}
