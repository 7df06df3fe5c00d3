import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../infra/config/config.ts'
import { layerVariables } from '../../infra/config/layers.ts'

const directory = mkdtempSync(join(tmpdir(), 'layers-'))
const envFile = join(directory, '.env')
const configFile = join(directory, 'epochline.yaml')
writeFileSync(envFile, 'PORT=2000\nHOST="127.0.0.2"\nLOG_LEVEL=\nNODE_URL=http://node:1\n')
writeFileSync(
  configFile,
  'http: { port: 1000, host: 127.0.0.3 }\nlog_level: warn\nchains: { gnosis: { beacon: { urls: [env:NODE_URL] }, execution: { urls: [env:NODE_URL] } } }\n',
)
afterAll(() => rmSync(directory, { recursive: true }))

const EPOCHLINE_CONFIG = configFile

describe('settings', () => {
  it.each([
    { from: 'an option', env: { PORT: '3000' }, flags: { port: '4000' }, port: 4000, origin: '--port' },
    { from: 'the environment', env: { PORT: '3000' }, flags: {}, port: 3000, origin: 'PORT' },
    { from: '.env', env: { PORT: ' ' }, flags: {}, port: 2000, origin: `PORT in ${envFile}` },
  ])('are taken from $from before what is weaker', ({ env, flags, port, origin }) => {
    const { config, shown } = loadConfig({ env: { EPOCHLINE_CONFIG, ...env }, flags, envFile })
    expect(config).toMatchObject({ port, host: '127.0.0.2', logLevel: 'warn' })
    expect(shown.find(({ path }) => path.join('.') === 'http.port')?.origin).toBe(origin)
  })

  it('of the file are taken where nothing is stronger, and its references are looked up in .env, too', () => {
    expect(loadConfig({ env: { EPOCHLINE_CONFIG, NODE_URL: 'http://node:2' } }).config.port).toBe(1000)
    expect(loadConfig({ env: { EPOCHLINE_CONFIG }, envFile }).config.chains[0]?.source).toMatchObject({
      beaconUrls: ['http://node:1'],
    })
  })

  it('may name the configuration file and the data folder by options', () => {
    const flags = { config: configFile, data: './elsewhere' }
    const { config } = loadConfig({ env: { EPOCHLINE_CONFIG: '/nowhere', EPOCHLINE_DATA: './here' }, flags, envFile })
    expect(config).toMatchObject({ dataDirectory: './elsewhere', file: { path: configFile } })
  })

  it('that are mistaken are named as they were given', () => {
    const load = (flags: { port?: string; config?: string }) => () => loadConfig({ env: {}, flags })
    expect(load({ port: 'http' })).toThrow(/^--port is not .*; e\.g\. --port 8080\.$/)
    expect(load({ config: '/nowhere' })).toThrow(/^--config is not a file/)
    writeFileSync(join(directory, 'bad.env'), 'PORT=http\n')
    expect(() => loadConfig({ env: {}, envFile: join(directory, 'bad.env') })).toThrow(/^PORT in \S+bad\.env is not /)
    expect(() => loadConfig({ env: {}, envFile: directory })).toThrow(/cannot be read \(EISDIR\)/)
  })
})

it('tells variables that look like settings and are none', () => {
  const env = { EPOCHLINE_DATE: 'x', EPOCHLINE_CONFIG_FILE: 'x', EPOCHLINE_SERVICE_HOST: 'x', EPOCHLINE_TEST_X: 'x' }
  expect(loadConfig({ env }).notes).toEqual([
    'EPOCHLINE_DATE is set and is not a setting: did you mean EPOCHLINE_DATA?',
    expect.stringMatching(/^EPOCHLINE_CONFIG_FILE is set and is not a setting: /),
    expect.stringMatching(
      /^EPOCHLINE_SERVICE_HOST .* there are EPOCHLINE_CONFIG, EPOCHLINE_DATA, EPOCHLINE_NETWORK, EPOCHLINE_UNPROVEN$/,
    ),
  ])
  expect(loadConfig({ env: { EPOCHLINE_DATA: 'x' } }).notes).toEqual([])
  const slips = { BEACON_URLS: 'x', START_EPOC: '1', LOGLEVEL: 'debug', KAFKA_BROKER: 'x', CLICKHOUSE_PASWORD: 'x' }
  expect(loadConfig({ env: { ...slips, PROTO: 'x', LANGUAGE: 'en', LOG_LEVEL: 'info' } }).notes).toEqual([
    'BEACON_URLS is set and is not a setting: did you mean BEACON_URL?',
    'START_EPOC is set and is not a setting: did you mean START_EPOCH?',
    'LOGLEVEL is set and is not a setting: did you mean LOG_LEVEL?',
    'KAFKA_BROKER is set and is not a setting: did you mean KAFKA_BROKERS?',
    'CLICKHOUSE_PASWORD is set and is not a setting: did you mean CLICKHOUSE_PASSWORD?',
  ])
})

it('knows every variable that the configuration is read from', () => {
  const folder = join(import.meta.dirname, '../../infra/config')
  const named = readdirSync(folder).flatMap((file) =>
    [...readFileSync(join(folder, file), 'utf8').matchAll(/'([A-Z]+(?:_[A-Z]+)+)'/g)].map(([, name = '']) => name),
  )
  const env = Object.fromEntries(named.map((name) => [`${name}${name.startsWith('EPOCHLINE_') ? '' : 'X'}`, 'x']))
  const unprefixed = [...new Set(named)].filter((name) => !name.startsWith('EPOCHLINE_'))
  const told = layerVariables({ env }).notes.map((note) => /did you mean (\w+)\?$/.exec(note)?.[1])
  expect(unprefixed.filter((name) => !told.includes(name))).toEqual([])
})
