import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Config } from './config/types.ts'
import { openKafkaEventLog } from './event-log/kafka.ts'
import { openSqliteEventLog } from './event-log/sqlite.ts'
import { openBullmqJobQueue } from './job-queue/bullmq.ts'
import { openSqliteJobQueue } from './job-queue/sqlite.ts'
import type { EventLog } from './ports/event-log.ts'
import type { JobQueue } from './ports/job-queue.ts'
import type { Log } from './ports/log.ts'
import type { Warehouse } from './ports/warehouse.ts'
import { migrate, readMigrations } from './warehouse/migrate.ts'
import { openWarehouse } from './warehouse/open.ts'

// The only file that asks which mode it is.

const REDIS_PREFIX = 'epochline'

type ModeConfig = Pick<Config, 'mode'>

export async function openEventLog({ mode }: ModeConfig, log: Log): Promise<EventLog> {
  if (mode.kind === 'embedded') {
    await mkdir(dirname(mode.eventLogFile), { recursive: true })
    return openSqliteEventLog({ file: mode.eventLogFile })
  }
  return openKafkaEventLog({
    brokers: mode.kafkaBrokers,
    clientId: 'epochline',
    topicPrefix: mode.kafkaTopicPrefix,
    partitions: mode.kafkaPartitions,
    replicationFactor: mode.kafkaReplicationFactor,
    log: ({ level, message }) => log[level]({ port: 'event log' }, message),
  })
}

/** Opens the warehouse with every migration applied. */
export async function openMigratedWarehouse({ mode }: ModeConfig): Promise<Warehouse> {
  const warehouse =
    mode.kind === 'embedded'
      ? await openWarehouse({ directory: mode.warehouseDirectory })
      : await openWarehouse(
          { url: mode.clickhouse.url, user: mode.clickhouse.user, password: mode.clickhouse.password },
          { database: mode.clickhouse.database },
        )
  try {
    await migrate(warehouse, await readMigrations())
    return warehouse
  } catch (error) {
    await warehouse[Symbol.asyncDispose]()
    throw error
  }
}

export async function openJobQueue({ mode }: ModeConfig, log: Log): Promise<JobQueue> {
  return mode.kind === 'embedded'
    ? openSqliteJobQueue({ file: mode.jobsFile, log })
    : openBullmqJobQueue({ redisUrl: mode.redisUrl, prefix: REDIS_PREFIX, log })
}
