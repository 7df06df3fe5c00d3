import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { toReadyAnswer } from '../../api/http/health.ts'
import { healthOf } from '../../commands/health.ts'
import { LiveSetting } from '../../commands/live-setting.ts'
import type { Running } from '../../commands/role.ts'
import type { VaultHealth } from '../../commands/vault-health.ts'
import { Watch } from '../../commands/watch.ts'
import type { ChainConfig } from '../../infra/config/types.ts'
import type { EventLog } from '../../infra/ports/event-log.ts'
import type { NodeStatus } from '../../infra/ports/node-status.ts'
import type { NetworkStatus } from '../../infra/ports/upstreams.ts'
import { deriveAllUndisturbed } from '../../processors/derivation-work.ts'
import { areTablesWhole } from '../../processors/loop/filled-from.ts'
import { LagWatch } from '../../processors/loop/lag-watch.ts'
import { openLogFacts } from '../../processors/loop/log-facts.ts'
import { measureHealth } from '../../processors/loop/measure-health.ts'
import { finishFilling, prepareFilling } from '../../processors/loop/prepare-filling.ts'
import { PROJECTORS } from '../../processors/projections.ts'
import { chainNames } from '../../schemas/chains.ts'
import { AppError } from '../../schemas/errors.ts'
import { formatInstant } from '../../schemas/eth/time.ts'
import { type EncodedEvent, encodeEvent, type Topic } from '../../schemas/events/codec.ts'
import { VAULT_KEY, type VaultState, vaultStateTold } from '../../schemas/events/vault-state.ts'
import { givenChain } from './given-chain.ts'
import { processLog, readLog } from './processing.ts'
import { silentLog } from './silent-log.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const TEST_MS = 120_000
const never = new AbortController().signal
const stores = storesOfFile()
const given = givenChain()
/** Of the given chain. */
const [SLOT_SEC, EPOCH_SLOTS] = [3_600, 4]
let eventLog: EventLog

beforeEach(async () => {
  const { openLog, filled, warehouse } = stores()
  eventLog = await filled('given', async () => {
    const all = await openLog(given.events)
    await processLog(all, warehouse)
    return all
  })
}, TEST_MS)
afterEach(() => eventLog[Symbol.asyncDispose]())

const url = ['http://127.0.0.1:1']
const MAINNET: ChainConfig = {
  names: chainNames('ethereum', 'mainnet'),
  source: { kind: 'beacon', beaconUrls: url, executionUrls: url },
  paused: false,
}
/** The same rows as those of a chain that has no beacon chain. */
const EXECUTION: ChainConfig = { ...MAINNET, source: { kind: 'execution', executionUrls: url } }

interface Conditions {
  readonly chain?: ChainConfig
  readonly nodes?: readonly NodeStatus[]
  readonly nodeHead?: number
  readonly nowSec?: number
  readonly lagWatch?: LagWatch
  readonly vault?: VaultHealth
  readonly upstreams?: readonly NetworkStatus[]
  readonly log?: EventLog
  readonly logMsMax?: number
  readonly ping?: () => Promise<void>
  readonly stoppedRoles?: Running['stoppedRoles']
}

async function newest(): Promise<{ readonly slot: number; readonly block: number; readonly timeSec: number }> {
  const [row] = await stores().warehouse.query<{ slot: string; block: string; sec: number }>(
    `SELECT (SELECT max(slot) FROM beacon_blocks FINAL) AS slot, max(block_number) AS block,
       toUnixTimestamp(argMax(time, block_number)) AS sec FROM execution_blocks FINAL`,
  )
  return { slot: Number(row?.slot), block: Number(row?.block), timeSec: row?.sec ?? 0 }
}

/** What a process that has the vault has told the log, so many seconds after the newest block. */
async function tellVault(afterSec: number, change: Partial<VaultState> = {}): Promise<string> {
  const at = (await newest()).timeSec + afterSec
  const data = {
    state: 'answering',
    since: formatInstant(at - 5),
    fault: '',
    missing: { count: 0, pubkeys: [] },
  } as const
  const envelope = { id: `vault.state:${at}`, key: VAULT_KEY, time: formatInstant(at) }
  await eventLog.append('roles', [encodeEvent(vaultStateTold, { ...envelope, data: { ...data, ...change } })])
  await processLog(eventLog, stores().warehouse)
  return envelope.time
}

/** What `/ready` answers, at the time of the newest block unless another is named. */
async function ready(conditions: Conditions = {}) {
  const { chain = MAINNET, nodes = [], nodeHead, nowSec, lagWatch = new LagWatch(), vault, upstreams } = conditions
  const [ofVault, ofUpstreams] = [new Watch<VaultHealth>(), new Watch<readonly NetworkStatus[]>()]
  if (vault !== undefined) ofVault.watch(() => vault)
  if (upstreams !== undefined) ofUpstreams.watch(() => upstreams)
  const running = {
    ...{ vault: ofVault, upstreams: ofUpstreams },
    chains: new LiveSetting([chain]),
    nodes: new Map(nodes.length === 0 ? [] : [['mainnet', () => nodes]]),
    nodeHeads: new Map(nodeHead === undefined ? [] : [['mainnet', nodeHead]]),
    ...(conditions.stoppedRoles === undefined ? {} : { stoppedRoles: conditions.stoppedRoles }),
  }
  const { warehouse } = stores()
  const at = nowSec ?? (await newest()).timeSec
  const { log = eventLog, logMsMax, ping } = conditions
  const limit = logMsMax === undefined ? {} : { logMsMax }
  const counters = ping === undefined ? {} : { ping }
  const options = { lagWatch, nowSec: at, counters, ...limit }
  return toReadyAnswer(await healthOf({ eventLog: log, warehouse }, running, options))
}

const all = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, true]))
const PROGRAM = ['tables_filled', 'groups_keep_up', 'no_dead_letters']
const OF_BEACON = ['has_data', 'follows_head', 'follows_finality', 'follows_execution', 'no_dead_letters']
const OF_EXECUTION = ['has_data', 'follows_head', 'follows_finality', 'no_dead_letters']

const drop = (table: string, where: string) =>
  stores().warehouse.command(`ALTER TABLE ${table} DELETE WHERE ${where} SETTINGS mutations_sync = 1`)

async function finalizeExecution(): Promise<void> {
  await stores().warehouse.insert('execution_finality', {
    chain: ['mainnet'],
    block_number: BigUint64Array.of(7n),
    block_hash: [`0x${'0e'.repeat(32)}`],
    version: BigUint64Array.of(1n),
  })
}

async function append(topic: 'execution.blocks' | 'accounts' | 'beacon.epochs', count: number, change = {}) {
  const [event] = given.events.get(topic) ?? []
  await eventLog.append(topic, new Array<EncodedEvent>(count).fill({ ...(event as EncodedEvent), ...change }))
}

/** A log whose groups are asked for in vain. */
function logOf(lag: EventLog['lag']): EventLog {
  return Object.assign(Object.create(eventLog) as EventLog, { lag })
}

const LOG_AWAY = () => new AppError('event_log', 'Kafka: lag failed (ECONNREFUSED)', { retryable: true })

it('names a log that is away, and tells what the tables have', { timeout: TEST_MS }, async () => {
  const answer = await ready({ log: logOf(() => Promise.reject(LOG_AWAY())) })
  expect(answer).toMatchObject({
    status: 'not_ready',
    checks: { event_log_answers: false, tables_filled: true },
    reasons: ['the event log does not answer: Kafka: lag failed (ECONNREFUSED)'],
    head_slot: (await newest()).slot,
    lag: {},
  })
})

it('does not wait for a log that does not answer in time', { timeout: TEST_MS }, async () => {
  const answer = await ready({ log: logOf(() => new Promise(() => {})), logMsMax: 10 })
  expect(answer).toMatchObject({
    status: 'not_ready',
    checks: { event_log_answers: false },
    reasons: ['the event log does not answer: no answer within 0.01 s'],
  })
})

it('fails of what nobody expects of the log', { timeout: TEST_MS }, async () => {
  await expect(ready({ log: logOf(() => Promise.reject(new TypeError('wrong'))) })).rejects.toThrow('wrong')
})

it('names counters that are away, where they are those of a server', { timeout: TEST_MS }, async () => {
  expect((await ready({ ping: async () => {} })).checks).toMatchObject({ counters_answer: true })
  const refused = async () => {
    throw new AppError('counters', 'Redis (REDIS_URL): ECONNREFUSED', { retryable: true })
  }
  expect(await ready({ ping: refused })).toMatchObject({
    status: 'not_ready',
    checks: { counters_answer: false },
    reasons: ['the counters do not answer: Redis (REDIS_URL): ECONNREFUSED'],
  })
})

it('names a role that has stopped while the others go on', { timeout: TEST_MS }, async () => {
  const answer = await ready({ stoppedRoles: new Map([['validators', 'The event e cannot be read']]) })
  expect(answer).toMatchObject({
    status: 'not_ready',
    checks: { roles_run: false },
    reasons: ['the role validators has stopped: The event e cannot be read'],
  })
  expect((await ready({ stoppedRoles: new Map() })).checks).not.toHaveProperty('roles_run')
})

it('misses no vault whose role has stopped here, and says why once', { timeout: TEST_MS }, async () => {
  const { timeSec } = await newest()
  await tellVault(0)
  const answer = await ready({ stoppedRoles: new Map([['validators', 'why']]), nowSec: timeSec + 181 })
  expect(answer).toMatchObject({ vault: { state: 'stopped' }, reasons: ['the role validators has stopped: why'] })
  expect(answer.checks).not.toHaveProperty('vault_answers')
})

it('is ready when all of the log is in the tables, and tells the distance from the chain', {
  timeout: TEST_MS,
}, async () => {
  const { slot, timeSec } = await newest()
  const answer = await ready({ nowSec: timeSec + 2 * SLOT_SEC + 5 })
  const endOfEpochSec = timeSec + (given.epochs * EPOCH_SLOTS - slot) * SLOT_SEC
  expect(answer).toMatchObject({
    status: 'ready',
    head_slot: slot,
    chains: {
      mainnet: {
        head_slot: slot,
        head_lag_slots: 2,
        head_lag_seconds: 2 * SLOT_SEC + 5,
        last_finalized_epoch: given.epochs - 1,
        finality_lag_seconds: timeSec + 2 * SLOT_SEC + 5 - endOfEpochSec,
        checks: all(OF_BEACON),
      },
    },
    paused: [],
    reasons: [],
    checks: all(PROGRAM),
  })
})

it('is not ready while the key vault does not answer, and says why', { timeout: TEST_MS }, async () => {
  const sinceMs = Date.UTC(2026, 10, 20, 9)
  const answer = await ready({ vault: { state: 'away', sinceMs, fault: 'it took longer than 20 s', missing: [] } })
  expect(answer).toMatchObject({
    status: 'not_ready',
    checks: { vault_answers: false },
    reasons: ['the key vault does not answer: it took longer than 20 s'],
    vault: { state: 'away', since: '2026-11-20T09:00:00.000Z', missing: { count: 0, pubkeys: [] } },
  })
})

it('names validators whose secret is missing, a hundred at most, and is ready all the same', {
  timeout: TEST_MS,
}, async () => {
  const missing = Array.from({ length: 120 }, (_, i) => `0x${String(i).padStart(96, '0')}`)
  const answer = await ready({ vault: { state: 'answering', sinceMs: 0, missing } })
  expect(answer).toMatchObject({ status: 'ready', checks: { vault_answers: true }, reasons: [] })
  expect(answer.vault?.missing).toEqual({ count: 120, pubkeys: missing.slice(0, 100) })
  expect((await ready()).vault).toBeUndefined()
})

it('tells how the gateway’s upstreams are, and is ready without any that is well', { timeout: TEST_MS }, async () => {
  const [well, behind] = [
    { id: 'aa', head: 100, answers: true, fault: undefined, socketFault: 'it does not connect' },
    { id: 'bb', head: 50, answers: true, fault: 'it is behind the others', socketFault: undefined },
  ]
  const away = { id: 'cc', head: undefined, answers: false, fault: 'it does not answer', socketFault: undefined }
  const upstreams = [
    { name: 'ethereum/mainnet', upstreams: [well, behind] },
    { name: 'sui/mainnet', upstreams: [away] },
  ]
  const answer = await ready({ upstreams })
  expect(answer).toMatchObject({ status: 'ready', reasons: [] })
  expect(answer.upstreams).toEqual({
    'ethereum/mainnet': {
      well: 1,
      nodes: {
        aa: { head: 100, web_socket_fault: 'it does not connect' },
        bb: { head: 50, fault: 'it is behind the others' },
      },
    },
    'sui/mainnet': { well: 0, nodes: { cc: { head: null, fault: 'it does not answer' } } },
  })
  expect((await ready()).upstreams).toBeUndefined()
})

it('tells how the key vault of another process is, and misses it when nothing is heard of it for minutes', {
  timeout: TEST_MS,
}, async () => {
  const { timeSec } = await newest()
  const missing = { count: 120, pubkeys: [`0x${'ab'.repeat(48)}`] }
  const told = await tellVault(0, { missing })
  const late = await ready({ nowSec: timeSec + 180 })
  expect(late).toMatchObject({ status: 'ready', checks: { vault_answers: true }, reasons: [] })
  expect(late.vault).toEqual({ state: 'answering', since: formatInstant(timeSec - 5), told_at: told, missing })
  const silent = await ready({ nowSec: timeSec + 181 })
  const fault =
    `nothing was heard of the process that has it since ${told}: start the role validators there again ` +
    '(stopped as it should be, not killed, it is missed no more)'
  expect(silent).toMatchObject({ status: 'not_ready', checks: { vault_answers: false } })
  expect(silent.reasons).toEqual([`the key vault does not answer: ${fault}`])
  expect(silent.vault).toEqual({ state: 'away', since: told, told_at: told, fault, missing })

  await tellVault(200, { state: 'away', fault: 'it took longer than 20 s' })
  const away = await ready({ nowSec: timeSec + 210 })
  expect(away.reasons).toEqual(['the key vault does not answer: it took longer than 20 s'])
  // What this process has itself needs no word of another.
  const own = { state: 'answering', sinceMs: 0, missing: [] } as const
  expect(await ready({ vault: own, nowSec: timeSec + 210 })).toMatchObject({ status: 'ready', reasons: [] })

  await tellVault(220, { state: 'stopped' })
  const stopped = await ready({ nowSec: timeSec + 5_000 })
  expect(stopped).toMatchObject({ vault: { state: 'stopped' }, reasons: [] })
  expect(stopped.checks).not.toHaveProperty('vault_answers')
})

it('is ready on a chain without a beacon chain, and tells blocks where the node’s are known', {
  timeout: TEST_MS,
}, async () => {
  await finalizeExecution()
  const { block, timeSec } = await newest()
  const answer = await ready({ chain: EXECUTION, nodeHead: block + 3, nowSec: timeSec + 40 })
  expect(answer).toMatchObject({ status: 'ready', checks: all(PROGRAM) })
  expect(answer.chains.mainnet).toEqual({
    head_block: block,
    head_lag_blocks: 3,
    head_lag_seconds: 40,
    finalized_block: 7,
    checks: all(OF_EXECUTION),
  })
  expect((await ready({ chain: EXECUTION })).chains.mainnet).toMatchObject({ head_lag_blocks: null })
})

describe('is not ready, and says why,', () => {
  /** Exactly these checks fail. */
  async function fails(conditions: Conditions, checks: readonly string[], reason: RegExp): Promise<void> {
    const answer = await ready(conditions)
    const failed = [answer.checks, ...Object.values(answer.chains).map((chain) => chain.checks)].flatMap((some) =>
      Object.keys(some).filter((check) => some[check] === false),
    )
    expect(failed.toSorted()).toEqual(checks.toSorted())
    expect(answer.status).toBe('not_ready')
    expect(answer.reasons).toContainEqual(expect.stringMatching(reason))
    expect(answer.reasons).toHaveLength(checks.length)
  }

  it('without a finalized epoch', { timeout: TEST_MS }, async () => {
    await stores().warehouse.command('TRUNCATE TABLE epochs')
    await fails({}, ['has_data', 'follows_finality'], /^mainnet has no finalized epoch/)
  })

  it('more than ten slots behind the head', { timeout: TEST_MS }, async () => {
    const { timeSec } = await newest()
    expect((await ready({ nowSec: timeSec + 10 * SLOT_SEC })).status).toBe('ready')
    await fails({ nowSec: timeSec + 11 * SLOT_SEC }, ['follows_head'], /^mainnet is 11 slots behind its head$/)
  })

  it('too far behind finality', { timeout: TEST_MS }, async () => {
    await drop('epochs', 'epoch > 17')
    await fails({}, ['follows_finality'], /^mainnet is 6 epochs behind/)
  })

  it('with execution blocks missing that the head shows', { timeout: TEST_MS }, async () => {
    const { block, timeSec } = await newest()
    await drop('execution_blocks', `block_number > ${block - 11}`)
    await fails({ nowSec: timeSec }, ['follows_execution'], /^\d+ execution blocks of mainnet that the head shows/)
  })

  it('before the head has shown any block', { timeout: TEST_MS }, async () => {
    const { timeSec } = await newest()
    for (const table of ['beacon_blocks', 'execution_blocks'])
      await stores().warehouse.command(`TRUNCATE TABLE ${table}`)
    const reason = /^the head of mainnet has not shown yet which execution blocks there are$/
    await fails({ nowSec: timeSec }, ['follows_head', 'follows_execution'], reason)
  })

  it('with 150 execution blocks waiting', { timeout: TEST_MS }, async () => {
    await append('execution.blocks', 150)
    await fails({}, ['groups_keep_up'], /^150 events of execution\.blocks have waited to be processed/)
  })

  it('with one event that has waited for long', { timeout: TEST_MS }, async () => {
    const { timeSec } = await newest()
    const lagWatch = new LagWatch()
    await append('accounts', 1)
    expect((await ready({ lagWatch, nowSec: timeSec })).status).toBe('ready')
    await append('accounts', 1)
    expect((await ready({ lagWatch, nowSec: timeSec + 30 })).status).toBe('ready')
    const reason = /^2 events of accounts have waited for 31 s to be processed/
    await fails({ lagWatch, nowSec: timeSec + 31 }, ['groups_keep_up'], reason)
    await processLog(eventLog, stores().warehouse)
    await append('accounts', 1)
    expect((await ready({ lagWatch, nowSec: timeSec + 32 })).status).toBe('ready')
  })

  it.each([
    ['beacon.epochs', /^1 events of mainnet that figures need could not be processed, e\.g\. beacon\.epoch-validators/],
    ['execution.blocks', /^1 events of mainnet .* e\.g\. execution\.block/],
    ['accounts', /^1 events of the log that figures need .* verify` says what to do$/],
  ] as const)('with a dead letter of %s', { timeout: TEST_MS }, async (topic, reason) => {
    await append(topic, 1, { data: new Uint8Array([1]) })
    await processLog(eventLog, stores().warehouse)
    await fails({}, ['no_dead_letters'], reason)
  })

  it('when the tables were never filled from the log', { timeout: TEST_MS }, async () => {
    await stores().warehouse.command('TRUNCATE TABLE filled_from')
    await fails({}, ['tables_filled'], /^the log was never read into all tables/)
  })

  it('when a table was deleted and made anew, until it is filled again by the next start', {
    timeout: TEST_MS,
  }, async () => {
    const { warehouse } = stores()
    const tokens = () => warehouse.query('SELECT * FROM access_tokens FINAL')
    const before = await tokens()
    const [{ statement } = { statement: '' }] = await warehouse.query<{ statement: string }>(
      "SELECT create_table_query AS statement FROM system.tables WHERE database = currentDatabase() AND name = 'access_tokens'",
    )
    // Other tests are given copies of what was in the deleted table.
    await warehouse.command('RENAME TABLE access_tokens TO deleted_tokens')
    await warehouse.command(statement.replace(/^CREATE TABLE \S+/, 'CREATE TABLE access_tokens'))
    await fails({}, ['tables_filled'], /^the log was never read into access_tokens:/)
    await processLog(eventLog, warehouse)
    expect(await tokens()).toEqual(before)
    expect((await ready()).status).toBe('ready')
    await warehouse.command('DROP TABLE access_tokens SYNC')
    await warehouse.command('RENAME TABLE deleted_tokens TO access_tokens')
  })

  it('while the log is being read into tables that were made anew, until all of it and what is derived of it is there', {
    timeout: TEST_MS,
  }, async () => {
    const { warehouse, openLog, empty } = stores()
    await empty()
    await using eventLog = await openLog(given.events)
    const facts = await openLogFacts(eventLog, 0, never)
    const filling = { eventLog, warehouse, log: silentLog, facts, projectors: PROJECTORS }
    await prepareFilling(filling, 1, never)
    const derive = (signal: AbortSignal) =>
      deriveAllUndisturbed({ warehouse, facts: { known: facts, current: async () => facts } }, signal)
    const finished = finishFilling(filling, { now: () => 2, derive }, never)
    expect(await areTablesWhole(warehouse)).toBe(false)
    // Who is told to stop meanwhile leaves them as they are, at once.
    const stop = new AbortController()
    const stopped = finishFilling(filling, { now: () => 2, derive }, stop.signal)
    stop.abort()
    await stopped
    expect(await areTablesWhole(warehouse)).toBe(false)
    const groups = PROJECTORS.map(({ group }) => group)
    await readLog(eventLog, warehouse, groups.slice(0, -1))
    const { checks, reasons } = await measureHealth({ eventLog, warehouse, projectors: PROJECTORS }, [], 0)
    expect(checks).toMatchObject({ tables_filled: false })
    expect(reasons).toContainEqual(expect.stringMatching(/^the tables are being filled from the log/))
    await warehouse.command('TRUNCATE TABLE settlements')
    await readLog(eventLog, warehouse, groups.slice(-1))
    await finished
    const stopping = new AbortController()
    stopping.abort()
    await warehouse.command('TRUNCATE TABLE closed_days')
    await deriveAllUndisturbed({ warehouse, facts: { known: facts, current: async () => facts } }, stopping.signal)
    expect(await warehouse.query('SELECT count() AS days FROM closed_days')).toEqual([{ days: '0' }])
    expect(await areTablesWhole(warehouse)).toBe(true)
    expect(await warehouse.query('SELECT count() > 0 AS has_some FROM settlements')).toEqual([{ has_some: 1 }])
    // Who starts next finds nothing to do.
    await prepareFilling(filling, 3, never)
    expect(await areTablesWhole(warehouse)).toBe(true)
  })

  it('when a node is away, which is named', { timeout: TEST_MS }, async () => {
    const up: NodeStatus = { name: 'beacon node 1', state: 'up', since: 1 }
    const away: NodeStatus = { name: 'execution node 1', state: 'away', since: 1_000, fault: 'node_unreachable' }
    expect((await ready({ nodes: [up, { name: 'beacon node 2', state: 'unknown' }] })).status).toBe('ready')
    const reason = /^mainnet execution node 1 does not answer since 1970-01-01T00:00:01\.000Z \(node_unreachable\)$/
    await fails({ nodes: [up, away] }, ['nodes_answer'], reason)
    const wrong: NodeStatus = { ...away, fault: 'node_malformed' }
    await fails(
      { nodes: [up, wrong] },
      ['nodes_answer'],
      /^mainnet execution node 1 answers wrongly since .* \(node_malformed\)$/,
    )
  })

  it.each([
    ['without a block', 'has_data', /^mainnet has no block/],
    ['with an old block', 'follows_head', /^the newest block of mainnet is 121 s old$/],
    ['without a final block', 'follows_finality', /^mainnet has no final block/],
  ])('%s of a chain without a beacon chain', { timeout: TEST_MS }, async (_, check, reason) => {
    const { timeSec } = await newest()
    if (check !== 'follows_finality') await finalizeExecution()
    if (check === 'has_data') await stores().warehouse.command('TRUNCATE TABLE execution_blocks')
    const nowSec = timeSec + (check === 'follows_head' ? 121 : 120)
    const checks = check === 'has_data' ? ['has_data', 'follows_head'] : [check]
    await fails({ chain: EXECUTION, nowSec }, checks, reason)
  })
})

it('asks nothing of a paused chain, and names it', { timeout: TEST_MS }, async () => {
  await append('beacon.epochs', 1, { data: new Uint8Array([1]) })
  await processLog(eventLog, stores().warehouse)
  const paused = { ...MAINNET, paused: true }
  const answer = await ready({ chain: paused, nowSec: (await newest()).timeSec + 100 * SLOT_SEC })
  expect(answer).toMatchObject({ status: 'ready', paused: ['mainnet'], reasons: [] })
  expect(answer.chains.mainnet).toMatchObject({ head_lag_slots: 100, checks: {} })
})

it('takes no block for the head that a reorg has taken back', { timeout: TEST_MS }, async () => {
  const { warehouse } = stores()
  await finalizeExecution()
  const { slot, block, timeSec } = await newest()
  const reverted = (table: string, column: string, to: number) =>
    warehouse.command(
      `INSERT INTO ${table} SELECT * REPLACE (${to} AS ${column}, 1 AS is_deleted, version + 1 AS version, concat('0x', repeat('9', 64)) AS block_${table === 'beacon_blocks' ? 'root' : 'hash'}) FROM ${table} FINAL WHERE ${column} = ${table === 'beacon_blocks' ? slot : block}`,
    )
  await reverted('beacon_blocks', 'slot', slot + 5)
  await reverted('execution_blocks', 'block_number', block + 5)
  expect((await ready({ nowSec: timeSec })).head_slot).toBe(slot)
  expect((await ready({ chain: EXECUTION, nowSec: timeSec + 60 })).chains.mainnet).toMatchObject({
    head_block: block,
    head_lag_seconds: 60,
  })
})

it('tells the lag of every group', { timeout: TEST_MS }, async () => {
  expect(Object.keys((await ready()).lag).toSorted()).toEqual(PROJECTORS.map(({ group }) => group).toSorted())
})

it('who makes anew what is folded of logs reads logs again, and no epochs', { timeout: TEST_MS }, async () => {
  const { warehouse, openLog, empty } = stores()
  await empty()
  await using eventLog = await openLog(given.events)
  const facts = await openLogFacts(eventLog, 0, never)
  const filling = { eventLog, warehouse, log: silentLog, facts, projectors: PROJECTORS }
  await prepareFilling(filling, 1, never)
  const made = ['nft_totals', 'execution_log_parts']
  for (const table of made) {
    await warehouse.command(`CREATE TABLE ${table}_anew AS ${table}`)
    await warehouse.command(`RENAME TABLE ${table} TO ${table}_before, ${table}_anew TO ${table}`)
  }
  const rewound: string[] = []
  const watched = new Proxy(eventLog, {
    get: (log, name) => {
      if (name === 'rewind') return async (_: Topic, group: string) => void rewound.push(group)
      const value: unknown = Reflect.get(log, name, log)
      return typeof value === 'function' ? value.bind(log) : value
    },
  })
  await prepareFilling({ ...filling, eventLog: watched }, 2, never)
  expect(rewound).toEqual(['execution-logs'])
  for (const table of made) {
    await warehouse.command(`DROP TABLE ${table} SYNC`)
    await warehouse.command(`RENAME TABLE ${table}_before TO ${table}`)
  }
})

it('who starts first of all is not told that tables are made anew, whatever is appended meanwhile', async () => {
  const { warehouse, openLog, empty } = stores()
  await empty()
  await using eventLog = await openLog(new Map())
  const facts = await openLogFacts(eventLog, 0, never)
  let appended = 0
  const append = async () => {
    const event = { ...SOME_EVENT, id: `${appended++}` }
    for (const topic of ['validators', 'roles'] as const) await eventLog.append(topic, [event])
  }
  const busy = new Proxy(eventLog, {
    get: (log, name) => {
      if (name === 'lag') return async (topic: Topic, group: string) => [await log.lag(topic, group), await append()][0]
      const value: unknown = Reflect.get(log, name, log)
      return typeof value === 'function' ? value.bind(log) : value
    },
  })
  const warned: string[] = []
  const log = { ...silentLog, warn: (_: object, message: string) => void warned.push(message) }
  await prepareFilling({ eventLog: busy, warehouse, log, facts, projectors: PROJECTORS }, 1, never)
  expect(appended).toBeGreaterThan(1)
  expect(warned).toEqual([])
})

const SOME_EVENT = { type: 'x', version: 1, key: VAULT_KEY, time: formatInstant(0), data: new Uint8Array(1) }
