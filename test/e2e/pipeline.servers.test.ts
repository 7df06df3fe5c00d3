import { withServer } from '../contract/test-servers.ts'
import { pipelineSuite } from './pipeline.ts'

withServer('kafka', (kafka) =>
  withServer('redis', (redis) =>
    withServer('clickhouse', (clickhouse) => {
      const run = `e2e_${process.pid}`
      const modeOf = (name: string) => ({
        KAFKA_BROKERS: kafka,
        KAFKA_TOPIC_PREFIX: `${run}.${name}.`,
        REDIS_URL: redis,
        CLICKHOUSE_URL: clickhouse,
        CLICKHOUSE_DATABASE: `${run}_${name}`,
      })
      pipelineSuite({ mode: 'servers', modeOf, deaths: 'on a second way' })
    }),
  ),
)
