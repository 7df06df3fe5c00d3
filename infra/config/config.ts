import { availableParallelism } from 'node:os'
import { readAccounts, readStatements } from './accounts.ts'
import { readChains } from './chains.ts'
import { type Environment, given } from './environment.ts'
import { readGateway } from './gateway.ts'
import { type ConfigSource, layerVariables } from './layers.ts'
import { readMail } from './mail.ts'
import { readMetadata } from './metadata.ts'
import { toConfigError } from './mistakes.ts'
import { readMode } from './mode.ts'
import { readNft } from './nft.ts'
import { readPlans } from './plans.ts'
import { readQuote, readTrustedProxies } from './quote.ts'
import { readConfigFile } from './read-file.ts'
import { Concurrency, Folder, Host, LogLevel, Origin, Port, Unproven } from './rules.ts'
import { SettingReader, type ShownSetting } from './setting-reader.ts'
import type { Config, DevnetConfig } from './types.ts'
import { readUnfundedRules } from './unfunded-rules.ts'
import { readVault } from './vault.ts'
import { readWebhooks } from './webhooks.ts'

const FILE_DEFAULT = 'epochline.yaml'
const PORT_DEFAULT = 8080
/** A fetched epoch is worked on while the next one comes: more than this only fills memory. */
const CONCURRENCY_DEFAULT_MAX = 8

/**
 * Reads the whole configuration, once: the file, if it is there, with the environment over it. Throws AppError 'config'
 * with one line for each mistake, which names the variable, or the file, the line and the setting, and says what is wrong;
 * no line holds the value of a URL, of a reference, or of anything in the file.
 */
export function readConfig(env: Environment): Config {
  return loadConfig({ env }).config
}

export interface LoadedConfig {
  readonly config: Config
  /** Every setting, with where it comes from. */
  readonly shown: readonly ShownSetting[]
  /** Sentences about what is no mistake, but most likely not what was meant. */
  readonly notes: readonly string[]
}

/** The configuration from all its places: the options before the environment, a file of variables, the file. Throws as `readConfig`. */
export function loadConfig(source: ConfigSource): LoadedConfig {
  const layers = layerVariables(source)
  const { env } = layers
  const asked = given(env, 'EPOCHLINE_CONFIG')
  const path = asked ?? FILE_DEFAULT
  const reading = readConfigFile(
    path,
    asked === undefined ? undefined : (layers.givenAs.get('EPOCHLINE_CONFIG') ?? 'EPOCHLINE_CONFIG'),
  )
  const { settings: file, isThere } = reading
  if (file === undefined) throw toConfigError(path, reading.mistakes)
  const reader = new SettingReader(layers, reading)
  const dataDirectory = reader.setting(
    Folder,
    { path: ['data'], variable: 'EPOCHLINE_DATA', inFile: file.data },
    './data',
  )
  const mode = readMode(reader, file, dataDirectory)
  const settings = {
    dataDirectory,
    logLevel: reader.setting(LogLevel, { path: ['log_level'], variable: 'LOG_LEVEL', inFile: file.log_level }, 'info'),
    host: reader.setting(Host, { path: ['http', 'host'], variable: 'HOST', inFile: file.http?.host }, '127.0.0.1'),
    port: reader.setting(Port, { path: ['http', 'port'], variable: 'PORT', inFile: file.http?.port }, PORT_DEFAULT),
    corsOrigins:
      reader.list(Origin, {
        path: ['http', 'cors_origins'],
        variable: 'CORS_ORIGINS',
        inFile: file.http?.cors_origins,
      }) ?? [],
    trustedProxies: readTrustedProxies(reader, file),
    concurrency: reader.setting(
      Concurrency,
      { path: ['ingest', 'concurrency'], variable: 'INGEST_CONCURRENCY', inFile: file.ingest?.concurrency },
      Math.max(2, Math.min(CONCURRENCY_DEFAULT_MAX, availableParallelism() * 2)),
    ),
    unproven: reader.setting(
      Unproven,
      { path: ['figures', 'unproven'], variable: 'EPOCHLINE_UNPROVEN', inFile: file.figures?.unproven },
      'withhold',
    ),
    nft: readNft(reader, file),
    plans: readPlans(reader, file),
    gateway: readGateway(reader, file),
    mode,
    vault: readVault(reader, file, dataDirectory),
    accounts: readAccounts(reader, file, dataDirectory),
    statements: readStatements(reader, file, dataDirectory),
    webhooks: readWebhooks(reader, file, dataDirectory),
    mail: readMail(reader, file, { mode, dataDirectory }),
    metadata: readMetadata(reader, file),
    validators: readUnfundedRules(reader, file),
  }
  const chains = readChains(reader, file)
  if (chains.devnet !== undefined) refuseEqualPorts(reader, settings.port, chains.devnet)
  const quote = readQuote(reader, file, chains.chains)
  const config: Config = { ...settings, ...chains, quote, file: { path, isThere } }
  if (reader.mistakes.length > 0) throw toConfigError(path, reader.mistakes)
  return { config, shown: reader.shown, notes: layers.notes }
}

/** Where the program and its devnet listen; 0 is any port that is free. */
function refuseEqualPorts(reader: SettingReader, port: number, devnet: DevnetConfig): void {
  const ports: readonly (readonly [variable: string, path: string, port: number | undefined])[] = [
    ['PORT', 'http.port', port],
    ['DEVNET_BEACON_PORT', 'devnet.beacon_port', devnet.beaconPort],
    ['DEVNET_EXECUTION_PORT', 'devnet.execution_port', devnet.executionPort],
    ['DEVNET_SECOND_PORT', 'devnet.second_port', devnet.secondPort],
    ['DEVNET_METADATA_PORT', 'devnet.metadata_port', devnet.metadataPort],
    ['DEVNET_VALIDATOR_PORT', 'devnet.validator_port', devnet.validatorPort],
  ]
  const taken = new Map<number, string>()
  for (const [variable, path, number] of ports) {
    if (number === undefined || number === 0) continue
    const other = taken.get(number)
    if (other === undefined) taken.set(number, variable)
    else
      reader.refuse(
        `${variable} is ${number}, as ${other} is: each listens at a port of its own, this one in the file as ${path}; e.g. ${variable}=${freePort(number)}.`,
      )
  }
}

const EXAMPLE_PORTS_APART = 10_000

const freePort = (taken: number): number =>
  taken > EXAMPLE_PORTS_APART ? taken - EXAMPLE_PORTS_APART : taken + EXAMPLE_PORTS_APART
