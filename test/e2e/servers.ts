import { withServer } from '../contract/test-servers.ts'
import type { Environment } from './processes.ts'

/** Declares what needs all three servers. `modeOf` gives the variables of one fresh set of stores on them. */
export function withServers(declare: (modeOf: (name: string) => Environment) => void): void {
  withServer('kafka', (kafka) =>
    withServer('redis', (redis) =>
      withServer('clickhouse', (clickhouse) => {
        const run = `e2e_${process.pid}`
        declare((name) => ({
          KAFKA_BROKERS: kafka,
          KAFKA_TOPIC_PREFIX: `${run}.${name}.`,
          REDIS_URL: redis,
          CLICKHOUSE_URL: clickhouse,
          CLICKHOUSE_DATABASE: `${run}_${name}`,
        }))
      }),
    ),
  )
}
