import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { checkConfig, showConfig } from '../../commands/config.ts'
import { loadConfig, readConfig } from '../../infra/config/config.ts'
import type { Environment } from '../../infra/config/environment.ts'
import { nearestName } from '../../infra/config/mistakes.ts'
import { ConfigFile } from '../../infra/config/rules.ts'
import { chainByName, chainByPath, chainKind, selectChain } from '../../infra/config/select-chain.ts'

const EXAMPLE = join(import.meta.dirname, '../../docs/epochline.example.yaml')
const EXAMPLE_ENVIRONMENT = {
  EPOCHLINE_CONFIG: EXAMPLE,
  WAREHOUSE_PASSWORD: 'hunter2',
  MAIL_PASSWORD: 'hunter2',
  BEACON_FALLBACK: 'https://user:hunter2@beacon.example/key-hunter2',
  VALIDATOR_CLIENT_TOKEN: 'api-token-hunter2',
  ETHEREUM_PROVIDER: 'https://eth.example/v3/hunter2',
  ETHEREUM_PROVIDER_KEY: 'Bearer hunter2',
  SCROLL_URL: 'https://scroll.example/v2/hunter2?key=hunter2',
}
const NODES = 'execution: { urls: ["http://127.0.0.1:8545"] }'
const BEACON = 'beacon: { urls: ["http://127.0.0.1:5052"] }'
const clientOf = (client: string) => `chains: { mainnet: { ${BEACON}, ${NODES}, validator_client: { ${client} } } }`
const stakingOf = (staking: string) => `chains: { mainnet: { ${BEACON}, ${NODES}, staking: { ${staking} } } }`

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'epochline-config-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

/** The environment that reads this file. */
function fileOf(text: string, env: Environment = {}): Environment {
  const file = join(directory, 'epochline.yaml')
  writeFileSync(file, text)
  return { ...env, EPOCHLINE_CONFIG: file }
}

/** The lines of the refusal, without the name of the file. */
function mistakesOf(text: string, env: Environment = {}): readonly string[] {
  try {
    readConfig(fileOf(text, env))
  } catch (error) {
    expect(error).toMatchObject({ code: 'config' })
    return (error as Error).message.replaceAll(`${join(directory, 'epochline.yaml')}:`, '').split('\n')
  }
  return []
}

describe('the example file', () => {
  it('is read, with its references looked up', () => {
    const config = readConfig(EXAMPLE_ENVIRONMENT)
    expect(config).toMatchObject({
      mode: { kind: 'servers', kafkaPartitions: 12, clickhouse: { password: 'hunter2' } },
      devnet: undefined,
      file: { path: EXAMPLE, isThere: true },
    })
    expect(config.chains).toEqual([
      {
        names: { name: 'mainnet', protocol: 'ethereum', network: 'mainnet', nftName: 'eth_mainnet' },
        source: {
          kind: 'beacon',
          beaconUrls: ['http://127.0.0.1:5052', EXAMPLE_ENVIRONMENT.BEACON_FALLBACK],
          executionUrls: ['http://127.0.0.1:8545'],
        },
        start: 400_000,
        relayUrls: ['https://relay.example'],
        stakingContract: { kind: 'kiln', address: '0x576834cb068e677db4aff6ca245c7bde16c3867e', feeWei: 0n },
        exitContract: '0x00000000000000000000000000000000000e417a',
        validatorClient: { url: 'http://127.0.0.1:5062', token: EXAMPLE_ENVIRONMENT.VALIDATOR_CLIENT_TOKEN },
        paused: false,
      },
      {
        names: { name: 'hoodi', protocol: 'ethereum', network: 'hoodi', nftName: 'eth_hoodi' },
        source: {
          kind: 'beacon',
          beaconUrls: ['http://127.0.0.1:15052'],
          executionUrls: ['http://127.0.0.1:18545'],
        },
        rewardsBy: 'endpoints',
        paused: true,
      },
      {
        names: { name: 'scroll_mainnet', protocol: 'scroll', network: 'mainnet', nftName: 'scroll_mainnet' },
        source: { kind: 'execution', executionUrls: [EXAMPLE_ENVIRONMENT.SCROLL_URL], finalityDepth: 64 },
        start: 9_000_000,
        blocks: { check: 'bloom', logsOnly: true },
        paused: false,
      },
    ])
  })

  it('shows every setting that there is', async () => {
    const { readFile } = await import('node:fs/promises')
    const example: unknown = parse(await readFile(EXAMPLE, 'utf8'))
    expect(settingsIn(ConfigFile).filter((path) => !isIn(example, path.split('.')))).toEqual([])
  })
})

/** Paths of all settings of a rule; `*` is any name. */
function settingsIn(schema: object, path: readonly string[] = []): readonly string[] {
  const inner: Record<string, object> =
    'properties' in schema
      ? (schema.properties as Record<string, object>)
      : 'patternProperties' in schema
        ? { '*': Object.values(schema.patternProperties as Record<string, object>)[0] ?? {} }
        : {}
  const names = Object.entries(inner)
  return names.length === 0 ? [path.join('.')] : names.flatMap(([name, rule]) => settingsIn(rule, [...path, name]))
}

function isIn(value: unknown, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return true
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, inner]) => (name === '*' || key === name) && isIn(inner, rest))
}

describe('the configuration file', () => {
  it('is the environment with other words', () => {
    const inFile = readConfig(
      fileOf(`
        data: /d
        log_level: warn
        http: { host: 0.0.0.0, port: 9000 }
        ingest: { concurrency: 3 }
        validators: { expiry_epochs: 7, unfunded_max: 8 }
        devnet: { beacon_port: 1, execution_port: 2, second_port: 3, metadata_port: 5, validator_port: 4, seed: s, slot_seconds: 12 }`),
    )
    const inVariables = readConfig({
      EPOCHLINE_CONFIG: '/dev/null',
      EPOCHLINE_DATA: '/d',
      LOG_LEVEL: 'warn',
      HOST: '0.0.0.0',
      PORT: '9000',
      INGEST_CONCURRENCY: '3',
      VALIDATORS_EXPIRY_EPOCHS: '7',
      VALIDATORS_UNFUNDED_MAX: '8',
      DEVNET_BEACON_PORT: '1',
      DEVNET_EXECUTION_PORT: '2',
      DEVNET_SECOND_PORT: '3',
      DEVNET_METADATA_PORT: '5',
      DEVNET_VALIDATOR_PORT: '4',
      DEVNET_SEED: 's',
      DEVNET_SLOT_SECONDS: '12',
    })
    expect({ ...inFile, file: undefined }).toEqual({ ...inVariables, file: undefined })
  })

  it('gives way to each variable by itself', () => {
    const text = 'http: { host: 0.0.0.0, port: 9000 }\nservers: { redis: { url: "redis://a:6379" } }'
    const servers = { KAFKA_BROKERS: 'k:9092', CLICKHOUSE_URL: 'http://c:8123' }
    expect(readConfig(fileOf(text, { PORT: '9001', ...servers }))).toMatchObject({
      host: '0.0.0.0',
      port: 9001,
      mode: { kind: 'servers', redisUrl: 'redis://a:6379', kafkaBrokers: ['k:9092'] },
    })
  })

  it.each(['', '# nothing', 'chains:\nservers:\ndevnet:\n'])(
    'that says nothing (%j) is the devnet on files',
    (text) => {
      expect({ ...readConfig(fileOf(text)), file: undefined }).toEqual({
        ...readConfig({ EPOCHLINE_CONFIG: '/dev/null' }),
        file: undefined,
      })
    },
  )

  it('can have a devnet without the second chain', () => {
    const { chains, devnet } = readConfig(fileOf('devnet: { second: false }'))
    expect(devnet?.secondPort).toBeUndefined()
    expect(chains.map(({ names }) => names.name)).toEqual(['mainnet'])
  })

  it('has references to files, whose last line end does not count', () => {
    const secret = join(directory, 'secret')
    writeFileSync(secret, 'http://node:8545/key\n')
    const { chains } = readConfig(fileOf(`chains: { scroll_mainnet: { execution: { urls: ["file:${secret}"] } } }`))
    expect(chains[0]?.source).toEqual({ kind: 'execution', executionUrls: ['http://node:8545/key'] })
  })
})

describe('BEACON_URL and EXECUTION_URL beside a file', () => {
  const env = { BEACON_URL: 'http://short:1', EXECUTION_URL: 'http://short:2' }
  const source = { kind: 'beacon', beaconUrls: ['http://short:1'], executionUrls: ['http://short:2'] }
  const file = `chains:
    scroll_mainnet: { ${NODES} }
    mainnet: { beacon: { urls: [env:UNSET] }, ${NODES}, start: { epoch: 5 } }`

  it('replace the nodes of the chain, whose other settings and whose neighbours stay', () => {
    const { chains } = readConfig(fileOf(file, env))
    expect(chains.map(({ names }) => names.name)).toEqual(['scroll_mainnet', 'mainnet'])
    expect(chains[1]).toMatchObject({ source, start: 5 })
  })

  it('add a chain that the file does not have, as the first', () => {
    const { chains } = readConfig(fileOf(`chains: { scroll_mainnet: { ${NODES} } }`, { ...env, START_EPOCH: '9' }))
    expect(chains.map(({ names }) => names.name)).toEqual(['mainnet', 'scroll_mainnet'])
    expect(chains[0]).toMatchObject({ source, start: 9, paused: false })
  })

  it('are asked for both, and START_EPOCH for a chain that is there', () => {
    expect(mistakesOf(`chains: { scroll_mainnet: { ${NODES} } }`, { EXECUTION_URL: 'http://short:2' })).toEqual([
      expect.stringMatching(/^BEACON_URL is not set/),
    ])
    expect(mistakesOf(`chains: { hoodi: { beacon: { urls: [http://a] }, ${NODES} } }`, { START_EPOCH: '1' })).toEqual([
      expect.stringMatching(/^START_EPOCH is set for the chain ethereum\/mainnet.*EPOCHLINE_NETWORK=hoodi\.$/),
    ])
  })
})

describe('mistakes of the file', () => {
  it('are told all at once, by line and path', () => {
    const text = `http: { port: x, hots: a }
log_level: loud
chains:
  mainnet:
    beacon: { urls: [env:UNSET, 5, "file:/nowhere/x", ftp://x] }
    finality: { depth: 3 }
    start: { block: 4 }
  scroll_mainnet:
    execution: { urls: [] }
    start: {}
  ethereum_hoodi: { ${NODES} }
`
    expect(mistakesOf(text, { PORT: '-3' })).toEqual([
      '1: http.hots: is not a setting; did you mean host?',
      '1: http.port: is not a whole number from 0 to 65535; e.g. 8080',
      '2: log_level: is not one of trace, debug, info, warn, error, silent; e.g. info',
      '4: chains.mainnet.execution.urls: is missing; e.g. urls: [http://127.0.0.1:8545]',
      expect.stringMatching(/^5: chains\.mainnet\.beacon\.urls\[1\]: is not a URL or a reference/),
      '5: chains.mainnet.beacon.urls[0]: refers to the variable UNSET, which is not set',
      '5: chains.mainnet.beacon.urls[2]: refers to a file that cannot be read (ENOENT)',
      expect.stringMatching(/^5: chains\.mainnet\.beacon\.urls\[3\]: is not a URL that starts with http/),
      expect.stringMatching(/^6: chains\.mainnet\.finality: is for chains without a beacon chain/),
      '7: chains.mainnet.start.block: is not where this chain starts: it has a beacon chain, write epoch',
      '9: chains.scroll_mainnet.execution.urls: is not a list of 1 to 8 URLs; e.g. [http://127.0.0.1:8545]',
      '10: chains.scroll_mainnet.start: is empty; e.g. start: { block: 0 }',
      expect.stringMatching(/^11: chains\.ethereum_hoodi: is not the name of a chain/),
      expect.stringMatching(/^PORT is not a whole number/),
    ])
  })

  it('tell what blocks cannot be checked by', () => {
    const blocks = (text: string, beacon = '') => `chains: { mainnet: { ${beacon} ${NODES}, blocks: { ${text} } } }`
    expect(mistakesOf(blocks('check: root'))).toEqual([
      '1: chains.mainnet.blocks.check: is not one of receipts, bloom, none; e.g. bloom',
    ])
    expect(mistakesOf(blocks('logs_only: true'))).toEqual([
      '1: chains.mainnet.blocks.logs_only: needs check: bloom or check: none, because logs alone have no receipts root',
    ])
    expect(mistakesOf(blocks('check: none, logs_only: true', `${BEACON},`))).toEqual([
      expect.stringMatching(/logs_only: is for chains without a beacon chain/),
    ])
    const config = readConfig(fileOf(blocks('check: bloom', `${BEACON},`)))
    expect(config.chains[0]).toMatchObject({ blocks: { check: 'bloom', logsOnly: false } })
  })

  it('are told beyond the number of errors that typebox stops at', () => {
    const keys = Array.from({ length: 30 }, (_, index) => `unknown${index}: 1`)
    expect(mistakesOf(keys.join('\n'))).toHaveLength(30)
  })

  it.each([
    [
      'two chains of one NFT name',
      `chains: { mainnet: { ${NODES} }, eth_mainnet: { ${NODES} } }`,
      /eth_mainnet in the NFT API/,
    ],
    ['a chain without settings', 'chains: { mainnet: }', /^1: chains\.mainnet: is not a section/],
    ['a name with two underscores', `chains: { a_b_c: { ${NODES} } }`, /^1: chains\.a_b_c: is not the name of a chain/],
    [
      'a staking contract of a chain without validators',
      `chains: { scroll_mainnet: { ${NODES}, staking: { contract: "0x${'ad'.repeat(20)}" } } }`,
      /^1: chains\.scroll_mainnet\.staking: is for chains with validators/,
    ],
    [
      'an exit contract of a chain without validators',
      `chains: { scroll_mainnet: { ${NODES}, exit_contract: "0x${'ad'.repeat(20)}" } }`,
      /^1: chains\.scroll_mainnet\.exit_contract: is for chains with validators/,
    ],
    [
      'an exit contract with a wrong checksum',
      `chains: { mainnet: { ${BEACON}, ${NODES}, exit_contract: "0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266" } }`,
      /^1: chains\.mainnet\.exit_contract: does not have the checksum/,
    ],
    [
      'a validator client of a chain without validators',
      `chains: { scroll_mainnet: { ${NODES}, validator_client: { url: http://vc:1 } } }`,
      /^1: chains\.scroll_mainnet\.validator_client: is for chains with validators/,
    ],
    [
      'a validator client without a token',
      clientOf('url: http://vc:1'),
      /^1: chains\.mainnet\.validator_client\.token: is missing/,
    ],
    [
      'a token that is written out',
      clientOf('url: http://vc:1, token: api-token-0x12'),
      /^1: chains\.mainnet\.validator_client\.token: is a secret: write a reference/,
    ],
    [
      'a token that no header can hold',
      clientOf(`url: http://vc:1, token: file:${import.meta.filename}`),
      /^1: chains\.mainnet\.validator_client\.token: refers to something that is not a token/,
    ],
    [
      'a staking contract without an address',
      stakingOf('kind: kiln'),
      /^1: chains\.mainnet\.staking\.contract: is missing/,
    ],
    [
      'a staking contract with a wrong checksum',
      stakingOf('contract: "0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266"'),
      /^1: chains\.mainnet\.staking\.contract: does not have the checksum/,
    ],
    [
      'a fee of a contract that takes none',
      stakingOf(`contract: "0x${'ad'.repeat(20)}", kind: kiln, fee_wei: "1"`),
      /^1: chains\.mainnet\.staking\.fee_wei: is for contracts of kind stakefish/,
    ],
    [
      'a kind that is none',
      stakingOf(`contract: "0x${'ad'.repeat(20)}", kind: abbys`),
      /staking\.kind: is not one of abyss, kiln/,
    ],
    [
      'servers that are not all named',
      'servers: { redis: { url: "redis://a" } }',
      /^1: servers\.kafka\.brokers: is missing, here and as KAFKA/,
    ],
    ['a key that is no text', 'chains: { [a]: 1 }', /non string key$/],
    ['a key twice', 'data: a\ndata: b', /^2: is not YAML as it is read here: duplicate key$/],
    ['an alias of nothing', 'data: *x', /^1: has an alias/],
    ['a list', '- data', /^1: is not a section with data, log_level/],
    ['a key that every object has', 'toString: 1', /^1: toString: is not a setting/],
    [
      'a reference in small letters',
      'chains: { hoodi: { execution: { urls: [env:abc] } } }',
      /urls\[0\]: is not a reference: write env:NAME/,
    ],
    [
      'a reference to a folder',
      'chains: { hoodi: { execution: { urls: ["file:/"] } } }',
      /urls\[0\]: refers to something that is not a file/,
    ],
  ])('such as %s are refused', (_, text, sentence) => {
    const mistakes = mistakesOf(text)
    expect(mistakes).toContainEqual(expect.stringMatching(sentence))
  })

  it.each([
    ['a user', 'http://hunter2:hunter2@node:8545'],
    ['a path', 'http://node:8545/v2/hunter2'],
    ['a query', 'http://node:8545/?key=hunter2'],
    ['another scheme', 'hunter2://node'],
  ])('are URLs with %s that are written out, and their secret is not repeated', (_, url) => {
    const [mistake, ...others] = mistakesOf(`chains: { scroll_mainnet: { execution: { urls: ["${url}"] } } }`)
    expect(others).toEqual([])
    expect(mistake).toMatch(/^1: chains\.scroll_mainnet\.execution\.urls\[0\]: .*reference/)
    expect(mistake).not.toContain('hunter2')
  })

  it.each([
    ['a password that is written out', 'servers: { clickhouse: { password: hunter2 } }'],
    ['an address that became a key', 'chains: { mainnet: { beacon: { "http://hunter2@node:1" } } }'],
    ['text that is not YAML', 'chains: [ "hunter2\n: hunter2 *hunter2'],
    ['a reference whose value is no URL', 'chains: { mainnet: { execution: { urls: [env:SECRET] } } }'],
    ['a key that is no text', 'chains: { [hunter2]: 1 }'],
  ])('do not repeat a secret: %s', (_, text) => {
    const mistakes = mistakesOf(text, { SECRET: 'hunter2' })
    expect(mistakes).not.toEqual([])
    expect(mistakes.join('\n')).not.toContain('hunter2')
  })

  it('suggest the name that was meant', () => {
    const names = ['log_level', 'http', 'servers', 'chains']
    expect(nearestName('logLevel', names)).toBe('log_level')
    expect(nearestName('chain', names)).toBe('chains')
    expect(nearestName('xyz', names)).toBeUndefined()
  })
})

describe('what `config` prints', () => {
  it('is where each value comes from, without a secret', () => {
    const text = showConfig({
      env: {
        ...EXAMPLE_ENVIRONMENT,
        PORT: '8081',
        CLICKHOUSE_URL: 'http://hunter2:hunter2@127.0.0.1:8123/hunter2?a=hunter2',
      },
    })
    expect(text).not.toContain('hunter2')
    expect(text).toContain('port: 8081 # PORT')
    expect(text).toContain('data: ./data # file')
    expect(text).toContain('url: http://***@127.0.0.1:8123/*** # CLICKHOUSE_URL')
    expect(text).toContain('- "***" # file, env:SCROLL_URL')
    expect(parse(text)).toMatchObject({ chains: { mainnet: { start: { epoch: 400_000 } }, hoodi: { paused: true } } })
  })

  it('is the same configuration again', () => {
    const env = {
      EPOCHLINE_CONFIG: '/dev/null',
      BEACON_URL: 'http://a:1',
      EXECUTION_URL: 'http://a:2',
      START_EPOCH: '3',
    }
    const again = readConfig(fileOf(showConfig({ env })))
    expect({ ...again, file: undefined }).toEqual({ ...loadConfig({ env }).config, file: undefined })
  })

  it('tells the devnet of a check', () => {
    expect(checkConfig({ env: { EPOCHLINE_CONFIG: '/dev/null' } })).toBe(
      'The configuration is right.\nfile: /dev/null\nmode: embedded\n' +
        'chains of the devnet: mainnet (ethereum/mainnet, beacon); scroll_mainnet (scroll/mainnet, execution)\n',
    )
  })
})

describe('what seals the vault', () => {
  const DEFAULT = { directory: 'data/vault', keySource: { kind: 'file', file: 'data/vault.key', mayCreate: true } }

  it('is a file beside it, which is made, unless another source is named', () => {
    expect(readConfig({ EPOCHLINE_CONFIG: '/dev/null' }).vault).toEqual(DEFAULT)
    const named = (key: string) => readConfig({ EPOCHLINE_CONFIG: '/dev/null', VAULT_KEY: key }).vault.keySource
    expect(named('file:/run/key')).toEqual({ kind: 'file', file: '/run/key', mayCreate: false })
    expect(named('env:SEALING_KEY')).toEqual({ kind: 'environment', variable: 'SEALING_KEY' })
    expect(named('command:pass show vault')).toEqual({ kind: 'command', command: 'pass show vault' })
    expect(readConfig(fileOf('vault: { key: env:SEALING_KEY }')).vault.keySource).toEqual(named('env:SEALING_KEY'))
  })

  it('is told where it is named and empty, which is no name for the file beside the vault', () => {
    for (const VAULT_KEY of ['', ' '])
      expect(() => readConfig({ EPOCHLINE_CONFIG: '/dev/null', VAULT_KEY })).toThrow(
        /^VAULT_KEY is empty: leave it out/,
      )
  })

  it.each([
    ['VAULT_KEY', 'vault-key'],
    ['ACCOUNTS_KEY', 'accounts-key'],
    ['STATEMENT_KEY', 'statement-key'],
    ['WEBHOOK_KEY', 'webhook-key'],
  ])('is refused with an example of its own where %s is none', (variable, example) => {
    const refused = () => readConfig({ EPOCHLINE_CONFIG: '/dev/null', [variable]: 'hunter2' })
    expect(refused).toThrow(
      new RegExp(`^${variable} is not env:NAME.*e\\.g\\. ${variable}=file:/run/secrets/${example}\\.`),
    )
    expect(refused).not.toThrow('hunter2')
  })

  it('may have a Web3Signer, whose address is shown without what may be a secret', () => {
    const urlOf = (text: string, env = {}) => readConfig({ ...fileOf(text), ...env }).vault.web3signerUrl
    expect(urlOf('vault: { web3signer: "http://127.0.0.1:9000" }')).toBe('http://127.0.0.1:9000')
    const SIGNER = 'https://signer.example/hunter2'
    expect(urlOf('vault: { web3signer: env:SIGNER }', { SIGNER })).toBe(SIGNER)
    expect(showConfig({ env: { ...fileOf('vault: { web3signer: env:SIGNER }'), SIGNER } })).not.toContain('hunter2')
    const [mistake] = mistakesOf(`vault: { web3signer: "${SIGNER}" }`)
    expect(mistake).toMatch(/vault\.web3signer: has more than scheme, host and port/)
    expect(mistake).not.toContain('hunter2')
  })

  it('is not repeated where it is the key itself, nor is a command', () => {
    const key = 'ab'.repeat(32)
    expect(() => readConfig({ EPOCHLINE_CONFIG: '/dev/null', VAULT_KEY: key })).toThrow(/^VAULT_KEY is not env:NAME/)
    expect(() => readConfig({ EPOCHLINE_CONFIG: '/dev/null', VAULT_KEY: key })).not.toThrow(new RegExp(key))
    expect(() => readConfig({ EPOCHLINE_CONFIG: '/dev/null', VAULT_KEY: `file:${key}` })).toThrow(/is not env:NAME/)
    const [mistake] = mistakesOf(`vault: { key: ${key} }`)
    expect(mistake).toMatch(/vault\.key: is not env:NAME/)
    expect(mistake).not.toContain(key)
    expect(showConfig({ env: { EPOCHLINE_CONFIG: '/dev/null', VAULT_KEY: 'command:echo hunter2' } })).not.toContain(
      'hunter2',
    )
  })
})

describe('a chain of the configuration', () => {
  const config = readConfig(EXAMPLE_ENVIRONMENT)

  it('is found by its path and by its name', () => {
    expect(chainByPath(config, 'scroll', 'mainnet')).toBe(chainByName(config, 'scroll_mainnet'))
    expect(chainByPath(config, 'scroll', 'hoodi')).toBeUndefined()
    expect(chainByName(config, 'scroll')).toBeUndefined()
  })

  it('is the only one of its kind, or named', () => {
    const only = selectChain(config, undefined, 'execution')
    expect([only.names.name, chainKind(only)]).toEqual(['scroll_mainnet', 'execution'])
    expect(selectChain(config, 'hoodi', 'beacon').names.name).toBe('hoodi')
    const choices = { code: 'usage', message: expect.stringContaining('mainnet, hoodi') }
    expect(() => selectChain(config, undefined, 'beacon')).toThrow(expect.objectContaining(choices))
    expect(() => selectChain(config, 'scroll_mainnet', 'beacon')).toThrow(expect.objectContaining(choices))
    expect(() => selectChain({ chains: [] }, undefined)).toThrow('No chain is configured')
  })
})
