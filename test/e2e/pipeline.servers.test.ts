import { withServer } from '../contract/test-servers.ts'
import { pipelineSuite } from './pipeline.ts'

withServer('kafka', (kafka) =>
  withServer('redis', (redis) =>
    withServer('clickhouse', (clickhouse) => {
      const run = `e2e_${process.pid}`
      pipelineSuite('servers', (name) => ({
        KAFKA_BROKERS: kafka,
        KAFKA_TOPIC_PREFIX: `${run}.${name}.`,
        REDIS_URL: redis,
        CLICKHOUSE_URL: clickhouse,
        CLICKHOUSE_DATABASE: `${run}_${name}`,
      }))
    }),
  ),
)
