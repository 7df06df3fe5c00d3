import { GenericContainer, Wait } from 'testcontainers'
import { freePort, type MissingServer, type TestServer } from './child-server.ts'
import { runCommand } from './command.ts'

const REDIS_IMAGE = 'redis:7.4-alpine'
const KAFKA_IMAGE = 'apache/kafka:4.1.0'
const READY_TIMEOUT_MS = 120_000

/** Whether an engine answers, not only whether the command is there. */
export async function dockerAnswers(): Promise<boolean> {
  return (await runCommand('docker', ['version', '--format', '{{.Server.Version}}'])).status === 'done'
}

export async function startRedisContainer(): Promise<TestServer | MissingServer> {
  const container = await new GenericContainer(REDIS_IMAGE)
    .withCommand(['redis-server', '--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction'])
    .withExposedPorts(6379)
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
    .withStartupTimeout(READY_TIMEOUT_MS)
    .start()
  return {
    address: `redis://${container.getHost()}:${container.getMappedPort(6379)}`,
    what: `container of ${REDIS_IMAGE}`,
    [Symbol.asyncDispose]: async () => void (await container.stop()),
  }
}

/** Clients go where the broker says that it is, so the port outside has to be known before it starts. */
export async function startKafkaContainer(): Promise<TestServer | MissingServer> {
  const port = await freePort()
  const container = await new GenericContainer(KAFKA_IMAGE)
    .withExposedPorts({ container: 9092, host: port })
    .withEnvironment({
      KAFKA_NODE_ID: '1',
      KAFKA_PROCESS_ROLES: 'broker,controller',
      KAFKA_LISTENERS: 'PLAINTEXT://:9092,CONTROLLER://:9093',
      KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://127.0.0.1:${port}`,
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
      KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
      KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
      KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
      KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
      KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
      KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
      KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
    })
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .withStartupTimeout(READY_TIMEOUT_MS)
    .start()
  return {
    address: `127.0.0.1:${port}`,
    what: `container of ${KAFKA_IMAGE}`,
    [Symbol.asyncDispose]: async () => void (await container.stop()),
  }
}
