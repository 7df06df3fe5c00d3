import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readConfig } from '../../infra/config/config.ts'
import { type ConfigDiff, isEmptyDiff } from '../../infra/config/diff-config.ts'
import { gatewayName } from '../../infra/config/gateway.ts'
import type { Config } from '../../infra/config/types.ts'
import { FIXED_SETTINGS, watchConfig } from '../../infra/config/watch.ts'
import type { Log } from '../../infra/ports/log.ts'

const POLL_MS = 5
/** Far above the test's limit: only the signal can be the reason. */
const NEVER_MS = 3_600_000

/** A file with one setting more, by how it is told that the setting needs a restart. */
const RESTARTS: Readonly<Record<string, string>> = {
  'http.host': 'http: { host: 127.0.0.2 }',
  'http.port': 'http: { port: 2 }',
  'http.cors_origins': 'http: { cors_origins: ["https://dashboard.example"] }',
  'http.trusted_proxies': 'http: { trusted_proxies: [10.0.0.0/8] }',
  data: 'data: ./elsewhere',
  log_level: 'log_level: warn',
  servers:
    'servers: { kafka: { brokers: ["127.0.0.1:1"] }, redis: { url: "redis://127.0.0.1:1" }, clickhouse: { url: "http://127.0.0.1:1" } }',
  'ingest.concurrency': 'ingest: { concurrency: 1 }',
  'figures.unproven': 'figures: { unproven: serve }',
  vault: 'vault: { web3signer: "http://127.0.0.1:1" }',
  statements: 'statements: { key: "file:statements" }',
  nft: 'nft: { requests_per_second: 1 }',
  plans: 'plans: { default: { requests_per_day: 1 } }',
  webhooks: 'webhooks: { key: "file:webhooks" }',
  accounts: 'accounts: { key: "file:accounts" }',
  mail: 'mail: { folder: ./mail }',
  metadata: 'metadata: { allowed_server: "127.0.0.1:1" }',
  validators: 'validators: { unfunded_max: 1 }',
  quote: 'quote: { chain: b_one, account: demo }',
}

type Entry = { readonly fields: object; readonly message: string }

/** What happens, in order, for those who wait for it. */
class Events<Value> {
  readonly #values: Value[] = []
  #wake = (): void => {}

  add(value: Value): void {
    this.#values.push(value)
    this.#wake()
  }

  async next(): Promise<Value> {
    for (;;) {
      const value = this.#values.shift()
      if (value !== undefined) return value
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  get isEmpty(): boolean {
    return this.#values.length === 0
  }
}

const node = (port: number): string => `{ execution: { urls: ["http://127.0.0.1:${port}"] } }`
const chains = (entries: Readonly<Record<string, string>>): string =>
  `chains:\n${Object.entries(entries)
    .map(([name, chain]) => `  ${name}: ${chain}\n`)
    .join('')}`
/** Networks of the gateway, each with one upstream at a port. */
const upstreams = (ports: Readonly<Record<string, number>>): string =>
  `gateway:\n  networks:\n${Object.entries(ports)
    .map(([name, port]) => `    ${name}: { upstreams: [{ url: "http://127.0.0.1:${port}" }] }\n`)
    .join('')}`

let directory: string
let file: string
let stop: AbortController
let watching: Promise<void>
let changes: Events<{ readonly config: Config; readonly diff: ConfigDiff }>
let entries: Events<Entry>

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'epochline-watch-'))
  file = join(directory, 'epochline.yaml')
  stop = new AbortController()
  watching = Promise.resolve()
  changes = new Events()
  entries = new Events()
})

afterEach(async () => {
  stop.abort()
  await watching
  rmSync(directory, { recursive: true })
})

/** Watches the file, whose text the program started with. */
function watch(text: string, pollMs = POLL_MS, env: Readonly<Record<string, string>> = {}): void {
  writeFileSync(file, text)
  watchFrom(() => readConfig({ EPOCHLINE_CONFIG: file, ...env }), pollMs)
}

function watchFrom(read: () => Config, pollMs = POLL_MS): void {
  const told = (fields: object, message: string) => entries.add({ fields, message })
  const log: Log = { debug: () => {}, info: () => {}, warn: told, error: told }
  watching = watchConfig({
    current: read(),
    read,
    onChange: (config, diff) => changes.add({ config, diff }),
    log,
    signal: stop.signal,
    pollMs,
  })
}

/** Writes beside the file and renames, as careful editors do. */
function replace(text: string): void {
  writeFileSync(`${file}.new`, text)
  renameSync(`${file}.new`, file)
}

const namesIn = (list: readonly { readonly names: { readonly name: string } }[]) => list.map(({ names }) => names.name)

describe('watching the configuration', () => {
  it('tells chains that are added, removed, paused and moved', async () => {
    watch(chains({ a_one: node(1), b_one: node(2), c_one: node(3), d_one: node(4) }))
    replace(chains({ d_one: node(4), e_one: node(5), b_one: node(22), c_one: node(3).replace('{', '{ paused: true,') }))
    const { config, diff } = await changes.next()
    expect(namesIn(config.chains)).toEqual(['d_one', 'e_one', 'b_one', 'c_one'])
    expect(namesIn(diff.chains.added)).toEqual(['e_one'])
    expect(namesIn(diff.chains.removed)).toEqual(['a_one'])
    expect(diff.chains.changed.map(({ before, after }) => [before.paused, after.paused, after.names.name])).toEqual([
      [false, false, 'b_one'],
      [false, true, 'c_one'],
    ])
  })

  it('tells each change against the one before, whether the file was written over or replaced', async () => {
    watch(chains({ a_one: node(1) }))
    writeFileSync(file, chains({ a_one: node(1), b_one: node(2) }))
    expect(namesIn((await changes.next()).diff.chains.added)).toEqual(['b_one'])
    replace(chains({ a_one: node(1) }))
    expect(namesIn((await changes.next()).diff.chains.removed)).toEqual(['b_one'])
  })

  it('keeps what it has while the file has mistakes, and logs them', async () => {
    watch(chains({ a_one: node(1) }))
    replace(chains({ a_one: node(1), b_one: '{ executoin: {} }' }))
    expect(await entries.next()).toEqual({
      message: expect.stringMatching('has mistakes'),
      fields: {
        mistakes: [expect.stringMatching('chains.b_one.executoin'), expect.stringMatching('chains.b_one.execution')],
      },
    })
    expect(changes.isEmpty).toBe(true)
    replace(chains({ a_one: node(1), b_one: node(2) }))
    expect(namesIn((await changes.next()).diff.chains.added)).toEqual(['b_one'])
  })

  it('keeps what it has when the file is gone', async () => {
    watch(chains({ a_one: node(1) }))
    rmSync(file)
    expect((await entries.next()).fields).toMatchObject({ mistakes: [expect.stringMatching('EPOCHLINE_CONFIG')] })
    replace(chains({ b_one: node(1) }))
    expect(namesIn((await changes.next()).diff.chains.removed)).toEqual(['a_one'])
  })

  it('adds the chains of a file that appears in the working folder, and keeps them when it goes', async () => {
    const folder = process.cwd()
    process.chdir(directory)
    try {
      watchFrom(() => readConfig({ BEACON_URL: 'http://a:1', EXECUTION_URL: 'http://a:2' }))
      replace(chains({ b_one: node(1) }))
      const { config, diff } = await changes.next()
      expect([namesIn(config.chains), namesIn(diff.chains.added)]).toEqual([['mainnet', 'b_one'], ['b_one']])
      rmSync(file)
      expect((await entries.next()).message).toMatch('is gone')
      replace(chains({ c_one: node(1) }))
      expect(namesIn((await changes.next()).diff.chains.removed)).toEqual(['b_one'])
      stop.abort()
      await watching
    } finally {
      process.chdir(folder)
    }
  })

  it('tells what changes of the upstreams of the gateway, by network', async () => {
    watch(`${chains({ a_one: node(1) })}${upstreams({ 'ethereum/mainnet': 1, 'bsc/mainnet': 2, 'etc/mainnet': 3 })}`)
    replace(
      `${chains({ a_one: node(1) })}${upstreams({ 'ethereum/mainnet': 9, 'etc/mainnet': 3, 'ton/mainnet/v2': 4 })}`,
    )
    const { config, diff } = await changes.next()
    expect(config.gateway.networks.map(gatewayName)).toEqual(['ethereum/mainnet', 'etc/mainnet', 'ton/mainnet/v2'])
    expect(diff.gateway.added.map(gatewayName)).toEqual(['ton/mainnet/v2'])
    expect(diff.gateway.removed.map(gatewayName)).toEqual(['bsc/mainnet'])
    expect(
      diff.gateway.changed.map(({ before, after }) => [before, after].map(({ upstreams: [one] }) => one?.url)),
    ).toEqual([['http://127.0.0.1:1', 'http://127.0.0.1:9']])
    expect(isEmptyDiff(diff.chains)).toBe(true)
  })

  it('tells what changes of the host names of the gateway', async () => {
    const hosts = (entries: string): string => `${chains({ a_one: node(1) })}gateway: { hosts: { ${entries} } }\n`
    watch(hosts('a.example: ethereum/mainnet, b.example: bitcoin/mainnet'))
    replace(hosts('b.example: ethereum/mainnet, c.example: solana/mainnet'))
    const { config, diff } = await changes.next()
    expect(config.gateway.hosts.map(({ name, protocol }) => [name, protocol])).toEqual([
      ['b.example', 'ethereum'],
      ['c.example', 'solana'],
    ])
    const namesOf = (settings: readonly { readonly name: string }[]) => settings.map(({ name }) => name)
    expect([namesOf(diff.hosts.added), namesOf(diff.hosts.removed)]).toEqual([['c.example'], ['a.example']])
    expect(diff.hosts.changed.map(({ after }) => after.name)).toEqual(['b.example'])
    expect(isEmptyDiff(diff.gateway)).toBe(true)
  })

  it('keeps the upstreams that it has while one of them is mistaken, and repeats no secret of it', async () => {
    watch(`${chains({ a_one: node(1) })}${upstreams({ 'ethereum/mainnet': 1 })}`)
    replace(
      `${chains({ a_one: node(1), b_one: node(2) })}${upstreams({ 'ethereum/mainnet': 2 }).replace('http://', 'http://hunter2@')}`,
    )
    const entry = await entries.next()
    expect(entry.fields).toEqual({
      mistakes: [expect.stringMatching(/gateway\.networks\.ethereum\/mainnet\.upstreams\[0\]\.url: has more than/)],
    })
    expect(JSON.stringify(entry)).not.toContain('hunter2')
    expect(changes.isEmpty).toBe(true)
  })

  it('takes over upstreams though the chains wait for a restart', async () => {
    watch(chains({ a_one: node(1) }))
    replace(upstreams({ 'ethereum/mainnet': 1 }))
    expect((await entries.next()).fields).toEqual({ settings: ['devnet'] })
    const { config } = await changes.next()
    expect([namesIn(config.chains), config.gateway.networks.map(gatewayName)]).toEqual([
      ['a_one'],
      ['ethereum/mainnet'],
    ])
  })

  it('takes over chains and upstreams alone, and says what needs a restart', async () => {
    watch(`http: { port: 1 }\n${chains({ a_one: node(1) })}`)
    replace(`http: { port: 2 }\nlog_level: warn\n${chains({ a_one: node(1), b_one: node(2) })}`)
    expect((await entries.next()).fields).toEqual({ settings: ['http.port', 'log_level'] })
    const { config } = await changes.next()
    expect([config.port, config.logLevel, config.chains.length]).toEqual([1, 'info', 2])
  })

  it.each(Object.values(FIXED_SETTINGS))('says that %s needs a restart', async (setting) => {
    const beacon = 'b_one: { beacon: { urls: ["http://127.0.0.1:1"] }, execution: { urls: ["http://127.0.0.1:2"] } }'
    const followed = `chains:\n  ${beacon}\n`
    watch(followed)
    replace(setting === 'devnet' ? 'chains:\n' : `${RESTARTS[setting]}\n${followed}`)
    expect((await entries.next()).fields).toEqual({ settings: expect.arrayContaining([setting]) })
  })

  it('does not go from nodes to the devnet', async () => {
    watch(chains({ a_one: node(1) }))
    replace('chains:\n')
    expect((await entries.next()).fields).toEqual({ settings: ['devnet'] })
    replace(chains({ a_one: node(1), b_one: node(2) }))
    expect(namesIn((await changes.next()).diff.chains.added)).toEqual(['b_one'])
  })

  it('reads again at once on SIGHUP, and looks references up again though the file is the same', async () => {
    const secret = join(directory, 'secret')
    writeFileSync(secret, 'http://a:1')
    watch(chains({ a_one: `{ execution: { urls: ["file:${secret}"] } }` }), NEVER_MS)
    for (const url of ['http://a:2', 'http://a:3']) {
      writeFileSync(secret, url)
      process.kill(process.pid, 'SIGHUP')
      const { diff } = await changes.next()
      expect(diff.chains.changed.map(({ after }) => after.source)).toEqual([
        { kind: 'execution', executionUrls: [url] },
      ])
    }
  })

  it('ends when the signal aborts, and leaves SIGHUP as it was', async () => {
    const before = process.listenerCount('SIGHUP')
    watch(chains({ a_one: node(1) }), NEVER_MS)
    stop.abort()
    await watching
    expect(process.listenerCount('SIGHUP')).toBe(before)
  })

  it('repeats no secret in the log', async () => {
    watch(chains({ a_one: node(1) }), POLL_MS, { SECRET: 'hunter2' })
    replace(chains({ a_one: '{ execution: { urls: [env:SECRET, "http://hunter2@a"] } }' }))
    const entry = await entries.next()
    expect(entry.fields).toMatchObject({ mistakes: [expect.any(String), expect.any(String)] })
    expect(JSON.stringify(entry)).not.toContain('hunter2')
  })
})
