import { join } from 'node:path'
import { given } from './environment.ts'
import { CLICKHOUSE_URL, REDIS_URL } from './references.ts'
import {
  Broker,
  DatabaseName,
  type FileSettings,
  Partitions,
  ReplicationFactor,
  TopicPrefix,
  UserName,
} from './rules.ts'
import { BLANK, type SettingReader } from './setting-reader.ts'
import type { EmbeddedMode, ServersMode } from './types.ts'

const SERVER_VARIABLES = ['KAFKA_BROKERS', 'REDIS_URL', 'CLICKHOUSE_URL'] as const
const SERVER_EXAMPLES = {
  KAFKA_BROKERS: Broker.example,
  REDIS_URL: REDIS_URL.example,
  CLICKHOUSE_URL: CLICKHOUSE_URL.example,
} as const
/** What these say of a server means nothing without its address. */
const SERVER_OF = {
  KAFKA_TOPIC_PREFIX: 'KAFKA_BROKERS',
  KAFKA_REPLICATION_FACTOR: 'KAFKA_BROKERS',
  KAFKA_PARTITIONS: 'KAFKA_BROKERS',
  CLICKHOUSE_USER: 'CLICKHOUSE_URL',
  CLICKHOUSE_PASSWORD: 'CLICKHOUSE_URL',
  CLICKHOUSE_DATABASE: 'CLICKHOUSE_URL',
} as const
const PARTITIONS_DEFAULT = 12

type Servers = NonNullable<FileSettings['servers']>

/** Servers mode when the file has servers, or the environment has all three addresses; embedded otherwise. */
export function readMode(reader: SettingReader, file: FileSettings, dataDirectory: string): EmbeddedMode | ServersMode {
  const set = SERVER_VARIABLES.filter((name) => given(reader.env, name) !== undefined)
  if (file.servers !== undefined) return readServers(reader, file.servers)
  const missing = SERVER_VARIABLES.find((name) => !set.includes(name))
  if (missing === undefined) return readServers(reader, {})
  if (set.length > 0 && !reader.isMistaken(['servers'])) {
    reader.refuse(
      `${missing} is not set although ${set[0]} is: servers mode needs all of ${SERVER_VARIABLES.join(', ')}, e.g. ${missing}=${SERVER_EXAMPLES[missing]}.`,
    )
  }
  if (set.length === 0 && !reader.isMistaken(['servers'])) refuseWithoutServers(reader)
  return {
    kind: 'embedded',
    eventLogFile: join(dataDirectory, 'event-log.sqlite'),
    warehouseDirectory: join(dataDirectory, 'warehouse'),
    jobsFile: join(dataDirectory, 'jobs.sqlite'),
    countersFile: join(dataDirectory, 'counters.sqlite'),
  }
}

function refuseWithoutServers(reader: SettingReader): void {
  for (const [name, server] of Object.entries(SERVER_OF)) {
    if (given(reader.env, name) === undefined) continue
    reader.refuse(
      `${name} is set but ${server} is not: without servers everything is kept in the data folder; name all of ${SERVER_VARIABLES.join(', ')}, e.g. ${server}=${SERVER_EXAMPLES[server]}.`,
    )
  }
}

function readServers(reader: SettingReader, servers: Servers): ServersMode {
  const { kafka = {}, redis = {}, clickhouse = {} } = servers
  const kafkaPath = (name: string) => ['servers', 'kafka', name]
  return {
    kind: 'servers',
    kafkaBrokers: readBrokers(reader, kafka.brokers),
    kafkaTopicPrefix: reader.setting(
      TopicPrefix,
      { path: kafkaPath('topic_prefix'), variable: 'KAFKA_TOPIC_PREFIX', inFile: kafka.topic_prefix },
      'epochline.',
    ),
    kafkaReplicationFactor: reader.setting(
      ReplicationFactor,
      { path: kafkaPath('replication_factor'), variable: 'KAFKA_REPLICATION_FACTOR', inFile: kafka.replication_factor },
      1,
    ),
    kafkaPartitions: reader.setting(
      Partitions,
      { path: kafkaPath('partitions'), variable: 'KAFKA_PARTITIONS', inFile: kafka.partitions },
      PARTITIONS_DEFAULT,
    ),
    redisUrl: readServerUrl(reader, 'REDIS_URL', ['servers', 'redis', 'url'], redis.url),
    clickhouse: {
      url: readServerUrl(reader, 'CLICKHOUSE_URL', ['servers', 'clickhouse', 'url'], clickhouse.url),
      user: reader.setting(
        UserName,
        { path: ['servers', 'clickhouse', 'user'], variable: 'CLICKHOUSE_USER', inFile: clickhouse.user },
        'default',
      ),
      password: readPassword(reader, clickhouse.password),
      database: reader.setting(
        DatabaseName,
        { path: ['servers', 'clickhouse', 'database'], variable: 'CLICKHOUSE_DATABASE', inFile: clickhouse.database },
        'epochline',
      ),
    },
  }
}

function readBrokers(reader: SettingReader, inFile: readonly string[] | undefined): readonly string[] {
  const path = ['servers', 'kafka', 'brokers']
  const brokers = reader.list(Broker, { path, variable: 'KAFKA_BROKERS', inFile })
  if (brokers === undefined) refuseMissing(reader, 'KAFKA_BROKERS', path)
  return brokers ?? []
}

const SERVER_URLS = { REDIS_URL, CLICKHOUSE_URL } as const

function readServerUrl(
  reader: SettingReader,
  variable: keyof typeof SERVER_URLS,
  path: readonly string[],
  inFile: string | undefined,
): string {
  const rule = SERVER_URLS[variable]
  const inVariable = reader.variableUrl(variable, rule)
  if (inVariable !== undefined) {
    reader.showUrl(path, inVariable, variable)
    return inVariable
  }
  if (inFile !== undefined) return reader.fileUrl(path, inFile, rule)
  refuseMissing(reader, variable, path)
  return ''
}

function refuseMissing(reader: SettingReader, variable: keyof typeof SERVER_EXAMPLES, path: readonly string[]): void {
  reader.refuseAt(path, `is missing, here and as ${variable}; e.g. ${SERVER_EXAMPLES[variable]}`)
}

function readPassword(reader: SettingReader, inFile: string | undefined): string {
  const path = ['servers', 'clickhouse', 'password']
  const inVariable = given(reader.env, 'CLICKHOUSE_PASSWORD')
  if (inVariable !== undefined) {
    reader.show(path, BLANK, 'CLICKHOUSE_PASSWORD')
    return inVariable
  }
  return inFile === undefined ? '' : (reader.fileSecret(path, inFile) ?? '')
}
