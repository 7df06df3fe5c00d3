import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runVitest } from '../run-vitest.ts'
import type { MissingServer, TestServer } from './child-server.ts'
import { startClickhouse } from './clickhouse.ts'
import { dockerAnswers, startKafkaContainer, startRedisContainer } from './docker.ts'
import { startKafka } from './kafka.ts'
import { startRedis } from './redis.ts'

/**
 * `npm run test:servers`: runs the tests that need real servers, with those it finds: addresses given by the environment,
 * else servers of this machine, else containers.
 *
 *     --strict    a missing server is a failure, not a skip (also with CI=true); installs redis-server when it is missing
 *     --install   installs redis-server when it is missing (Debian, as root)
 *     anything else is passed on to vitest
 */
const ROOT = join(import.meta.dirname, '..', '..')

interface ServerKind {
  readonly name: string
  readonly variable: string
  local(): Promise<TestServer | MissingServer>
  /** Not for ClickHouse: its local way is always there. */
  container?(): Promise<TestServer | MissingServer>
}

async function main(args: readonly string[]): Promise<number> {
  const strict = args.includes('--strict') || process.env.CI === 'true'
  const install = strict || args.includes('--install')
  const vitestArgs = args.filter((arg) => arg !== '--strict' && arg !== '--install')

  await using resources = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'epochline-servers-'))
  resources.defer(() => rm(directory, { recursive: true, force: true }))

  const environment: Record<string, string> = strict ? { EPOCHLINE_TEST_STRICT: '1' } : {}
  for (const kind of serverKinds(directory, install)) {
    const server = await find(kind)
    if ('missing' in server) {
      process.stdout.write(`${kind.name}: none, ${server.missing}\n`)
      continue
    }
    resources.use(server)
    environment[kind.variable] = server.address
    process.stdout.write(`${kind.name}: ${server.what}, ${server.address}\n`)
  }
  return await runVitest('servers', vitestArgs, environment)
}

function serverKinds(directory: string, install: boolean): ServerKind[] {
  return [
    {
      name: 'redis',
      variable: 'EPOCHLINE_TEST_REDIS',
      local: () => startRedis({ directory, install }),
      container: startRedisContainer,
    },
    {
      name: 'kafka',
      variable: 'EPOCHLINE_TEST_KAFKA',
      local: () => startKafka({ directory, cacheDirectory: join(ROOT, '.cache') }),
      container: startKafkaContainer,
    },
    { name: 'clickhouse', variable: 'EPOCHLINE_TEST_CLICKHOUSE', local: () => startClickhouse({ directory }) },
  ]
}

async function find({ variable, local, container }: ServerKind): Promise<TestServer | MissingServer> {
  const given = process.env[variable]
  if (given !== undefined && given !== '') {
    return { address: given, what: `given by ${variable}`, [Symbol.asyncDispose]: async () => {} }
  }
  const found = await local()
  if ('missing' in found && container !== undefined && (await dockerAnswers())) return container()
  return found
}

process.exitCode = await main(process.argv.slice(2))
