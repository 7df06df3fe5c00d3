import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { Compile } from 'typebox/schema'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checksumAddress } from '../../schemas/eth/address.ts'
import { ErrorEnvelope, RESULTS } from '../../schemas/routes/envelope.ts'
import { ReadyAnswer } from '../../schemas/routes/probes.ts'
import {
  type ApiFixture,
  addressOf,
  FAR,
  hashOf,
  insertRows,
  moveTables,
  OPERATIONS,
  openApiFixture,
  pubkeyOf,
  TOKEN,
} from './api-fixture.ts'

const DAILY = '/api/v1/validator/daily-rewards'
const TOTAL = '/api/v1/validator/total-rewards'
const SETTLED = '/api/v1/cloud/validator/el/settle/rewards'
const DETAILS = '/api/v1/validator/details'
const NOON = '2026-11-20 04:00:00'

let fixture: ApiFixture
beforeAll(async () => {
  fixture = await openApiFixture()
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into by hand here; the conformance tests check their shape.
  readonly body: any
}

const isErrorEnvelope = Compile(ErrorEnvelope)
const responseChecks = new Map(
  OPERATIONS.flatMap(({ route }) => route.paths.map((path) => [path, Compile(route.response)] as const)),
)

/** Every answer of every test is checked against its route's definition. */
async function ask(path: string, init?: RequestInit & { readonly token?: string }): Promise<Answer> {
  const prefix = fixture.base.replace(TOKEN, init?.token ?? TOKEN)
  const response = await fetch(`${prefix}${path}`, init)
  const body: unknown = await response.json()
  const check = response.status === 200 ? responseChecks.get(path.split('?')[0] ?? '') : isErrorEnvelope
  expect(check?.Errors(body), path).toEqual([true, []])
  expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  return { status: response.status, headers: response.headers, body }
}

function details(body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  return ask(DETAILS, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), headers })
}

describe('daily rewards', () => {
  test('answers yesterday without dates', async () => {
    const { status, body } = await ask(DAILY)
    expect(status).toBe(200)
    expect(body).toEqual({
      code: '200',
      msg: 'Success',
      data: {
        reward: [
          {
            date: '2026-11-19',
            el_reward: '0',
            cl_reward: '-0.0000015',
            total_reward: '-0.0000015',
            validators_active_count: 1,
          },
        ],
      },
      pagination: { page: 1, limit: 10, total: 1 },
      next_cursor: null,
      completeness: { state: 'complete', final_through: '2026-11-19', not_final_from: null, incomplete: [] },
    })
  })

  test('adds execution and consensus income to the wei and counts the validators above zero', async () => {
    const { body } = await ask(`${DAILY}?start_date=2026-11-18&end_date=2026-11-19`)
    expect(body.data.reward).toEqual([
      {
        date: '2026-11-18',
        el_reward: '0.005000001000000001',
        cl_reward: '0.000000049',
        total_reward: '0.005000050000000001',
        validators_active_count: 2,
      },
    ])
  })

  test('answers both spellings alike', async () => {
    const query = '?start_date=2026-11-18'
    const [one, other] = await Promise.all([ask(`${DAILY}${query}`), ask(`/api/v1/validator/daliy-rewards${query}`)])
    expect(other.body).toEqual(one.body)
    expect(one.body.data.reward.map((item: { date: string }) => item.date)).toEqual(['2026-11-18', '2026-11-19'])
  })

  test('pages through the days', async () => {
    const { body } = await ask(`${DAILY}?start_date=2026-11-18&page=2&limit=1`)
    expect(body.data.reward.map((item: { date: string }) => item.date)).toEqual(['2026-11-19'])
    expect(body.pagination).toEqual({ page: 2, limit: 1, total: 2 })
  })

  test('leaves out a day that is not closed, and answers an empty list for an empty window', async () => {
    for (const query of [
      '?end_date=2026-11-18',
      '?start_date=2026-11-20',
      '?start_date=2026-11-18&end_date=2026-11-18',
      '?page=3',
    ]) {
      expect((await ask(`${DAILY}${query}`)).body.data.reward, query).toEqual([])
    }
  })

  test('takes a range of any length', async () => {
    for (const start of ['2026-01-01', '2015-07-30', '1969-12-31', '0001-01-01']) {
      const { status, body } = await ask(`${DAILY}?start_date=${start}&limit=1000`)
      expect(status, start).toBe(200)
      expect(body.data.reward.at(-1).date, start).toBe('2026-11-19')
    }
  })

  test('leaves out a day without rows of the account', async () => {
    expect((await ask(`${DAILY}?start_date=2026-11-18`, { token: 'token-of-other' })).body.data.reward).toHaveLength(1)
    expect((await ask(`${DAILY}?start_date=2026-11-18`, { token: 'token-of-empty' })).body.data.reward).toEqual([])
  })
})

describe('total rewards', () => {
  test('adds closed days and the detail of open days, each once', async () => {
    const { body } = await ask(TOTAL)
    expect(body.data.validator_details).toEqual([
      {
        validator_index: 10,
        pubkey: pubkeyOf(10),
        // 100 - 2000 closed, two epochs of 6, 70 sync and 90 proposer of the open day
        cl_total_reward: '-0.000001728',
        el_total_reward: '0.008000000000000001',
        total_reward: '0.007998272000000001',
        cl_balance: '32.00000001',
        effective_balance: '32',
        status: 'active_ongoing',
      },
      {
        validator_index: 11,
        pubkey: pubkeyOf(11),
        cl_total_reward: '0.00000042',
        el_total_reward: '0',
        total_reward: '0.00000042',
        cl_balance: '32.000000011',
        effective_balance: '32',
        status: 'active_ongoing',
      },
      {
        validator_index: 12,
        pubkey: pubkeyOf(12),
        cl_total_reward: '-0.000000589',
        el_total_reward: '0.000000001000000001',
        total_reward: '-0.000000587999999999',
        cl_balance: '32.000000012',
        effective_balance: '32',
        status: 'exited_slashed',
      },
    ])
    expect(body.pagination).toEqual({ page: 1, limit: 10, total: 3 })
  })

  test('lack the running day of whose block the execution part is not there, until it comes', async () => {
    const totalsOf11 = async () => {
      const { data, completeness } = (await ask(TOTAL)).body
      return { el: data.validator_details[1].el_total_reward, lacks: completeness.incomplete }
    }
    const lacks = [{ start_date: '2026-11-20', end_date: '2026-11-21', validators_missing: 1 }]
    expect(await totalsOf11()).toEqual({ el: '0', lacks })
    const block = { block_hash: hashOf(14_402), block_number: 14_402, coinbase: addressOf(14_402), time: NOON }
    const tell = async (version: number, is_deleted: number) => {
      await insertRows(fixture.warehouse, 'execution_blocks', [
        { ...block, priority_fees_wei: 5n, version, is_deleted },
      ])
      await moveTables(fixture.warehouse)
    }
    await tell(10, 0)
    expect(await totalsOf11()).toEqual({ el: '0.000000000000000005', lacks: [] })
    await tell(11, 1)
    expect(await totalsOf11()).toEqual({ el: '0', lacks })
  })

  test('aggregates over all validators whatever the page', async () => {
    for (const query of ['', '?limit=1', '?page=9']) {
      const { validator_details: items, ...aggregates } = (await ask(`${TOTAL}${query}`)).body.data
      expect(items, query).toHaveLength(query === '' ? 3 : query === '?limit=1' ? 1 : 0)
      expect(aggregates, query).toEqual({
        validators_active_count: 2,
        validators_total_count: 3,
        validators_total_rewards: '0.007998104000000002',
        validators_total_cl_balance: '96.000000033',
      })
    }
  })

  test('counts a day once when it is closed between the statements of a request', async () => {
    const before = (await ask(TOTAL)).body
    const closed = {
      day: '2026-11-20',
      first_slot: 14_384,
      last_slot: 21_583,
      validators: 4,
      validators_unexplained: 0,
    }
    await moveTables(fixture.warehouse)
    fixture.beforeStatement = async (sql) => {
      if (sql.includes('income.cl_reward'))
        await insertRows(fixture.warehouse, 'closed_days', [{ ...closed, version: 1 }])
    }
    try {
      expect((await ask(TOTAL)).body).toEqual(before)
      fixture.beforeStatement = () => Promise.resolve()
      // Now it is closed, and its row counts instead of its detail.
      expect((await ask(TOTAL)).body.data.validator_details[0].cl_total_reward).toBe('0.000121556')
    } finally {
      fixture.beforeStatement = () => Promise.resolve()
      await fixture.warehouse.command(
        "ALTER TABLE closed_days DELETE WHERE day = '2026-11-20' SETTINGS mutations_sync = 1",
      )
    }
  })

  test('answers zeros for an account without validators', async () => {
    const { body } = await ask(TOTAL, { token: 'token-of-empty' })
    expect(body.data).toEqual({
      validator_details: [],
      validators_active_count: 0,
      validators_total_count: 0,
      validators_total_rewards: '0',
      validators_total_cl_balance: '0',
    })
  })
})

describe('settled rewards', () => {
  test('lists the last month newest first with the sums of the filter', async () => {
    const { body } = await ask(`${SETTLED}?limit=1`)
    expect(body.data).toEqual({
      rewards: [
        {
          id: 400,
          kind: 'block',
          pubkey: pubkeyOf(12),
          validator_index: 12,
          fee_address: checksumAddress(addressOf(400)),
          el_reward: '0.0197237331857824',
          fee_rate: '0.3',
          user_reward: '0.01380661323004768',
          service_fee: '0.00591711995573472',
          reward_time: '2026-11-20 11:00:00',
          block_number: 400,
          reason: null,
        },
      ],
      sum_reward: '0.04141983969014304',
      sum_service_fee: '0.01775135986720416',
    })
    expect(body.pagination).toEqual({ page: 1, limit: 1, total: 3 })
  })

  test.each([
    ['start_date=2026-11-19&end_date=2026-11-20', [300]],
    ['start_date=2026-11-18&end_date=2026-11-19', [200]],
    ['start_date=2026-11-20', [400]],
    ['end_date=2026-11-19', [200, 100]],
    ['validator_indexes=10,12', [400, 200]],
    ['validator_indexes=10&validator_indexes=11', [300, 200]],
    ['validator_indexes[]=11&validator_indexes%5B%5D=12', [400, 300]],
    ['validator_indexes=20', []],
    ['validator_indexes[0]=11&validator_indexes%5B1%5D=12', [400, 300]],
    ['validator_indexes=[11,12]', [400, 300]],
    ['validator_indexes=%5B%2211%22,%2012%5D', [400, 300]],
    ['validator_indexes=11,+12', [400, 300]],
    ['validator_indexes=', [400, 300, 200]],
    ['validator_indexes=null&start_date=&page=', [400, 300, 200]],
  ])('filters by %s', async (query, ids) => {
    const { body } = await ask(`${SETTLED}?${query}`)
    expect(body.data.rewards.map((item: { id: number }) => item.id)).toEqual(ids)
    expect(body.pagination.total).toBe(ids.length)
  })
})

describe('validator details', () => {
  test.each([
    ['limit=1', 'limit is not understood: limit belongs into the body'],
    ['page=2', 'page is not understood: page belongs into the body'],
    ['cursor=x', 'cursor is not understood: cursor belongs into the body'],
    ['Pubkeys[0]=0x', 'Pubkeys[0] is not understood: pubkeys belongs into the body'],
  ])('are not paged or chosen in the address: %s', async (query, detail) => {
    const { status, body } = await ask(`${DETAILS}?${query}`, { method: 'POST', body: '{}' })
    expect([status, body.msg]).toEqual([400, `Param error: ${detail}`])
    expect((await ask(`${DETAILS}?_=1`, { method: 'POST', body: '{}' })).status).toBe(200)
  })

  test('describes all validators of the account, newest first', async () => {
    const { body } = await details({})
    expect(body.pagination).toEqual({ page: 1, limit: 10, total: 3 })
    expect(body.data.map((item: { pubkey: string }) => item.pubkey)).toEqual([12, 11, 10].map(pubkeyOf))
    expect(body.data[2]).toEqual({
      network: 'mainnet',
      pubkey: pubkeyOf(10),
      withdrawal_address: checksumAddress(addressOf(10)),
      withdrawal_credentials: `0x01${'00'.repeat(11)}${addressOf(10).slice(2)}`,
      fee_recipient_address: checksumAddress(addressOf(14_465)),
      deposit_from_address: '',
      status: 'active_ongoing',
      slashed: false,
      activation_epoch: '3',
      exit_epoch: FAR,
      withdrawable_epoch: FAR,
      status_estimates: {
        estimated_active_at: '2026-11-17T16:22:24.000Z',
        estimated_exit_at: null,
        estimated_withdrawal_at: null,
        error_seconds: { active: 0, exit: null, withdrawal: null },
      },
      is_need_exit: false,
      is_post_exit: false,
      label: '',
    })
    expect(body.data[0]).toMatchObject({
      withdrawal_address: '',
      fee_recipient_address: '',
      status: 'exited_slashed',
      slashed: true,
      exit_epoch: '440',
      status_estimates: {
        estimated_exit_at: '2026-11-19T14:59:12.000Z',
        estimated_withdrawal_at: '2026-12-26T00:48:00.000Z',
      },
    })
  })

  test('reads JSON whatever the content type says, and an empty body as no filter', async () => {
    for (const type of ['text/plain', 'application/json', 'nonsense', 'application/x-www-form-urlencoded']) {
      const { body } = await details({ limit: 1, page: 2 }, { 'content-type': type })
      expect(
        body.data.map((item: { pubkey: string }) => item.pubkey),
        type,
      ).toEqual([pubkeyOf(11)])
    }
    expect((await ask(DETAILS, { method: 'POST' })).body.pagination.total).toBe(3)
  })

  test.each([
    [{ pubkeys: [pubkeyOf(10).toUpperCase(), pubkeyOf(11).slice(2)] }, [11, 10]],
    [{ pubkeys: [pubkeyOf(20), pubkeyOf(13)] }, []],
    [{ pubkeys: [], withdrawal_address: addressOf(10).toUpperCase() }, [10]],
    [{ pubkeys: null, withdrawal_address: '', page: null, limit: null }, [12, 11, 10]],
    ['null', [12, 11, 10]],
    [{ withdrawal_address: addressOf(20) }, []],
    [{ page: 2, limit: 2, unknown: true }, [10]],
  ])('filters by %j', async (filter, indices) => {
    const { body } = await details(filter)
    expect(body.data.map((item: { pubkey: string }) => item.pubkey)).toEqual(indices.map(pubkeyOf))
  })
})

describe('refusals', () => {
  test.each([
    ['4001', `${DAILY}?start_date=2026-2-1`, 'start_date'],
    ['4001', `${DAILY}?end_date=2026-02-30`, 'end_date'],
    ['4002', `${DAILY}?start_date=2026-11-21`, 'start_date'],
    ['4002', `${SETTLED}?end_date=2026-11-21`, 'end_date'],
    ['4003', `${SETTLED}?start_date=2026-10-19`, 'days'],
    ['4003', `${SETTLED}?start_date=2026-01-01&end_date=2026-03-01`, 'days'],
    ['400', `${DAILY}?start_date=2026-11-19&end_date=2026-11-18`, 'start_date'],
    ['400', `${DAILY}?page=0`, 'page'],
    ['400', `${DAILY}?page=-1`, 'page must be >= 1'],
    ['400', `${DAILY}?utc_offset=+05:45`, ': + is written %2B in an address, where it is a blank'],
    ['400', `${DAILY}?page=1.0`, 'page'],
    ['400', `${DAILY}?page_size=5`, 'page_size'],
    ['400', `${DAILY}?page=1&page=2`, 'page'],
    ['400', `${TOTAL}?limit=1001`, 'limit'],
    ['400', `${TOTAL}?limit=1e2`, 'limit'],
    ['400', `${TOTAL}?page=99999999999999999999`, 'page'],
    ['400', `${SETTLED}?validator_indexes=1,x`, 'validator_indexes'],
    ['400', `${SETTLED}?validator_indexes[0][1]=10`, 'validator_indexes[0][1]'],
    ['400', `${SETTLED}?validator_indexes.0=10`, 'validator_indexes.0'],
    ['400', `${SETTLED}?validator_indexes=[10`, 'validator_indexes/0'],
    ['400', `${SETTLED}?validator_indexes=[10,null]`, 'validator_indexes/1'],
    ['400', `${SETTLED}?validator_indexes=-1`, 'validator_indexes'],
    ['400', `${SETTLED}?validator_indexes=4294967296`, 'validator_indexes'],
  ] as const)('answers %s for GET %s', async (code, path, names) => {
    const { status, body } = await ask(path)
    expect(status).toBe(RESULTS[code].httpStatus)
    expect(body.code).toBe(code)
    expect(body.msg.startsWith(RESULTS[code].text), body.msg).toBe(true)
    expect(body.msg).toContain(names)
  })

  test.each([
    ['{"pubkeys": [', 'body'],
    ['[]', 'body'],
    [{ pubkeys: 'all' }, 'pubkeys'],
    [{ pubkeys: ['0x12'] }, 'pubkeys'],
    [{ pubkeys: Array.from({ length: 1001 }, () => pubkeyOf(1)) }, 'pubkeys'],
    [{ withdrawal_address: '0x' }, 'withdrawal_address'],
    [{ page: '1' }, 'page'],
    [{ limit: 1001 }, 'limit'],
    [{ limit: 1.5 }, 'limit'],
    [{ padding: 'x'.repeat(1024 * 1024) }, 'body'],
  ])('answers 400 for the body %.60j', async (body, names) => {
    const answer = await details(body)
    expect(answer.status).toBe(400)
    expect(answer.body.code).toBe('400')
    expect(answer.body.msg).toMatch(/^Param error: /)
    expect(answer.body.msg).toContain(names)
  })

  test('answers 401 for an unknown or revoked token, before it looks at parameters', async () => {
    for (const token of ['unknown', 'revoked', '%27%20OR%201', 'x'.repeat(200)]) {
      const { status, body } = await ask(`${DAILY}?page=0`, { token })
      expect(status, token).toBe(401)
      expect(body, token).toEqual({ code: '401', msg: 'Authentication failed', data: null })
    }
  })

  test('answers 404 for an unknown path, protocol, network or method, before it looks at the token', async () => {
    const { url } = fixture.api
    const calls: [string, string][] = [
      ['GET', `/ethereum/mainnet/unknown/api/v1/validator/nothing`],
      ['GET', `/ethereum/holesky/${TOKEN}${DAILY}`],
      ['GET', `/solana/mainnet/${TOKEN}${DAILY}`],
      ['POST', `/ethereum/mainnet/${TOKEN}${DAILY}`],
      ['GET', `/ethereum/mainnet/${TOKEN}${DETAILS}`],
      ['GET', `/ethereum/mainnet/${'x'.repeat(300)}${DAILY}`],
      ['GET', `/ethereum/mainnet/%zz${DAILY}`],
      ['GET', '/'],
    ]
    for (const [method, path] of calls) {
      const response = await fetch(`${url}${path}`, { method })
      expect(response.status, path).toBe(404)
      expect(await response.json(), path).toEqual({ code: '404', msg: 'Path Not Found', data: null })
    }
  })

  test('answers a path with a slash at its end like the path', async () => {
    for (const path of [DAILY, TOTAL]) {
      const { body } = await ask(path)
      const response = await fetch(`${fixture.base}${path}/`)
      expect(await response.json(), path).toEqual(body)
    }
  })

  test('answers 404 for an unknown path, whatever body comes with it', async () => {
    for (const type of ['application/json', 'nonsense']) {
      const init = { method: 'POST', body: '{"broken', headers: { 'content-type': type } }
      const response = await fetch(`${fixture.base}/api/v1/nothing`, init)
      expect(response.status, type).toBe(404)
      expect(await response.json(), type).toMatchObject({ code: '404' })
    }
  })

  test('answers 400 for an address that is too long', async () => {
    expect((await ask(`${DAILY}?x=${'y'.repeat(33_000)}`)).body.msg).toMatch(/^Param error: the address/)
  })

  test('answers 500 without internals, and logs the failure under the id of the answer', async () => {
    await moveTables(fixture.warehouse)
    await fixture.warehouse.command('RENAME TABLE daily_rewards TO hidden_rewards')
    try {
      const { status, headers, body } = await ask(DAILY)
      expect(status).toBe(500)
      expect(body).toEqual({ code: '500', msg: 'Server error', data: null })
      const id = headers.get('x-request-id') ?? 'none'
      const line = fixture
        .logged()
        .split('\n')
        .find((text) => text.includes(id) && text.includes('request failed'))
      expect(line).toContain('daily_rewards')
    } finally {
      await fixture.warehouse.command('RENAME TABLE hidden_rewards TO daily_rewards')
    }
  })
})

describe('the listener', () => {
  test('logs no failure of ours for a body that is not sent to its end', async () => {
    const { hostname, port } = new URL(fixture.api.url)
    const cut = async (): Promise<void> => {
      const path = new URL(`${fixture.base}${DETAILS}`).pathname
      const socket = connect(Number(port), hostname)
      socket.write(`POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: 200\r\n\r\n{`)
      await wait(50)
      socket.destroy()
      await once(socket, 'close')
    }
    const before = fixture.logged().length
    for (let i = 0; i < 3; i++) await cut()
    // Whatever came of them stands in the log before what comes of this one.
    await fetch(`${fixture.base}/api/v1/nothing`)
    await wait(200)
    expect(fixture.logged().slice(before)).not.toContain('request failed')
  })

  test('never logs a token', async () => {
    await ask(DAILY)
    await ask(DAILY, { token: 'unknown-token' })
    await fetch(`${fixture.api.url}/ethereum/mainnet/${TOKEN}/nothing`)
    expect(fixture.logged()).toContain('/ethereum/mainnet/:token/api/v1/validator/daily-rewards')
    expect(fixture.logged()).not.toContain(TOKEN)
    expect(fixture.logged()).not.toContain('unknown-token')
  })

  test('is alive', async () => {
    expect(await (await fetch(`${fixture.api.url}/health`)).json()).toEqual({ status: 'ok' })
  })

  test('answers what was measured in the shape of its definition, with 503 while it is not ready', async () => {
    const ask = async () => {
      const response = await fetch(`${fixture.api.url}/ready`)
      const body = await response.json()
      expect(Compile(ReadyAnswer).Errors(body)).toEqual([true, []])
      return { httpStatus: response.status, body }
    }
    const { health } = fixture
    expect(await ask()).toMatchObject({ httpStatus: 200, body: { status: 'ready', head_slot: 14_500 } })
    fixture.health = { ...health, checks: { tables_filled: false }, reasons: ['why'] }
    expect(await ask()).toMatchObject({ httpStatus: 503, body: { status: 'not_ready', reasons: ['why'] } })
    const away = { state: 'away', sinceSec: 1_795_000_000, fault: 'node_unreachable' }
    fixture.health = { ...health, nodes: { 'mainnet beacon node 1': away } }
    expect((await ask()).body.nodes).toEqual({
      'mainnet beacon node 1': { state: 'away', since: '2026-11-18T11:06:40.000Z', fault: 'node_unreachable' },
    })
    fixture.health = health
  })

  test('does not call a token unknown before every account is in the tables', async () => {
    fixture.accountsKnown = false
    const early = await fetch(`${fixture.api.url}/ethereum/mainnet/unknown-token${DAILY}`)
    expect(early.status).toBe(503)
    expect(early.headers.get('retry-after')).toBe('5')
    expect(await early.json()).toEqual({ code: '503', msg: 'Service not ready', data: null })
    expect((await ask(DAILY)).status).toBe(200)
    fixture.accountsKnown = true
    expect((await ask(DAILY, { token: 'unknown-token' })).status).toBe(401)
  })

  test('serves no figures of tables that are being filled', async () => {
    fixture.tablesWhole = false
    const early = await ask(DAILY)
    expect(early.status).toBe(503)
    expect(early.body).toMatchObject({ code: '503', data: null })
    fixture.tablesWhole = true
    expect((await ask(DAILY)).status).toBe(200)
  })

  test('serves the OpenAPI document', async () => {
    const document = await (await fetch(`${fixture.api.url}/openapi.json`)).json()
    expect(document).toMatchObject({ openapi: '3.1.0' })
  })
})

test('answers without figures while no epoch is complete', async () => {
  await fixture.warehouse.command('RENAME TABLE epochs TO hidden_epochs')
  await fixture.warehouse.command('CREATE TABLE epochs AS hidden_epochs')
  await insertRows(fixture.warehouse, 'epochs', [])
  expect((await ask(TOTAL)).body.data).toMatchObject({ validator_details: [], validators_total_count: 3 })
  expect((await details({})).body.data).toEqual([])
})
