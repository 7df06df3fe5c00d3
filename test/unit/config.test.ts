import { describe, expect, it } from 'vitest'
import { readConfig } from '../../infra/config/config.ts'
import { SECONDS_PER_SLOT_DEFAULT } from '../../infra/devnet/scenario.ts'

const SERVERS = {
  KAFKA_BROKERS: '127.0.0.1:9092',
  REDIS_URL: 'redis://127.0.0.1:6379',
  CLICKHOUSE_URL: 'http://127.0.0.1:8123',
}

describe('configuration', () => {
  it('without any variable is the embedded mode on the devnet at the documented addresses', () => {
    expect(readConfig({})).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      dataDirectory: './data',
      mode: { kind: 'embedded' },
      devnet: {
        beaconPort: 5052,
        executionPort: 8545,
        secondPort: 8546,
        metadataPort: 8547,
        validatorPort: 5062,
        seed: 'epochline',
        secondsPerSlot: SECONDS_PER_SLOT_DEFAULT,
      },
      chains: [
        { names: { name: 'mainnet', protocol: 'ethereum' }, source: { kind: 'devnet', layer: 'ethereum' }, start: 0 },
        { names: { name: 'scroll_mainnet' }, source: { kind: 'devnet', layer: 'second' }, start: 0 },
      ],
    })
  })

  it('takes an empty variable for an unset one', () => {
    expect(readConfig({ PORT: '', KAFKA_BROKERS: '  ', BEACON_URL: '' })).toEqual(readConfig({}))
  })

  it('reads nodes with their fallbacks', () => {
    const { chains, devnet } = readConfig({
      EPOCHLINE_NETWORK: 'hoodi',
      BEACON_URL: 'http://a:5052',
      BEACON_FALLBACK_URLS: 'http://b:5052, http://c:5052',
      EXECUTION_URL: 'http://a:8545',
      START_EPOCH: '7',
    })
    expect(devnet).toBeUndefined()
    expect(chains).toEqual([
      {
        names: { name: 'hoodi', protocol: 'ethereum', network: 'hoodi', nftName: 'eth_hoodi' },
        source: {
          kind: 'beacon',
          beaconUrls: ['http://a:5052', 'http://b:5052', 'http://c:5052'],
          executionUrls: ['http://a:8545'],
        },
        start: 7,
        paused: false,
      },
    ])
  })

  it('withholds figures that are not proven, unless they are to be served', () => {
    expect(readConfig({}).unproven).toBe('withhold')
    expect(readConfig({ EPOCHLINE_UNPROVEN: 'serve' }).unproven).toBe('serve')
    expect(() => readConfig({ EPOCHLINE_UNPROVEN: 'yes' })).toThrow(/^EPOCHLINE_UNPROVEN is not withhold or serve/)
  })

  it('reads servers mode from its three addresses', () => {
    expect(readConfig(SERVERS).mode).toMatchObject({
      kind: 'servers',
      kafkaBrokers: ['127.0.0.1:9092'],
      kafkaPartitions: 12,
      clickhouse: { database: 'epochline', user: 'default' },
    })
  })

  it.each([
    [{ PORT: 'http' }, 'PORT'],
    [{ PORT: '70000' }, 'PORT'],
    [{ EPOCHLINE_NETWORK: 'Main Net' }, 'EPOCHLINE_NETWORK'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL'],
    [{ INGEST_CONCURRENCY: '0' }, 'INGEST_CONCURRENCY'],
    [{ START_EPOCH: '-1' }, 'START_EPOCH'],
    [{ BEACON_URL: 'http://a:5052' }, 'EXECUTION_URL'],
    [{ EXECUTION_URL: 'http://a:5052' }, 'BEACON_URL'],
    [{ BEACON_FALLBACK_URLS: 'http://a:5052' }, 'BEACON_FALLBACK_URLS'],
    [{ BEACON_URL: 'ftp://a', EXECUTION_URL: 'http://a:8545' }, 'BEACON_URL'],
    [{ BEACON_URL: ',', EXECUTION_URL: 'http://a:8545' }, 'BEACON_URL'],
    [{ DEVNET_SECOND_PORT: 'x' }, 'DEVNET_SECOND_PORT'],
    [{ EPOCHLINE_CONFIG: '/nowhere/epochline.yaml' }, 'EPOCHLINE_CONFIG'],
    [{ ...SERVERS, KAFKA_PARTITIONS: '0' }, 'KAFKA_PARTITIONS'],
    [{ ...SERVERS, KAFKA_BROKERS: ' , ' }, 'KAFKA_BROKERS'],
    [{ ...SERVERS, KAFKA_BROKERS: 'http://127.0.0.1:9092' }, 'KAFKA_BROKERS'],
    [{ ...SERVERS, CLICKHOUSE_URL: 'localhost' }, 'CLICKHOUSE_URL'],
    [{ ...SERVERS, REDIS_URL: undefined }, 'REDIS_URL'],
    [{ ...SERVERS, CLICKHOUSE_DATABASE: 'a-b' }, 'CLICKHOUSE_DATABASE'],
    [{ ...SERVERS, KAFKA_BROKERS: '127.0.0.1:65536' }, 'KAFKA_BROKERS'],
    [{ KAFKA_TOPIC_PREFIX: 'epochline.' }, 'KAFKA_TOPIC_PREFIX'],
    [{ KAFKA_PARTITIONS: '12' }, 'KAFKA_PARTITIONS'],
    [{ KAFKA_REPLICATION_FACTOR: '1' }, 'KAFKA_REPLICATION_FACTOR'],
    [{ CLICKHOUSE_USER: 'default' }, 'CLICKHOUSE_USER'],
    [{ CLICKHOUSE_PASSWORD: 'hunter2' }, 'CLICKHOUSE_PASSWORD'],
    [{ CLICKHOUSE_DATABASE: 'epochline' }, 'CLICKHOUSE_DATABASE'],
    [{ CORS_ORIGINS: 'https://*.example.org' }, 'CORS_ORIGINS'],
    [{ CORS_ORIGINS: 'https://a.example:65536' }, 'CORS_ORIGINS'],
    [{ CORS_ORIGINS: 'https://a.example?b' }, 'CORS_ORIGINS'],
    [{ CORS_ORIGINS: 'https://A.example' }, 'CORS_ORIGINS'],
    [{ WEBHOOK_ALLOWED_SERVER: '127.0.0.1:65536' }, 'WEBHOOK_ALLOWED_SERVER'],
    [{ METADATA_ALLOWED_SERVER: '127.0.0.1:0' }, 'METADATA_ALLOWED_SERVER'],
    [{ START_EPOCH: '7' }, 'START_EPOCH'],
    [{ PORT: '8545' }, 'DEVNET_EXECUTION_PORT'],
    [{ DEVNET_SECOND_PORT: '8547' }, 'DEVNET_METADATA_PORT'],
  ])('%j stops the start with one sentence that names %s and an example', (env, name) => {
    let message = ''
    try {
      readConfig(env)
    } catch (error) {
      expect(error).toMatchObject({ code: 'config' })
      message = (error as Error).message
    }
    expect(message.startsWith(`${name} is `)).toBe(true)
    expect(message).toMatch(/e\.g\. [A-Z_]+=\S+\.$/)
    expect(message).not.toContain('\n')
  })

  it('takes origins as browsers send them, ports up to the last, and any free port more than once', () => {
    const origins = ['https://a-b.example', 'http://127.0.0.1:65535', 'http://[::1]:3000', '*']
    expect(readConfig({ CORS_ORIGINS: origins.join() }).corsOrigins).toEqual(origins)
    expect(readConfig({ WEBHOOK_ALLOWED_SERVER: 'a:65535' }).webhooks.allowedServer).toBe('a:65535')
    expect(readConfig({ PORT: '0', DEVNET_BEACON_PORT: '0', DEVNET_SECOND_PORT: '0' }).port).toBe(0)
    // Nobody listens there but the program: the devnet does not run.
    const nodes = { BEACON_URL: 'http://a:5052', EXECUTION_URL: 'http://a:8545' }
    expect(readConfig({ ...nodes, PORT: '8545' }).port).toBe(8545)
  })

  it('tells every mistake, one a line', () => {
    const env = { PORT: 'http', LOG_LEVEL: 'loud', BEACON_URL: 'http://a:5052' }
    expect(() => readConfig(env)).toThrow(/^LOG_LEVEL is .*\nPORT is .*\nEXECUTION_URL is [^\n]*$/)
  })

  it('never repeats the value of an address, which may hold a key', () => {
    expect(() => readConfig({ BEACON_URL: 'ftp://user:hunter2@a', EXECUTION_URL: 'http://a' })).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('hunter2') }),
    )
  })
})
