import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import kafkajs from 'kafkajs'
import { freePort, type MissingServer, startChild, type TestServer } from './child-server.ts'
import { type CommandResult, runCommand } from './command.ts'

const POM_FILE = join(import.meta.dirname, 'kafka', 'pom.xml')
/** Kafka 4 brokers need it. */
const JAVA_VERSION_MIN = 17
const HEAP = '-Xmx512m'
const READY_TIMEOUT_MS = 90_000

/** A private single-node Kafka (KRaft) on the loopback. Its jars are fetched by Maven once, into `cacheDirectory`. */
export async function startKafka(options: {
  readonly directory: string
  readonly cacheDirectory: string
}): Promise<TestServer | MissingServer> {
  const missingJava = await checkJava()
  if (missingJava !== undefined) return { missing: missingJava }
  const jars = await fetchJars(join(options.cacheDirectory, 'kafka'))
  if ('missing' in jars) return jars

  const port = await freePort()
  const propertiesFile = join(options.directory, 'server.properties')
  const logDirectory = join(options.directory, 'kafka-data')
  await writeFile(propertiesFile, serverProperties({ port, controllerPort: await freePort(), logDirectory }))
  const java = [HEAP, '-cp', join(jars.directory, '*'), '-Dorg.slf4j.simpleLogger.showDateTime=true']
  const formatted = await runCommand('java', [
    ...java,
    'kafka.tools.StorageTool',
    'format',
    // One word: as two, an id that begins with a dash would be read as an option.
    `--cluster-id=${randomBytes(16).toString('base64url')}`,
    '--config',
    propertiesFile,
  ])
  if (formatted.status !== 'done') throw new Error(`Kafka's storage could not be formatted: ${outputOf(formatted)}`)

  const stop = await startChild({
    command: 'java',
    // A few minutes are over before what the second compiler makes has paid for it.
    args: [...java, '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', 'kafka.Kafka', propertiesFile],
    logFile: join(options.directory, 'kafka.log'),
    readyTimeoutMs: READY_TIMEOUT_MS,
    ready: () => answersMetadata(port),
  })
  return { address: `127.0.0.1:${port}`, what: `local Kafka ${jars.version}`, [Symbol.asyncDispose]: stop }
}

async function checkJava(): Promise<string | undefined> {
  const java = await runCommand('java', ['-version'])
  const version = Number(/version "(\d+)/.exec(outputOf(java))?.[1] ?? 0)
  if (java.status === 'not installed') return `no java here (Kafka needs Java ${JAVA_VERSION_MIN})`
  if (version < JAVA_VERSION_MIN) return `Kafka needs Java ${JAVA_VERSION_MIN}, found ${version}`
  return undefined
}

/** The marker is written last: jars without it, or of another pom, are fetched anew. */
async function fetchJars(
  directory: string,
): Promise<{ readonly directory: string; readonly version: string } | MissingServer> {
  const pom = await readFile(POM_FILE, 'utf8')
  const version = /<artifactId>kafka_2\.13<\/artifactId>\s*<version>([^<]+)</.exec(pom)?.[1] ?? 'unknown'
  const marker = join(directory, 'pom.sha256')
  const wanted = createHash('sha256').update(pom).digest('hex')
  const found = await readFile(marker, 'utf8').catch(() => undefined) // there is none before the first time
  if (found === wanted) return { directory, version }

  await rm(directory, { recursive: true, force: true })
  await mkdir(directory, { recursive: true })
  const maven = await runCommand('mvn', [
    '-q',
    '-B',
    '-f',
    POM_FILE,
    'dependency:copy-dependencies',
    `-DoutputDirectory=${directory}`,
    '-DincludeScope=runtime',
  ])
  if (maven.status === 'not installed') return { missing: 'no mvn here to fetch the jars of Kafka' }
  if (maven.status === 'failed') return { missing: `Maven could not fetch Kafka: ${outputOf(maven)}` }
  await writeFile(marker, wanted)
  return { directory, version }
}

function serverProperties(options: {
  readonly port: number
  readonly controllerPort: number
  readonly logDirectory: string
}): string {
  const { port, controllerPort, logDirectory } = options
  return `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${controllerPort}
listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}
advertised.listeners=PLAINTEXT://127.0.0.1:${port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=${logDirectory}
# Topics are made by the program, with its settings.
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
# A production broker waits 3 s for more members of a new group; the tests start hundreds of groups of one.
group.initial.rebalance.delay.ms=0
# Segments of a gigabyte would be fine, their preallocated indexes (10 MB each) are not.
log.index.size.max.bytes=1048576
`
}

async function answersMetadata(port: number): Promise<boolean> {
  const kafka = new kafkajs.Kafka({
    brokers: [`127.0.0.1:${port}`],
    logLevel: kafkajs.logLevel.NOTHING,
    retry: { retries: 0 },
  })
  const admin = kafka.admin()
  try {
    await admin.connect()
    return (await admin.describeCluster()).brokers.length > 0
  } catch {
    return false // refused or no leader yet: it is still starting
  } finally {
    await admin.disconnect()
  }
}

function outputOf(result: CommandResult): string {
  return result.status === 'not installed' ? 'not installed' : result.output.trim()
}
