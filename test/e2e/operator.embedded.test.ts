import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Status } from '../../commands/status.ts'
import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { givenChain } from '../unit/given-chain.ts'
import { eventually, FREE_DEVNET_PORTS, runCommand, startProgram } from './processes.ts'
import { isProcessed, openLog } from './stores.ts'

const USAGE = 2
const KEY = hexOf(pubkeyOf(0))

let directory: string
let taken: Server

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'operator-'))
  // Holds a port, and is a web server that is no node.
  taken = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>'))
  taken.listen(0, '127.0.0.1')
  await once(taken, 'listening')
})

afterAll(() => {
  taken.close()
  rmSync(directory, { recursive: true })
})

const takenPort = () => String((taken.address() as AddressInfo).port)
const fresh = () => ({
  EPOCHLINE_DATA: mkdtempSync(join(directory, 'data-')),
  PORT: '0',
  ...FREE_DEVNET_PORTS,
  LOG_LEVEL: 'silent',
})

/** The same with an event log in the folder, as a first start leaves it. */
async function withLog() {
  const env = fresh()
  await using _log = await openLog(env)
  return env
}

/** Ends by itself with the exit code for wrong use, and with one line that matches. */
async function refuses(args: readonly string[], env: Record<string, string>, sentence: RegExp, input = '') {
  const { code, stderr } = await runCommand(args, { ...(await withLog()), ...env }, input)
  const lines = stderr
    .split('\n')
    .filter((line) => line !== '' && !/^(devnet|process|(\S+ )?(blocks|epochs)) /.test(line))
  expect({ lines, code }).toEqual({ lines: [expect.stringMatching(sentence)], code: USAGE })
}

describe('the program ends with one sentence, and leaves nothing running,', () => {
  it.each([
    { name: 'PORT', args: ['all'], env: { BEACON_URL: 'http://127.0.0.1:9', EXECUTION_URL: 'http://127.0.0.1:9' } },
    { name: 'DEVNET_BEACON_PORT', args: ['all'], env: {} }, // its own devnet fails
    { name: 'DEVNET_EXECUTION_PORT', args: ['devnet'], env: {} },
    { name: 'DEVNET_SECOND_PORT', args: ['devnet'], env: {} },
    { name: 'DEVNET_METADATA_PORT', args: ['devnet'], env: {} },
    { name: 'DEVNET_VALIDATOR_PORT', args: ['devnet'], env: {} },
  ])('when the port of $name is taken', async ({ name, args, env }) => {
    await refuses(args, { ...env, [name]: takenPort() }, new RegExp(name))
  })

  it('when its data folder cannot be one', async () => {
    const file = join(directory, 'file')
    writeFileSync(file, '')
    await refuses(['all'], { EPOCHLINE_DATA: join(file, 'data') }, /EPOCHLINE_DATA, .*e\.g\. EPOCHLINE_DATA=/)
  })

  it('when HOST is no address of this machine', async () => {
    const node = { BEACON_URL: 'http://127.0.0.1:9', EXECUTION_URL: 'http://127.0.0.1:9' }
    await refuses(['api'], { ...node, HOST: '192.0.2.1' }, /HOST .*e\.g\. HOST=127\.0\.0\.1/)
  })

  it('when another devnet runs in its data folder', async () => {
    const env = fresh()
    await using devnet = await startProgram(['devnet'], env, { announces: false })
    await eventually('the devnet', async () => devnet.output().includes('JSON-RPC 2') || undefined)
    devnet.signal('SIGSTOP') // it would make a history that nobody asks for
    await refuses(
      ['devnet'],
      env,
      /^epochline: The devnet in this data folder is in use by process \d+: .*EPOCHLINE_DATA=/,
    )
    await refuses(
      ['all'],
      env,
      /^epochline: The devnet in this data folder is in use by process \d+: .*EPOCHLINE_DATA=/,
    )
  })

  it('when its warehouse was filled from another log, which only a rebuild takes up', async () => {
    const env = await withLog()
    expect((await runCommand(['rebuild'], env)).code).toBe(0)
    for (const name of readdirSync(env.EPOCHLINE_DATA).filter((file) => file.startsWith('event-log.sqlite'))) {
      rmSync(join(env.EPOCHLINE_DATA, name))
    }
    await (await openLog(env))[Symbol.asyncDispose]()
    const sentence =
      /^epochline: The warehouse was filled from another event log .*CLICKHOUSE_DATABASE.*epochline rebuild/
    await refuses(['process'], env, sentence)
    await refuses(['api'], env, sentence)
    expect((await runCommand(['rebuild'], env)).code).toBe(0)
    await using process = await startProgram(['api'], env)
    expect(await process.stop()).toBe(0)
  })
})

describe('the program starts and serves without a node, says so, and gives no address away,', () => {
  it.each([
    { when: 'when no node answers', address: () => '127.0.0.1:9', fault: 'node_unreachable' },
    { when: 'when the nodes are some web server', address: () => `127.0.0.1:${takenPort()}`, fault: 'node_malformed' },
  ])('$when', async ({ address, fault }) => {
    const url = `http://user:secret@${address()}/key`
    const env = { ...fresh(), BEACON_URL: url, EXECUTION_URL: url, LOG_LEVEL: 'debug' }
    await using program = await startProgram(['all'], env)
    const ready = async () => {
      const response = await fetch(`${program.url}/ready`)
      return { status: response.status, text: await response.text() }
    }
    const { status, text } = await eventually('the word that a node is away', async () => {
      const answer = await ready()
      return answer.text.includes('"away"') ? answer : undefined
    })
    expect(status).toBe(503)
    expect(JSON.parse(text)).toMatchObject({
      status: 'not_ready',
      head_slot: null,
      nodes: { 'mainnet beacon node 1': { state: 'away', fault } },
      checks: { nodes_answer: false },
    })
    expect((await fetch(`${program.url}/ethereum/mainnet/nobody/api/v1/validator/total-rewards`)).status).toBe(401)
    expect(await program.stop(), program.output()).toBe(0)
    for (const told of [text, program.output()]) {
      expect(told).not.toMatch(/secret|\/key/)
      expect(told).not.toContain(address())
    }
  })
})

describe('the program tells, and goes on,', () => {
  it.each([
    {
      what: 'a start that the log did not begin with',
      env: { START_EPOCH: '7' },
      told: /the log begins with epoch 0;/,
    },
    { what: 'a variable that is no setting', env: { EPOCHLINE_DATE: 'x' }, told: /did you mean EPOCHLINE_DATA\?/ },
  ])('$what', async ({ env: given, told }) => {
    const node = { BEACON_URL: 'http://127.0.0.1:9', EXECUTION_URL: 'http://127.0.0.1:9' }
    const env = { ...(await withLog()), ...node, LOG_LEVEL: 'warn' }
    {
      await using eventLog = await openLog(env)
      await eventLog.append('beacon.epochs', givenChain().events.get('beacon.epochs') ?? [])
    }
    await using usual = await startProgram(['ingest'], { ...env, START_EPOCH: '0' }, { announces: false })
    await using program = await startProgram(['ingest'], { ...env, ...given, PORT: '0' }, { announces: false })
    await usual.stop()
    await eventually(told.source, async () => told.test(program.output()) || undefined)
    expect(await program.stop(), program.output()).toBe(0)
    expect(usual.output()).not.toMatch(told)
  })
})

describe('a command', () => {
  it.each<[string, string[]]>([
    ['an unknown name', ['foo']],
    ['an unknown option', ['verify', '--loud']],
    ['a missing option', ['backfill', '--from', 'epoch:1']],
  ])('with %s is refused', (_, args) => refuses(args, {}, /^error: /))

  it('that revokes a token which never was says so', () =>
    refuses(['admin', 'token', 'revoke'], {}, /nothing was revoked/, 'nope'))

  it('that tracks a key which is none tracks nothing', () =>
    refuses(
      ['admin', 'validators', 'track', '--account', 'acme'],
      {},
      /^epochline: line 1: "0x12" is not .*nothing was changed/,
      '0x12',
    ))

  it('that backfills with the end before the start is refused, whether a node answers or not', () =>
    refuses(
      ['backfill', '--from', '2026-11-19', '--to', '2026-11-01'],
      { BEACON_URL: 'http://127.0.0.1:9', EXECUTION_URL: 'http://127.0.0.1:9' },
      /--from 2026-11-19 lies after --to 2026-11-01: exchange them/,
    ))

  it.each([
    ['rebuilds', ['rebuild', '--chain', 'nonesuch'], /nothing was rebuilt/],
    ['removes', ['chain', 'remove', 'nonesuch'], /nothing was removed/],
  ])('that %s a chain which never was does nothing', (_, args, sentence) => refuses(args, {}, sentence))

  it.each([
    ['verify'],
    ['process'],
    ['admin', 'token', 'create', '--account', 'acme'],
    ['backfill', '--from=1', '--to=2'],
  ])('that is given a mistyped data folder makes none: %s', async (...args) => {
    const { EPOCHLINE_DATA, ...env } = await withLog()
    const mistyped = `${EPOCHLINE_DATA}x`
    await refuses([...args, '--data', mistyped], env, /no event log in .*Did you mean \S+\/data-\w+\?$/)
    expect(existsSync(mistyped)).toBe(false)
  })

  it('makes an account when it is told to, and takes no other name for one', async () => {
    const env = { ...(await withLog()), BEACON_URL: 'http://127.0.0.1:9', EXECUTION_URL: 'http://127.0.0.1:9' }
    const [create, list] = [
      ['admin', 'token', 'create'],
      ['admin', 'token', 'list'],
    ]
    await refuses(
      [...create, '--account', 'acme'],
      env,
      /no account acme: nothing was changed\. .* --account acme --new\.$/,
    )
    const { code, stdout: token } = await runCommand([...create, '--account', 'acme', '--new'], env)
    expect(code).toBe(0)
    await refuses([...create, '--account', 'acme', '--new'], env, /is there already: leave --new out/)
    for (const args of [
      [...create, '--account', 'amce'],
      ['admin', 'fee-rate', 'set', '--account', 'amce', '--rate', '0.1'],
      ['admin', 'validators', 'track', '--account', 'amce', KEY],
      ['admin', 'validators', 'untrack', '--account', 'amce', '--at', '2026-01-01', KEY],
      ['admin', 'validators', 'move', '--from', 'acme', '--to', 'amce', '--at', '2026-01-01', KEY],
      ['admin', 'account', 'show', 'amce'],
      [...list, '--account', 'amce'],
    ])
      await refuses(args, env, /There is no account amce: .*Did you mean acme\?/)
    const tracked = await runCommand(
      ['admin', 'validators', 'track', '--account', 'acme'],
      env,
      `# mine\n${KEY.slice(2)},one\n`,
    )
    expect(tracked).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^1 validators .*\nnote: no node of mainnet has said within 8 s/s),
    })
    const tokens = await runCommand(list, env)
    expect(tokens.stdout).toMatch(
      /^sha256 [0-9a-f]{12}… {2}acme {2}no name {2}scopes read {2}all families {2}all chains {2}created 20\S+Z\n$/,
    )
    expect(tokens.stdout).not.toContain(token.trim())
    const accounts = await runCommand(['admin', 'account', 'list'], env)
    expect(accounts.stdout).toBe('acme  1 validators of mainnet; fee rate none; 1 tokens\n')
    const shown = await runCommand(['admin', 'account', 'show', 'acme'], env)
    expect(shown.stdout).toContain(`validators of mainnet: 1, and 0 watched\n  ${KEY} all history\n`)
  })

  it('verifies a log without events', async () => {
    const { code, stdout } = await runCommand(['verify'], await withLog())
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^Nothing to prove: .*\n0 days, 0 validator-days, 0 wrong/),
    })
  })
})

describe('the proof', () => {
  const NODES = { BEACON_URL: 'http://127.0.0.1:9', EXECUTION_URL: 'http://127.0.0.1:9' }
  const verify = (env: Record<string, string>, ...options: string[]) => runCommand(['verify', ...options], env)

  it('is the same while the program runs and when it does not, and fails when the tables were deleted', async () => {
    const env = { ...fresh(), ...NODES }
    const { events } = givenChain(18)
    await using eventLog = await openLog(env)
    for (const [topic, list] of events) await eventLog.append(topic, list)

    const before = await verify(env)
    expect(before.code).toBe(1)
    expect(before.stdout).toMatch(/^MISSING The tables were never filled .*\n(MISSING .*\n)+Nothing was proven/)
    expect(before.stderr).toBe('epochline: The tables lack what the log has: see the lines above.\n')

    await using program = await startProgram(['all'], env)
    await eventually('all events in the tables', async () => (await isProcessed(env)) || undefined)
    const during = await verify(env)
    expect(during).toMatchObject({ code: 0, stderr: '' })
    expect(during.stdout).toMatch(
      / ok\nmainnet revenue: .*\nmainnet: \d+ rows about tokens follow .*\n\d days, \d+ validator-days, 0 wrong; /,
    )
    expect(await verify(env, '--chain', 'nonesuch')).toMatchObject({ code: USAGE })
    const status = async () => JSON.parse((await runCommand(['status', '--json'], env)).stdout) as Status
    const days = { closed: 2, first: '2026-01-02', newest: '2026-01-03', gaps: [] }
    const known = { chains: { mainnet: { last_finalized_epoch: 17, days } }, lag: { finalized: 0 }, dead_letters: [] }
    expect(await status()).toMatchObject({
      ...known,
      program: 'running',
      status: 'not_ready', // its nodes are away
      nodes: { 'mainnet beacon node 1': { state: 'away' } },
      reasons: expect.arrayContaining([expect.stringMatching(/^mainnet beacon node 1 does not answer/)]),
    })
    expect(await program.stop(), program.output()).toBe(0)
    expect(await verify(env)).toEqual(during)
    expect(await status()).toMatchObject({ ...known, program: 'stopped' })
    expect((await runCommand(['status'], env)).stdout).toMatch(
      /^program +stopped\nstatus +not ready\n( .*\n)+mainnet +head slot 71, /,
    )

    rmSync(join(env.EPOCHLINE_DATA, 'warehouse'), { recursive: true })
    const deleted = await verify(env)
    expect(deleted).toMatchObject({ code: 1, stderr: expect.stringMatching(/lack what the log has/) })
    expect(deleted.stdout).toMatch(/MISSING mainnet: 18 finalized epochs are in the log/)

    await using again = await startProgram(['all'], env)
    await eventually('all events in the new tables', async () => (await isProcessed(env)) || undefined)
    expect(await verify(env)).toEqual(during)

    // Of a key that nobody has looked for nothing can hold.
    const late = hexOf(pubkeyOf(900))
    const tracked = await runCommand(['admin', 'validators', 'track', '--account', 'a', late], env)
    expect(tracked.code, tracked.stderr).toBe(0)
    await eventually('the fact in the tables', async () => (await isProcessed(env)) || undefined)
    expect(await verify(env, '--quiet')).toEqual({
      code: 1,
      stdout: expect.stringContaining(`mainnet validator ${late}: NOTHING was verified: nobody has looked for it`),
      stderr: 'epochline: Of some tracked validators nothing was verified: see the lines above.\n',
    })
    expect((await status()).chains.mainnet).toMatchObject({ validators_untold: { count: 1, pubkeys: [late] } })
    expect((await runCommand(['status'], env)).stdout).toContain(`no epoch tells of 1 tracked validator yet: ${late}`)
    expect(await again.stop()).toBe(0)
  })
})
