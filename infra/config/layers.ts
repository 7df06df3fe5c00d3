import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { type Environment, given } from './environment.ts'
import { type Mistake, nearestName } from './mistakes.ts'

/** Options of the command line, and the variables that they are stronger than. */
export const FLAGS = { port: 'PORT', data: 'EPOCHLINE_DATA', config: 'EPOCHLINE_CONFIG' } as const
export type FlagName = keyof typeof FLAGS

/** Where settings come from beside the configuration file. */
export interface ConfigSource {
  readonly env: Environment
  readonly flags?: Readonly<Partial<Record<FlagName, string>>>
  /** A file of variables, weaker than the environment, which need not be there. */
  readonly envFile?: string
}

/** The variables that count, each with the name under which it was given where that is not its own. */
export interface Layers {
  readonly env: Environment
  readonly givenAs: ReadonlyMap<string, string>
  readonly mistakes: readonly Mistake[]
  /** What is no mistake, but most likely not what was meant. */
  readonly notes: readonly string[]
}

/** One over the other: the file of variables, the environment, the options. What is empty counts as not given. */
export function layerVariables({ env, flags = {}, envFile }: ConfigSource): Layers {
  const { variables: inFile, mistakes } = envFile === undefined ? NOTHING : readVariables(envFile)
  const merged: Record<string, string | undefined> = { ...env }
  const givenAs = new Map<string, string>()
  for (const [name, value] of Object.entries(inFile)) {
    if (given(env, name) !== undefined) continue
    merged[name] = value
    givenAs.set(name, `${name} in ${envFile}`)
  }
  for (const [flag, value] of Object.entries(flags) as [FlagName, string][]) {
    merged[FLAGS[flag]] = value
    givenAs.set(FLAGS[flag], `--${flag}`)
  }
  return { env: merged, givenAs, mistakes, notes: strangers(merged) }
}

const NOTHING = { variables: {}, mistakes: [] } as const

function readVariables(file: string): { variables: Environment; mistakes: readonly Mistake[] } {
  try {
    return { variables: parseEnv(readFileSync(file, 'utf8')), mistakes: [] }
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause
    if (cause.code === 'ENOENT') return NOTHING
    return { variables: {}, mistakes: [{ sentence: `${file} is there and cannot be read (${cause.code}).` }] }
  }
}

const PREFIX = 'EPOCHLINE_'
const KNOWN = ['EPOCHLINE_CONFIG', 'EPOCHLINE_DATA', 'EPOCHLINE_NETWORK', 'EPOCHLINE_UNPROVEN']
/** Settings whose names are nobody's in particular. */
const UNPREFIXED = [
  ...[
    'BEACON_URL',
    'BEACON_FALLBACK_URLS',
    'EXECUTION_URL',
    'EXECUTION_FALLBACK_URLS',
    'START_EPOCH',
    'INGEST_CONCURRENCY',
    'NFT_REQUESTS_PER_SECOND',
  ],
  ...['KAFKA_BROKERS', 'KAFKA_TOPIC_PREFIX', 'KAFKA_PARTITIONS', 'KAFKA_REPLICATION_FACTOR', 'REDIS_URL'],
  ...[
    'CLICKHOUSE_URL',
    'CLICKHOUSE_USER',
    'CLICKHOUSE_PASSWORD',
    'CLICKHOUSE_DATABASE',
    'CORS_ORIGINS',
    'TRUSTED_PROXIES',
    'LOG_LEVEL',
    'VAULT_KEY',
    'ACCOUNTS_KEY',
    'STATEMENT_KEY',
    'WEBHOOK_KEY',
    'WEBHOOK_ALLOWED_SERVER',
    'METADATA_ALLOWED_SERVER',
    'IPFS_GATEWAYS',
    'ARWEAVE_GATEWAYS',
    'VALIDATORS_EXPIRY_EPOCHS',
    'VALIDATORS_UNFUNDED_MAX',
  ],
  ...[
    'DEVNET_SEED',
    'DEVNET_SLOT_SECONDS',
    'DEVNET_BEACON_PORT',
    'DEVNET_EXECUTION_PORT',
    'DEVNET_SECOND_PORT',
    'DEVNET_METADATA_PORT',
    'DEVNET_VALIDATOR_PORT',
  ],
]
/** A variable of another program may well be like one of ours: it has to be nearly the same, and long enough to be no chance. */
const SLIPS_MAX = 2
const LETTERS_MIN = 8
/** The tests'. */
const OTHERS = /^EPOCHLINE_(TEST_|FIXTURES$)/

/** Told and not refused: container platforms add variables of that beginning for a service of our name. */
function strangers(env: Environment): readonly string[] {
  const names = Object.keys(env).filter((name) => name.startsWith(PREFIX) && !KNOWN.includes(name))
  const ours = names
    .filter((name) => !OTHERS.test(name))
    .map((name) => {
      const meant = nearestName(
        name.slice(PREFIX.length),
        KNOWN.map((known) => known.slice(PREFIX.length)),
      )
      const hint = meant === undefined ? `there are ${KNOWN.join(', ')}` : `did you mean ${PREFIX}${meant}?`
      return `${name} is set and is not a setting: ${hint}`
    })
  const likeOurs = Object.keys(env).flatMap((name) => {
    if (name.startsWith(PREFIX) || name.length < LETTERS_MIN || UNPREFIXED.includes(name)) return []
    const meant = nearestName(name, UNPREFIXED, SLIPS_MAX)
    return meant === undefined ? [] : [`${name} is set and is not a setting: did you mean ${meant}?`]
  })
  return [...ours, ...likeOurs]
}
