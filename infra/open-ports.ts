import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Config } from './config/types.ts'
import { openMemoryCounters } from './counters/memory.ts'
import { openRedisCounters } from './counters/redis.ts'
import { openKafkaEventLog } from './event-log/kafka.ts'
import { openSqliteEventLog } from './event-log/sqlite.ts'
import { openBullmqJobQueue } from './job-queue/bullmq.ts'
import { openSqliteJobQueue } from './job-queue/sqlite.ts'
import type { Counters } from './ports/counters.ts'
import type { EventLog } from './ports/event-log.ts'
import type { JobQueue } from './ports/job-queue.ts'
import type { Log } from './ports/log.ts'
import type { Warehouse } from './ports/warehouse.ts'
import { migrate, readMigrations } from './warehouse/migrate.ts'
import { openWarehouse } from './warehouse/open.ts'

// The only file that asks which mode it is.

/** Of a new topic: as many processes can share its work. An existing topic keeps its number. */
const KAFKA_PARTITIONS = 12
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
    partitions: KAFKA_PARTITIONS,
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

export async function openJobQueue({ mode }: ModeConfig): Promise<JobQueue> {
  return mode.kind === 'embedded'
    ? openSqliteJobQueue({ file: mode.jobsFile })
    : openBullmqJobQueue({ redisUrl: mode.redisUrl, prefix: REDIS_PREFIX })
}

export async function openCounters({ mode }: ModeConfig): Promise<Counters> {
  return mode.kind === 'embedded'
    ? openMemoryCounters({ file: mode.countersFile })
    : openRedisCounters({ redisUrl: mode.redisUrl, prefix: REDIS_PREFIX })
}
