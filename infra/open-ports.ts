import { AppError } from '../schemas/errors.ts'
import type { Config, ServersMode } from './config/types.ts'
import { openMemoryCounters } from './counters/memory.ts'
import { openSqliteEventLog } from './event-log/sqlite.ts'
import { openSqliteJobQueue } from './job-queue/sqlite.ts'
import { openFolderMail } from './mail/folder.ts'
import type { Counters } from './ports/counters.ts'
import type { EventLog } from './ports/event-log.ts'
import type { JobQueue } from './ports/job-queue.ts'
import type { Log } from './ports/log.ts'
import type { Mail } from './ports/mail.ts'
import type { Warehouse } from './ports/warehouse.ts'
import { isMigrated, type MigrateOptions, migrate, readMigrations } from './warehouse/migrate.ts'
import { openWarehouse, type WarehouseLimits, type WarehouseLocation } from './warehouse/open.ts'

// The only file that asks which mode it is. Clients of servers are loaded where there are servers.

/** Migrations make tables and do not fill them: whoever takes longer hangs. */
const MIGRATING_MAX_MS = 300_000

type ModeConfig = Pick<Config, 'mode'>

export async function openEventLog({ mode }: ModeConfig, log: Log): Promise<EventLog> {
  if (mode.kind === 'embedded') {
    return openSqliteEventLog({ file: mode.eventLogFile })
  }
  return openKafka(mode, log)
}

async function openKafka(mode: ServersMode, log: Log | undefined): Promise<EventLog> {
  const { openKafkaEventLog } = await import('./event-log/kafka.ts')
  return openKafkaEventLog({
    brokers: mode.kafkaBrokers,
    clientId: 'epochline',
    topicPrefix: mode.kafkaTopicPrefix,
    partitions: mode.kafkaPartitions,
    replicationFactor: mode.kafkaReplicationFactor,
    ...(log === undefined ? {} : { log: ({ level, message }) => log[level]({ port: 'event log' }, message) }),
  })
}

/**
 * Opens the warehouse with every migration applied. Of several processes that find some to apply, one does: an embedded
 * warehouse belongs to one process anyway, and for a server's they take a lease of the event log.
 * Throws AppError `warehouse` when another process does not get done with them.
 */
export async function openMigratedWarehouse({ mode }: ModeConfig, log?: Log): Promise<Warehouse> {
  const warehouse = await openWarehouse(...placeOf(mode))
  try {
    const options: MigrateOptions =
      mode.kind === 'embedded' ? {} : { alone: (work) => migrateAlone(mode, warehouse.database, work, log) }
    await migrate(warehouse, await readMigrations(), options)
    return warehouse
  } catch (error) {
    await warehouse[Symbol.asyncDispose]()
    throw error
  }
}

/** Opens the warehouse as it is, and changes nothing. Throws AppError `usage` where there is none, or not one of this release. */
export async function openWarehouseAsItIs({ mode }: ModeConfig): Promise<Warehouse> {
  const [location, limits] = placeOf(mode)
  const warehouse = await openWarehouse(location, { ...limits, mayCreate: false })
  try {
    if (await isMigrated(warehouse, await readMigrations())) return warehouse
    throw new AppError(
      'usage',
      'The tables of the warehouse are of an earlier release: the program brings them to this one when it is started.',
    )
  } catch (error) {
    await warehouse[Symbol.asyncDispose]()
    throw error
  }
}

function placeOf(mode: Config['mode']): [WarehouseLocation, WarehouseLimits] {
  if (mode.kind === 'embedded') return [{ directory: mode.warehouseDirectory }, {}]
  const { url, user, password, database } = mode.clickhouse
  return [{ url, user, password }, { database }]
}

async function migrateAlone<Result>(
  mode: ServersMode,
  database: string,
  work: (lost: AbortSignal) => Promise<Result>,
  log?: Log,
): Promise<Result> {
  await using eventLog = await openKafka(mode, log)
  const tooLong = AbortSignal.timeout(MIGRATING_MAX_MS)
  try {
    await using lease = await eventLog.lease(`migrate:${database}`, tooLong)
    return await work(lease.lost)
  } catch (error) {
    if (!tooLong.aborted || error !== tooLong.reason) throw error
    throw new AppError(
      'warehouse',
      'Another process has been migrating the warehouse for minutes: see what it reports.',
      {
        retryable: true,
      },
    )
  }
}

/**
 * Jobs are about the tables of one warehouse: two installations that share a Redis must not do each other's, so they are told
 * apart as their tables are.
 */
export async function openJobQueue({ mode }: ModeConfig, log: Log): Promise<JobQueue> {
  if (mode.kind === 'embedded') return openSqliteJobQueue({ file: mode.jobsFile, log })
  const { openBullmqJobQueue } = await import('./job-queue/bullmq.ts')
  return openBullmqJobQueue({ redisUrl: mode.redisUrl, prefix: jobKeysPrefix(mode), log })
}

/** What is taken of quotas, in every process of the installation. */
export async function openCounters({ mode }: ModeConfig): Promise<Counters> {
  if (mode.kind === 'embedded') return openMemoryCounters({ file: mode.countersFile })
  return openSharedCounters(mode)
}

/** What clients have asked for, by their addresses: of one process it is in memory alone. */
export async function openClientCounters({ mode }: ModeConfig): Promise<Counters> {
  return mode.kind === 'embedded' ? openMemoryCounters() : openSharedCounters(mode)
}

async function openSharedCounters(mode: ServersMode): Promise<Counters> {
  const { openRedisCounters } = await import('./counters/redis.ts')
  return openRedisCounters({ redisUrl: mode.redisUrl, prefix: `${jobKeysPrefix(mode)}:counters:` })
}

/** Undefined where no mail is configured: servers mode has none unless it is told of some. */
export async function openMail({ mail }: Pick<Config, 'mail'>): Promise<Mail | undefined> {
  if (mail === undefined) return undefined
  if (mail.kind === 'folder') return openFolderMail(mail)
  const { openSmtpMail } = await import('./mail/smtp.ts')
  return openSmtpMail(mail)
}

/** What the names of all keys begin with that an installation's jobs have in Redis. */
export function jobKeysPrefix({ kafkaTopicPrefix, clickhouse }: ServersMode): string {
  return `epochline:${kafkaTopicPrefix}${clickhouse.database}`
}
