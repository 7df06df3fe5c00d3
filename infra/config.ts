import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { AppError } from '../schemas/errors.ts'

export interface EmbeddedMode {
  readonly kind: 'embedded'
  readonly eventLogFile: string
  readonly warehouseDirectory: string
  readonly jobsFile: string
  readonly countersFile: string
}

export interface ServersMode {
  readonly kind: 'servers'
  readonly kafkaBrokers: readonly string[]
  readonly kafkaTopicPrefix: string
  readonly kafkaReplicationFactor: number
  readonly redisUrl: string
  readonly clickhouse: {
    readonly url: string
    readonly user: string
    readonly password: string
    readonly database: string
  }
}

/** Where the chain comes from: real nodes, or the built-in devnet. URLs may hold secrets: they go to the sources and nowhere else. */
export type Chain =
  | { readonly kind: 'nodes'; readonly beaconUrls: readonly string[]; readonly executionUrls: readonly string[] }
  | { readonly kind: 'devnet'; readonly beaconPort: number; readonly executionPort: number; readonly seed: string }

export interface Config {
  readonly host: string
  readonly port: number
  readonly dataDirectory: string
  readonly network: string
  readonly logLevel: string
  readonly mode: EmbeddedMode | ServersMode
  readonly chain: Chain
  /** First epoch that a fresh log follows; undefined = the devnet's first, on real nodes the newest finalized one. */
  readonly startEpoch: number | undefined
  readonly concurrency: number
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
const PORT_MAX = 65_535
const SERVER_VARIABLES = ['KAFKA_BROKERS', 'REDIS_URL', 'CLICKHOUSE_URL'] as const

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads the whole configuration from the environment, once. Throws AppError 'config' with one sentence that names the
 * variable, what is wrong with it, and an example; the sentence never holds the value of a URL.
 */
export function readConfig(env: Environment): Config {
  const dataDirectory = text(env, 'EPOCHLINE_DATA', './data')
  return {
    host: text(env, 'HOST', '127.0.0.1'),
    port: port(env, 'PORT', 8080),
    dataDirectory,
    network: named(env, 'EPOCHLINE_NETWORK', 'mainnet', NETWORK_NAME),
    logLevel: oneOf(env, 'LOG_LEVEL', 'info', LOG_LEVELS),
    mode: readMode(env, dataDirectory),
    chain: readChain(env),
    startEpoch: env.START_EPOCH === undefined ? undefined : integer(env, 'START_EPOCH', 0, 0, Number.MAX_SAFE_INTEGER),
    concurrency: integer(env, 'INGEST_CONCURRENCY', Math.max(2, Math.min(8, availableParallelism() * 2)), 1, 64),
  }
}

function readMode(env: Environment, dataDirectory: string): EmbeddedMode | ServersMode {
  const set = SERVER_VARIABLES.filter((name) => given(env, name) !== undefined)
  if (set.length === 0) {
    return {
      kind: 'embedded',
      eventLogFile: join(dataDirectory, 'event-log.sqlite'),
      warehouseDirectory: join(dataDirectory, 'warehouse'),
      jobsFile: join(dataDirectory, 'jobs.sqlite'),
      countersFile: join(dataDirectory, 'counters.sqlite'),
    }
  }
  for (const name of SERVER_VARIABLES) {
    if (given(env, name) === undefined) {
      throw new AppError(
        'config',
        `${name} is not set although ${set[0]} is: servers mode needs all of ${SERVER_VARIABLES.join(', ')}, e.g. ${SERVER_EXAMPLES[name]}.`,
      )
    }
  }
  return {
    kind: 'servers',
    kafkaBrokers: list(env, 'KAFKA_BROKERS', SERVER_EXAMPLES.KAFKA_BROKERS).map((broker) => {
      if (/^[^\s:/]+:\d{1,5}$/.test(broker)) return broker
      throw new AppError(
        'config',
        `KAFKA_BROKERS is not a comma-separated list of host:port, e.g. ${SERVER_EXAMPLES.KAFKA_BROKERS}.`,
      )
    }),
    kafkaTopicPrefix: named(env, 'KAFKA_TOPIC_PREFIX', 'epochline.', TOPIC_PREFIX),
    kafkaReplicationFactor: integer(env, 'KAFKA_REPLICATION_FACTOR', 1, 1, 9),
    redisUrl: url(env, 'REDIS_URL', ['redis:', 'rediss:'], SERVER_EXAMPLES.REDIS_URL),
    clickhouse: {
      url: url(env, 'CLICKHOUSE_URL', ['http:', 'https:'], SERVER_EXAMPLES.CLICKHOUSE_URL),
      user: text(env, 'CLICKHOUSE_USER', 'default'),
      password: text(env, 'CLICKHOUSE_PASSWORD', ''),
      database: named(env, 'CLICKHOUSE_DATABASE', 'epochline', DATABASE_NAME),
    },
  }
}

const SERVER_EXAMPLES = {
  KAFKA_BROKERS: 'KAFKA_BROKERS=127.0.0.1:9092',
  REDIS_URL: 'REDIS_URL=redis://127.0.0.1:6379',
  CLICKHOUSE_URL: 'CLICKHOUSE_URL=http://127.0.0.1:8123',
} as const

function readChain(env: Environment): Chain {
  const beacon = given(env, 'BEACON_URL')
  const execution = given(env, 'EXECUTION_URL')
  if (beacon === undefined && execution === undefined) {
    for (const name of ['BEACON_FALLBACK_URLS', 'EXECUTION_FALLBACK_URLS']) {
      if (given(env, name) !== undefined) {
        throw new AppError(
          'config',
          `${name} is set but BEACON_URL is not: name the first node, e.g. BEACON_URL=http://127.0.0.1:5052.`,
        )
      }
    }
    return {
      kind: 'devnet',
      beaconPort: port(env, 'DEVNET_BEACON_PORT', 5052),
      executionPort: port(env, 'DEVNET_EXECUTION_PORT', 8545),
      seed: text(env, 'DEVNET_SEED', 'epochline'),
    }
  }
  if (execution === undefined) {
    throw new AppError(
      'config',
      'EXECUTION_URL is not set although BEACON_URL is: both halves of the chain are needed, e.g. EXECUTION_URL=http://127.0.0.1:8545.',
    )
  }
  if (beacon === undefined) {
    throw new AppError(
      'config',
      'BEACON_URL is not set although EXECUTION_URL is: both halves of the chain are needed, e.g. BEACON_URL=http://127.0.0.1:5052.',
    )
  }
  const beaconUrls = ['BEACON_URL', 'BEACON_FALLBACK_URLS'] as const
  const executionUrls = ['EXECUTION_URL', 'EXECUTION_FALLBACK_URLS'] as const
  return {
    kind: 'nodes',
    beaconUrls: beaconUrls.flatMap((name) => urls(env, name, `${name}=http://127.0.0.1:5052`)),
    executionUrls: executionUrls.flatMap((name) => urls(env, name, `${name}=http://127.0.0.1:8545`)),
  }
}

/** An empty variable counts as unset: that is what compose files write for "nothing". */
function given(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim()
  return value === undefined || value === '' ? undefined : value
}

function text(env: Environment, name: string, fallback: string): string {
  return given(env, name) ?? fallback
}

/** Comma-separated; empty only when the variable is unset. */
function list(env: Environment, name: string, example: string): readonly string[] {
  const value = given(env, name)
  const parts = (value ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  if (value === undefined || parts.length > 0) return parts
  throw new AppError('config', `${name} is a list without entries; e.g. ${example}.`)
}

function integer(env: Environment, name: string, fallback: number, min: number, max: number): number {
  const value = given(env, name)
  if (value === undefined) return fallback
  const number = /^\d+$/.test(value) ? Number(value) : Number.NaN
  if (number >= min && number <= max) return number
  throw new AppError(
    'config',
    `${name} is not a whole number from ${min} to ${max}: ${quote(value)}; e.g. ${name}=${fallback}.`,
  )
}

function port(env: Environment, name: string, fallback: number): number {
  return integer(env, name, fallback, 0, PORT_MAX)
}

function oneOf<Option extends string>(
  env: Environment,
  name: string,
  fallback: Option,
  options: readonly Option[],
): Option {
  const value = given(env, name)
  if (value === undefined) return fallback
  const found = options.find((option) => option === value)
  if (found !== undefined) return found
  throw new AppError(
    'config',
    `${name} is not one of ${options.join(', ')}: ${quote(value)}; e.g. ${name}=${fallback}.`,
  )
}

/** What a name may look like, in both languages. */
interface NameRule {
  readonly pattern: RegExp
  readonly words: string
  readonly example: string
}

const NETWORK_NAME: NameRule = {
  pattern: /^[a-z0-9][a-z0-9-]{0,31}$/,
  words: 'at most 32 lower-case letters, digits and dashes',
  example: 'hoodi',
}
const TOPIC_PREFIX: NameRule = {
  pattern: /^[A-Za-z0-9._-]{0,64}$/,
  words: 'at most 64 letters, digits, dots, dashes and underscores',
  example: 'epochline.',
}
const DATABASE_NAME: NameRule = {
  pattern: /^[A-Za-z_][A-Za-z0-9_]{0,63}$/,
  words: 'at most 64 letters, digits and underscores',
  example: 'epochline',
}

function named(env: Environment, name: string, fallback: string, rule: NameRule): string {
  const value = given(env, name) ?? fallback
  if (rule.pattern.test(value)) return value
  throw new AppError('config', `${name} is not ${rule.words}: ${quote(value)}; e.g. ${name}=${rule.example}.`)
}

function urls(env: Environment, name: string, example: string): readonly string[] {
  return list(env, name, example).map((value) => checkedUrl(value, name, ['http:', 'https:'], example))
}

function url(env: Environment, name: string, protocols: readonly string[], example: string): string {
  return checkedUrl(given(env, name) ?? '', name, protocols, example)
}

/** The value is not repeated in the message: it may hold a password or a key. */
function checkedUrl(value: string, name: string, protocols: readonly string[], example: string): string {
  const parsed = URL.canParse(value) ? new URL(value) : undefined
  if (parsed !== undefined && protocols.includes(parsed.protocol)) return value
  throw new AppError(
    'config',
    `${name} is not a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}; e.g. ${example}.`,
  )
}

const QUOTE_CHARACTERS_MAX = 60

function quote(value: string): string {
  return JSON.stringify(value.length > QUOTE_CHARACTERS_MAX ? `${value.slice(0, QUOTE_CHARACTERS_MAX)}…` : value)
}
