import { verify } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Meter } from '../../api/gateway/meter.ts'
import { openApi } from '../../api/http/server.ts'
import { openMemoryCounters } from '../../infra/counters/memory.ts'
import { checksumAddress } from '../../schemas/eth/address.ts'
import { silentLog } from '../unit/silent-log.ts'
import {
  type ApiFixture,
  addressOf,
  GENESIS_SEC,
  insertOwners,
  insertRows,
  moveTables,
  openApiFixture,
  pubkeyOf,
  TOKEN,
} from './api-fixture.ts'

const DAILY = '/api/v1/validator/daily-rewards'
const TOTAL = '/api/v1/validator/total-rewards'
const SETTLED = '/api/v1/cloud/validator/el/settle/rewards'
const DETAILS = '/api/v1/validator/details'
const OF_ONE = '/api/v1/validator/rewards'
const STATEMENT = '/api/v1/validator/statement'
const SINCE = 'start_date=2026-11-18'

let fixture: ApiFixture
beforeAll(async () => {
  fixture = await openApiFixture()
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

type Asking = RequestInit & { readonly token?: string; readonly accept?: string }

function ask(path: string, { token = TOKEN, accept, ...init }: Asking = {}): Promise<Response> {
  const headers = { ...(accept === undefined ? {} : { accept }), ...init.headers }
  return fetch(`${fixture.api.url}/ethereum/mainnet/${token}${path}`, { ...init, headers })
}

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by hand here; the conformance tests check their shape.
async function json(path: string, init?: Asking): Promise<any> {
  return await (await ask(path, init)).json()
}

async function csv(path: string, init: Asking = {}): Promise<string> {
  const response = await ask(path, { accept: 'text/csv', ...init })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toMatch(/^text\/csv; /)
  return await response.text()
}

describe('tags', () => {
  test('an answer that is known is not sent again, and one that has changed is', async () => {
    const first = await ask(`${DAILY}?${SINCE}`)
    const tag = first.headers.get('etag') ?? ''
    expect(tag).toMatch(/^"[\w-]{22,}"$/)
    expect(first.headers.get('vary')).toBe('accept, accept-encoding')
    // Tables that have moved make an answer anew that says the same.
    await moveTables(fixture.warehouse)
    const again = await ask(`${DAILY}?${SINCE}`, { headers: { 'if-none-match': tag } })
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', tag])
    const row = { day: '2026-11-19', validator_index: 11, cl_reward_gwei: 501n, el_reward_wei: 0n, version: 9 }
    await insertRows(fixture.warehouse, 'daily_rewards', [row])
    await moveTables(fixture.warehouse)
    const changed = await ask(`${DAILY}?${SINCE}`, { headers: { 'if-none-match': tag } })
    expect(changed.status).toBe(200)
    expect(changed.headers.get('etag')).not.toBe(tag)
  })

  test('who knows an answer is told no length of it, by HEAD neither', async () => {
    const tag = (await ask(`${DAILY}?${SINCE}`)).headers.get('etag') ?? ''
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await ask(`${DAILY}?${SINCE}`, { method, headers: { 'if-none-match': tag } })
      expect([status, headers.get('content-length')], method).toEqual([304, null])
    }
    const head = await ask(`${DAILY}?${SINCE}`, { method: 'HEAD', headers: { 'accept-encoding': 'identity' } })
    expect(head.headers.get('content-length')).toBe(String((await (await ask(`${DAILY}?${SINCE}`)).text()).length))
  })

  test('nobody is told that he knows what another account is answered', async () => {
    const tag = (await ask(`${DAILY}?${SINCE}`)).headers.get('etag') ?? ''
    const others = await ask(`${DAILY}?${SINCE}`, { token: 'token-of-other', headers: { 'if-none-match': tag } })
    expect(others.status).toBe(200)
  })

  test('bytes that are compressed have a tag of their own, and are known by either', async () => {
    const asked = async (coding: string, known = '') => {
      const headers = { 'accept-encoding': coding, 'if-none-match': known }
      const client = request(`${fixture.base}${SETTLED}`, { agent: false, headers }).end()
      const [response] = await once(client, 'response')
      const chunks: Buffer[] = await response.toArray()
      return { status: response.statusCode, tag: response.headers.etag as string, bytes: Buffer.concat(chunks) }
    }
    const [plain, packed] = [await asked('identity'), await asked('gzip')]
    expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true)
    expect(packed.tag).not.toBe(plain.tag)
    for (const { tag } of [plain, packed]) expect((await asked('gzip', tag)).status).toBe(304)
  })
})

describe('cursors', () => {
  type Ask = (query: Readonly<Record<string, string | number>>) => Promise<unknown>
  const get = (path: string): Ask => {
    const mark = path.includes('?') ? '&' : '?'
    return (query) => json(`${path}${mark}${new URLSearchParams(query as Record<string, string>)}`)
  }
  const post =
    (path: string): Ask =>
    (body) =>
      json(path, { method: 'POST', body: JSON.stringify(body) })
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  const LISTS: readonly (readonly [string, Ask, (body: any) => readonly unknown[]])[] = [
    ['daily rewards', get(`${DAILY}?${SINCE}`), (body) => body.data.reward],
    ['totals', get(TOTAL), (body) => body.data.validator_details],
    ['settlements', get(SETTLED), (body) => body.data.rewards],
    ['details', post(DETAILS), (body) => body.data],
    ['days of a validator', get(`${OF_ONE}?pubkey=${pubkeyOf(10)}&${SINCE}`), (body) => body.data.rewards],
  ]

  test.each(LISTS)('lead through all %s once', async (_, question, itemsOf) => {
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    const whole: any = await question({ limit: 1_000 })
    expect(whole.next_cursor).toBeNull()
    const walked: unknown[] = []
    let cursor: string | null = ''
    for (let page = 1; cursor !== null; page++) {
      // biome-ignore lint/suspicious/noExplicitAny: as above.
      const one: any = await question({ limit: 1, cursor })
      expect(one.pagination).toEqual({ page, limit: 1, total: itemsOf(whole).length })
      walked.push(...itemsOf(one))
      cursor = one.next_cursor
    }
    expect(walked).toEqual(itemsOf(whole))
    expect(walked.length).toBeGreaterThan(1)
  })

  test('go on behind the same item when newer ones have come', async () => {
    const ids = (body: { data: { rewards: readonly { id: number }[] } }) => body.data.rewards.map(({ id }) => id)
    const first = await json(`${SETTLED}?limit=1`)
    expect(ids(first)).toEqual([400])
    const newer = { account: 'demo', slot: 401, block_number: 401, validator_index: 12, pubkey: pubkeyOf(12) }
    const amounts = { revenue_wei: 10n, fee_rate: '0.5', service_fee_wei: 5n, user_reward_wei: 5n }
    const block = { time: '2026-11-20 03:00:12', fee_address: addressOf(401), revenue_class: 'local', version: 1 }
    await insertRows(fixture.warehouse, 'settlements', [{ ...newer, ...amounts, ...block }])
    expect(ids(await json(`${SETTLED}?limit=1&page=2`))).toEqual([400])
    const next = await json(`${SETTLED}?limit=1&cursor=${first.next_cursor}`)
    expect(ids(next)).toEqual([300])
    expect(next.pagination).toEqual({ page: 3, limit: 1, total: 4 })
  })

  test('go on among created validators, whose newest come first, when others have been created', async () => {
    const create = async (indices: readonly number[], created_at: string) => {
      await insertOwners(
        fixture.warehouse,
        indices.map((index) => ({ account: 'demo', pubkey: pubkeyOf(index) })),
      )
      const addresses = { deposit_from: addressOf(1), fee_recipient: addressOf(1) }
      const deposit = { withdrawal_credentials: `0x01${'00'.repeat(31)}`, amount_gwei: 32_000_000_000n }
      const rows = indices.map((index) => ({ pubkey: pubkeyOf(index), account: 'demo', ...addresses, ...deposit }))
      await insertRows(
        fixture.warehouse,
        'created_validators',
        rows.map((row, at) => ({ ...row, created_at, created_at_slot: 14_450, version: 900 - at })),
      )
    }
    const page = (query: object) => json(DETAILS, { method: 'POST', body: JSON.stringify(query) })
    const keysOf = (body: { data: readonly { pubkey: string }[] }) => body.data.map(({ pubkey }) => pubkey)
    await create([40, 41], '2026-11-20 00:00:00')
    const first = await page({ limit: 1 })
    expect(keysOf(first)).toEqual([pubkeyOf(40)])
    await create([50], '2026-11-20 00:00:01')
    expect(keysOf(await page({ limit: 10 }))).toEqual([50, 40, 41, 12, 11, 10].map(pubkeyOf))
    const next = await page({ limit: 2, cursor: first.next_cursor })
    expect(keysOf(next)).toEqual([41, 12].map(pubkeyOf))
    expect(keysOf(await page({ limit: 9, cursor: next.next_cursor }))).toEqual([11, 10].map(pubkeyOf))
  })

  test('are refused where they are none of the question, or of the account', async () => {
    const { next_cursor: cursor } = await json(`${SETTLED}?limit=1`)
    const refused = { code: '400', data: null, msg: expect.stringContaining('cursor') }
    for (const path of [
      `${SETTLED}?cursor=x`,
      `${SETTLED}?cursor=${cursor.slice(0, -4)}`,
      `${SETTLED}?cursor=${cursor}&validator_indexes=10`,
      `${SETTLED}?cursor=${cursor}&page=2`,
      `${TOTAL}?cursor=${cursor}`,
    ])
      expect(await json(path), path).toEqual(refused)
    expect(await json(`${SETTLED}?cursor=${cursor}`, { token: 'token-of-other' })).toEqual(refused)
    expect((await json(`${SETTLED}?limit=2&cursor=${cursor}`)).code).toBe('200')
  })
})

describe('CSV', () => {
  test('has the days of any range with what they lack', async () => {
    const response = await ask(`${DAILY}?start_date=0001-01-01`, { accept: 'text/csv' })
    expect(await response.text()).toBe(
      'date,el_reward,cl_reward,total_reward,validators_active_count,validators_missing,validators_unproven_count,blocks_unproven_count\r\n' +
        '2026-11-18,0.005000001000000001,0.000000049,0.005000050000000001,2,0,0,0\r\n' +
        '2026-11-19,0,-0.000001499,-0.000001499,1,0,0,0\r\n',
    )
    expect(response.headers.get('x-completeness')).toBe('state=complete, final_through="2026-11-19"')
    expect(response.headers.get('etag')).toBeNull()
  })

  test('is what tax tools read, in UTC and with the sign of what came', async () => {
    expect(await csv(`${DAILY}?${SINCE}`, { accept: 'text/csv; profile=koinly' })).toBe(
      'Koinly Date,Amount,Currency,Label,Description\r\n' +
        '2026-11-18 15:59:59 UTC,0.000000049,ETH,reward,Consensus rewards of 2026-11-18 (UTC+8)\r\n' +
        '2026-11-18 15:59:59 UTC,0.005000001000000001,ETH,reward,Execution rewards of 2026-11-18 (UTC+8)\r\n' +
        '2026-11-19 15:59:59 UTC,-0.000001499,ETH,cost,Consensus rewards of 2026-11-19 (UTC+8)\r\n',
    )
    const settled = await csv(`${SETTLED}?validator_indexes=11`, { accept: 'text/csv; profile=koinly' })
    expect(settled.split('\r\n').slice(1)).toEqual([
      '2026-11-18 16:00:00 UTC,0.01380661323004768,ETH,reward,"Block 300 of validator 11, less the fee"',
      '',
    ])
    expect((await ask(TOTAL, { accept: 'text/csv; profile=koinly' })).status).toBe(400)
  })

  test('has every item of every list, as its JSON has it', async () => {
    const body = await json(`${TOTAL}?limit=1000`)
    const lines = (await csv(TOTAL)).trimEnd().split('\r\n')
    expect(lines.map((line) => line.split(','))).toEqual([
      Object.keys(body.data.validator_details[0]),
      // biome-ignore lint/suspicious/noExplicitAny: as above.
      ...body.data.validator_details.map((item: any) => Object.values(item).map(String)),
    ])
    expect((await csv(`${SETTLED}?validator_indexes=11`)).split('\r\n')[1]).toBe(
      `300,block,${pubkeyOf(11)},11,${checksumAddress(addressOf(300))},0.0197237331857824,0.3,0.01380661323004768,0.00591711995573472,2026-11-19 00:00:00,300,`,
    )
    expect(await csv(`/api/v1/validator/history?pubkey=${pubkeyOf(10)}`)).toMatch(/^step,time,slot,.*\r\nactive,/)
  })

  test('has all rows, and refuses what asks for some of them', async () => {
    const { next_cursor: cursor } = await json(`${SETTLED}?limit=1`)
    const refused = (names: string) => ({
      code: '400',
      data: null,
      msg: expect.stringContaining(`a CSV has all rows: leave ${names} out`),
    })
    const accept = 'text/csv'
    for (const path of [`${DAILY}?${SINCE}&`, `${TOTAL}?`, `${SETTLED}?`, `${OF_ONE}?pubkey=${pubkeyOf(10)}&`]) {
      expect(await json(`${path}page=1`, { accept }), path).toMatchObject(refused('page'))
      expect(await json(`${path}limit=10`, { accept }), path).toMatchObject(refused('limit'))
      expect(await json(`${path}cursor=x`, { accept }), path).toMatchObject(refused('cursor'))
      expect(await csv(`${path}page=&limit=null&cursor=`)).toBe(await csv(path))
    }
    const both = `${SETTLED}?limit=1&cursor=${cursor}`
    expect(await json(both, { accept: 'text/csv; profile=koinly' })).toMatchObject(refused('limit, cursor'))
    const post = (body: object) => ({ method: 'POST', accept, body: JSON.stringify(body) })
    expect(await json(DETAILS, post({ page: 1, limit: 10 }))).toMatchObject(refused('page, limit'))
    expect(await csv(DETAILS, post({ page: null, cursor: '' }))).toBe(await csv(DETAILS, { method: 'POST' }))
    // A page that there is none of is told as in JSON.
    expect((await json(`${SETTLED}?page=0`, { accept })).msg).toContain('page')
  })

  test('keeps a label that begins as a formula as text', async () => {
    const label = { chain: 'mainnet', account: 'demo', pubkey: pubkeyOf(11), label: '=1+1,"2"', version: 1 }
    await insertRows(fixture.warehouse, 'validator_labels', [label])
    const lines = (await csv(DETAILS, { method: 'POST' })).trimEnd().split('\r\n')
    expect(lines[0]).toMatch(/^network,pubkey,.*,status_estimates\.error_seconds\.active,.*,label$/)
    expect(lines.slice(1).map((line) => line.split(',')[1])).toEqual([50, 40, 41, 12, 11, 10].map(pubkeyOf))
    expect(lines[5]).toMatch(/,"'=1\+1,""2"""$/)
  })

  test('a head asks for no rows, and a token that is none for nothing', async () => {
    await moveTables(fixture.warehouse)
    const before = fixture.statements.length
    expect(await csv(SETTLED, { method: 'HEAD' })).toBe('')
    expect(fixture.statements.slice(before).filter((sql) => sql.includes('FROM settlements FINAL'))).toEqual([])
    expect((await ask(SETTLED, { accept: 'text/csv', token: 'revoked' })).status).toBe(401)
    expect((await json(`${SETTLED}?start_date=1.1.2026`, { accept: 'text/csv' })).code).toBe('4001')
  })
})

describe('days of a validator', () => {
  test('has the parts of each day', async () => {
    const { data, completeness } = await json(
      `${OF_ONE}?pubkey=${pubkeyOf(10).toUpperCase().replace('X', 'x')}&${SINCE}`,
    )
    expect(data).toMatchObject({ pubkey: pubkeyOf(10), validator_index: 10 })
    expect(data.rewards.map((item: { date: string }) => item.date)).toEqual(['2026-11-18', '2026-11-19'])
    expect(data.rewards[0]).toMatchObject({
      el_reward: '0.005',
      cl_reward: '0.0000001',
      total_reward: '0.0050001',
      source: '0.0000001',
      residual: '0',
    })
    expect(completeness.state).toBe('complete')
  })

  test('shows an account its own days alone, however long the range', async () => {
    await insertOwners(fixture.warehouse, [{ account: 'other', pubkey: pubkeyOf(12), from: '2026-11-19', version: 2 }])
    const datesOf = async (token: string, since: string) => {
      const { data } = await json(`${OF_ONE}?pubkey=${pubkeyOf(12)}&start_date=${since}`, { token })
      return data.rewards.map((item: { date: string }) => item.date)
    }
    for (const since of ['2026-11-18', '2001-01-01']) {
      expect(await datesOf(TOKEN, since)).toEqual(['2026-11-18'])
      expect(await datesOf('token-of-other', since)).toEqual(['2026-11-19'])
    }
    expect(await json(`${OF_ONE}?pubkey=${pubkeyOf(20)}`)).toMatchObject({ code: '400' })
    expect(await json(`${OF_ONE}?pubkey=${pubkeyOf(13)}`)).toMatchObject({
      data: { validator_index: null, rewards: [] },
    })
  })
})

describe('statements', () => {
  test('are signed by the key that is served, and say what the answers say', async () => {
    const { data } = await json(`${STATEMENT}?month=2026-11`)
    const pem = await (await fetch(`${fixture.api.url}/statement-key.pem`)).text()
    expect(verify(null, Buffer.from(data.statement), pem, Buffer.from(data.signature, 'base64'))).toBe(true)
    const forged = data.statement.replace('"account":"demo"', '"account":"other"')
    expect(forged).not.toBe(data.statement)
    expect(verify(null, Buffer.from(forged), pem, Buffer.from(data.signature, 'base64'))).toBe(false)
    const said = JSON.parse(data.statement)
    const days = await json(`${DAILY}?start_date=2026-11-01&limit=1000`)
    const settled = await json(`${SETTLED}?start_date=2026-11-01&limit=1000`)
    expect(said).toMatchObject({
      account: 'demo',
      protocol: 'ethereum',
      network: 'mainnet',
      month: '2026-11',
      as_of: { epoch: 451 },
      completeness: { state: 'not_final', not_final_from: '2026-11-20' },
      days: days.data.reward,
      settlements: settled.data.rewards.toReversed(),
      sum_reward: settled.data.sum_reward,
      sum_service_fee: settled.data.sum_service_fee,
    })
    // 3 rows of the first day, one of them of version 2; the second day's third row is another account's by now, and one is of version 9.
    expect(said.days.map(({ versions }: { versions: string }) => versions)).toEqual(['4', '10'])
  })

  test('are the same while the rows are, and others when one of them was written anew', async () => {
    const text = async () => (await json(`${STATEMENT}?month=2026-11`)).data.statement as string
    const before = await text()
    await moveTables(fixture.warehouse)
    expect(await text()).toBe(before)
    await fixture.warehouse.command(
      `INSERT INTO settlements SELECT * REPLACE (version + 1 AS version) FROM settlements FINAL WHERE chain = 'mainnet' AND slot = 300`,
    )
    const after = await text()
    expect(after).not.toBe(before)
    expect(after).toBe(before.replace(/("id":300,[^}]*"version":)"1"/, '$1"2"'))
  })

  test.each([
    ['2026-13', '4001'],
    ['2026-1', '4001'],
    ['november', '4001'],
    ['2026-12', '4002'],
    ['1969-12', '200'],
    ['9999-12', '4002'],
  ])('of the month %s are answered with %s', async (month, code) => {
    expect(await json(`${STATEMENT}?month=${month}`)).toMatchObject({ code })
  })
})

// The last: it gives the chain a longer life.
describe('a chain of a long life', () => {
  beforeAll(async () => {
    const clock = { seconds_per_slot: 12, slots_per_epoch: 32, version: 2 }
    await insertRows(fixture.warehouse, 'chains', [{ genesis_time_sec: GENESIS_SEC - 100 * 86_400, ...clock }])
  })

  test('has its settlements as CSV in one answer, which pages of JSON may not', async () => {
    const query = '?start_date=2026-08-20'
    expect((await json(`${SETTLED}${query}`)).code).toBe('4003')
    const lines = (await csv(`${SETTLED}${query}`)).trimEnd().split('\r\n')
    expect(lines.slice(1).map((line) => line.split(',')[0])).toEqual(['401', '400', '300', '200', '100'])
  })

  test('breaks a report off where something cannot be read: it never looks whole', async () => {
    await moveTables(fixture.warehouse)
    let reads = 0
    fixture.beforeStatement = async (sql) => {
      if (sql.includes('FROM settlements FINAL') && ++reads === 2) throw new Error('the second span is gone')
    }
    try {
      const response = await ask(`${SETTLED}?start_date=2026-08-20`, { accept: 'text/csv' })
      expect(response.status).toBe(200)
      await expect(response.text()).rejects.toThrow()
    } finally {
      fixture.beforeStatement = () => Promise.resolve()
    }
    expect(fixture.logged()).toContain('a report broke off')
  })

  test('ends what is read for a client that has left', async () => {
    const held = Promise.withResolvers<AbortSignal>()
    const released = Promise.withResolvers<void>()
    fixture.beforeStatement = async (sql, limits) => {
      if (limits?.signal === undefined || !sql.includes('residual_gwei')) return
      held.resolve(limits.signal)
      await released.promise
    }
    try {
      const path = `${OF_ONE}?pubkey=${pubkeyOf(11)}&start_date=2001-01-01`
      const client = request(`${fixture.base}${path}`, { agent: false, headers: { accept: 'text/csv' } })
      client.on('error', () => {}).end()
      const aborted = once(await held.promise, 'abort')
      client.destroy()
      await aborted
    } finally {
      fixture.beforeStatement = () => Promise.resolve()
      released.resolve()
    }
  })

  test('costs a unit of the plan for what is told or known, and none for what breaks off', async () => {
    await using counters = await openMemoryCounters()
    const plan = { name: 'small', requestsPerDay: 3 }
    await using meter = new Meter({ counters, clientCounters: counters, planOf: () => plan, log: silentLog })
    await using api = await openApi({ ...fixture.parts, meter, host: '127.0.0.1', port: 0 })
    const asked = (headers: Record<string, string>) =>
      fetch(`${api.url}/ethereum/mainnet/${TOKEN}${SETTLED}`, { headers })
    const tag = (await ask(SETTLED)).headers.get('etag') ?? ''
    expect((await asked({ 'if-none-match': tag })).status).toBe(304)
    expect(await (await asked({ accept: 'text/csv' })).text()).toContain('400,block')
    fixture.beforeStatement = async (sql) => {
      if (sql.includes('FROM settlements FINAL')) throw new Error('it cannot be read')
    }
    await moveTables(fixture.warehouse)
    try {
      const broken = await asked({ accept: 'text/csv', 'accept-encoding': 'gzip' })
      expect(broken.status).toBe(200)
      await expect(broken.text()).rejects.toThrow()
    } finally {
      fixture.beforeStatement = () => Promise.resolve()
    }
    expect((await asked({})).status).toBe(200)
    expect((await asked({ accept: 'text/csv' })).status).toBe(429)
  })

  test('does not keep the API from closing while somebody takes a report', async () => {
    await moveTables(fixture.warehouse)
    const released = Promise.withResolvers<void>()
    fixture.beforeStatement = async (sql) => {
      if (sql.includes('FROM settlements FINAL')) await released.promise
    }
    const api = await openApi({ ...fixture.parts, host: '127.0.0.1', port: 0 })
    try {
      const url = `${api.url}/ethereum/mainnet/${TOKEN}${SETTLED}?start_date=2026-08-20`
      const response = await fetch(url, { headers: { accept: 'text/csv' } })
      const broken = expect(response.text()).rejects.toThrow()
      await api[Symbol.asyncDispose]()
      await broken
    } finally {
      fixture.beforeStatement = () => Promise.resolve()
      released.resolve()
    }
  })
})
