import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checksumAddress } from '../../schemas/eth/address.ts'
import {
  type ApiFixture,
  addressOf,
  epochRow,
  hashOf,
  insertRows,
  moveTables,
  openApiFixture,
  pubkeyOf,
  TOKEN,
} from './api-fixture.ts'

let fixture: ApiFixture
beforeAll(async () => {
  fixture = await openApiFixture({ tellsWrites: false })
  // An epoch of the closed day with a block of validator 10; the fixture has the epoch for 10 and not for 11.
  await insertRows(fixture.warehouse, 'validator_epochs', [epochRow(449, '2026-11-19', 11, { head_gwei: -3 })])
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

// biome-ignore lint/suspicious/noExplicitAny: results are compared as a whole.
async function ask(query: string, variables?: Record<string, unknown>): Promise<any> {
  const response = await fetch(`${fixture.base}/graphql`, {
    method: 'POST',
    body: JSON.stringify({ query, variables }),
  })
  return response.json()
}

const LEVELS = `query ($first: Int, $from: String, $to: String) {
  validators(first: $first) {
    totalCount
    nodes { index days(from: $from, to: $to) {
      date consensusReward { gwei eth } totalReward { wei eth }
      epochs { epoch head { gwei } blocks { slot } }
      blocks { slot blockHash attestations { gwei } revenue { wei eth } revenueRecipient }
    } }
  }
}`

describe('answers', () => {
  test('goes from validators to days, epochs and blocks', async () => {
    const { data, errors } = await ask(LEVELS, { first: 2, from: '2026-11-18', to: '2026-11-20' })
    expect(errors).toBeUndefined()
    expect(data.validators.totalCount).toBe(3)
    expect(data.validators.nodes.map((node: { index: number }) => node.index)).toEqual([10, 11])
    expect(data.validators.nodes[0].days[1]).toEqual({
      date: '2026-11-19',
      consensusReward: { gwei: '-2000', eth: '-0.000002' },
      totalReward: { wei: '-2000000000000', eth: '-0.000002' },
      epochs: [{ epoch: 449, head: { gwei: '3' }, blocks: [{ slot: 14_375 }] }],
      blocks: [
        {
          slot: 14_375,
          blockHash: hashOf(14_375),
          attestations: { gwei: '1' },
          revenue: { wei: '3000000000000001', eth: '0.003000000000000001' },
          revenueRecipient: checksumAddress(addressOf(14_375)),
        },
      ],
    })
    expect(data.validators.nodes[1].days[1].epochs).toEqual([{ epoch: 449, head: { gwei: '-3' }, blocks: [] }])
  })

  test('asks the warehouse once per level, however many validators and days', async () => {
    const count = async (variables: Record<string, unknown>) => {
      const before = fixture.statements.length
      expect((await ask(LEVELS, variables)).errors).toBeUndefined()
      return fixture.statements.length - before
    }
    // Reads what the requests of an account share, its days among them.
    await ask('{ validators { nodes { days(from: "2026-11-18", to: "2026-11-20") { date } } } }')
    const one = await count({ first: 1, from: '2026-11-19', to: '2026-11-20' })
    // how the tables stand, epochs, blocks of days and what they paid, blocks of epochs and what they paid
    expect(one).toBe(6)
    expect(await count({ first: 50, from: '2026-11-18', to: '2026-11-20' })).toBe(one)
  })

  test('pages by cursor and filters by public key', async () => {
    const query =
      'query ($after: String) { validators(first: 2, after: $after) { nodes { index } pageInfo { hasNextPage endCursor } } }'
    const first = (await ask(query)).data.validators
    expect(first.pageInfo).toEqual({ hasNextPage: true, endCursor: '11' })
    const second = (await ask(query, { after: first.pageInfo.endCursor })).data.validators
    expect(second).toEqual({ nodes: [{ index: 12 }], pageInfo: { hasNextPage: false, endCursor: '12' } })
    const { data } = await ask(
      `{ validators(pubkeys: ["${pubkeyOf(12)}", "${pubkeyOf(20)}"]) { nodes { index status } } }`,
    )
    expect(data.validators.nodes).toEqual([{ index: 12, status: 'exited_slashed' }])
  })

  test('sums the days of the account as the REST API does', async () => {
    const { data } = await ask(
      '{ newestEpoch days { date totalReward { eth } validatorsCount validatorsActiveCount validatorsMissingCount } }',
    )
    expect(data).toEqual({
      newestEpoch: 451,
      days: [
        {
          date: '2026-11-19',
          totalReward: { eth: '-0.0000015' },
          validatorsCount: 3,
          validatorsActiveCount: 1,
          validatorsMissingCount: 0,
        },
      ],
    })
  })

  test('answers GET and introspection', async () => {
    const response = await fetch(
      `${fixture.base}/graphql?query=${encodeURIComponent('{ __schema { queryType { name } } }')}`,
    )
    expect(await response.json()).toEqual({ data: { __schema: { queryType: { name: 'Query' } } } })
  })
})

describe('refusals', () => {
  test('refuses a query that asks for too much of the schema', async () => {
    const fields = Array.from({ length: 60 }, (_, at) => `f${at}: fields { name description }`).join(' ')
    const { data, errors } = await ask(`{ __schema { types { ${fields} } } }`)
    expect(data).toBeUndefined()
    expect(errors[0].message).toBe(
      'Param error: the query asks for more than 50000 fields of the schema: ask for a list of it once, or for single types by __type(name:)',
    )
  })

  test('refuses a query that costs too much, with its cost and the limit, before it runs', async () => {
    const before = fixture.statements.length
    const days =
      'nodes { days(from: "2026-10-21", to: "2026-11-20") { epochs { source { gwei eth } target { gwei eth } } } }'
    const aliases = ['a', 'b', 'c', 'd'].map((alias) => `${alias}: validators(first: 1000) { ${days} }`)
    const { data, errors } = await ask(`{ ${aliases.join(' ')} }`)
    expect(data).toBeUndefined()
    expect(errors[0].message).toMatch(
      /^Param error: the query costs \d+ fields, the limit is 500000: ask for shorter windows, fewer nodes/,
    )
    expect(fixture.statements.length - before).toBe(1) // how the tables stand
  })

  test.each([
    ['{ validators(first: 0) { totalCount } }', '400', /first/],
    ['{ validators(after: "x") { totalCount } }', '400', /after/],
    ['{ validators(pubkeys: ["0x1"]) { totalCount } }', '400', /pubkeys/],
    ['{ days(from: "yesterday") { date } }', '4001', /^Date format is incorrect: from is not YYYY-MM-DD$/],
    ['{ days(to: "tomorrow") { date } }', '4001', /^Date format is incorrect: to is not YYYY-MM-DD$/],
    ['{ days(from: "2027-01-01") { date } }', '4002', /^Date can not be greater than today: from$/],
    ['{ days(to: "2027-01-01") { date } }', '4002', /^Date can not be greater than today: to$/],
    [
      '{ days(from: "2025-01-01") { date } }',
      '4003',
      /^from and today are \d+ days apart, at most 366 can be asked for: ask/,
    ],
    [
      '{ network(from: "2025-01-01", to: "2026-11-01") { date } }',
      '4003',
      /^from and to are 669 days apart, at most 366 can be asked for: ask for a shorter window$/,
    ],
    [
      '{ localDays(utcOffset: "+08:00", from: "2026-10-01", to: "2026-11-02") { date } }',
      '4003',
      /^from and to are 32 days apart, at most 31 can be asked for: ask for a shorter window$/,
    ],
    [
      '{ days(from: "2026-11-02", to: "2026-11-01") { date } }',
      '400',
      /^Param error: from is after to: exchange them$/,
    ],
    ['{ settlements(from: "2026-11-02", to: "2026-11-01") { totalCount } }', '400', /: from is after to: exchange/],
  ])('refuses %s with %s', async (query, code, message) => {
    const { errors } = await ask(query)
    expect(errors[0].extensions.code).toBe(code)
    expect(errors[0].message).toMatch(message)
    expect(JSON.stringify(errors)).not.toContain('stack')
  })

  test('refuses a batch, a document that is too long, and a mutation', async () => {
    const post = async (body: unknown) => {
      const response = await fetch(`${fixture.base}/graphql`, { method: 'POST', body: JSON.stringify(body) })
      return (await response.json()) as { errors?: { message: string }[]; data?: unknown }
    }
    const batch = await post([{ query: '{ newestEpoch }' }, { query: '{ newestEpoch }' }])
    expect(batch.data).toBeUndefined()
    expect(batch.errors?.[0]?.message).toMatch(/[Bb]atch/)
    const long = await post({ query: `{ ${'newestEpoch '.repeat(6_000)} }` })
    expect(long.errors?.[0]?.message).toMatch(/more tha[nt] 5000 tokens/)
    expect((await post({ query: 'mutation { x }' })).errors).toBeDefined()
    expect((await post('nonsense')).errors).toBeDefined()
  })

  test('equal fields share a statement, and too many different ones are refused before any runs', async () => {
    const before = fixture.statements.length
    const same = Array.from({ length: 300 }, (_, n) => `a${n}: days(from: "2026-11-18") { date }`)
    const { data } = await ask(`{ ${same.join(' ')} }`)
    expect(Object.keys(data)).toHaveLength(300)
    // how the tables stand, validators, their states, the days
    expect(fixture.statements.length - before).toBeLessThanOrEqual(4)
    const between = fixture.statements.length
    const different = Array.from({ length: 300 }, (_, n) => {
      const [from, to] = [`2026-10-${10 + (n % 20)}`, `2026-11-0${1 + (Math.floor(n / 20) % 9)}`]
      return `a${n}: days(from: "${from}", to: "${to}") { date }`
    })
    const { errors } = await ask(`{ ${different.join(' ')} }`)
    expect(errors[0].message).toMatch(/takes 180 statements, the limit is 24/)
    expect(fixture.statements.length - between).toBe(1)
  })

  const NESTED = `${'['.repeat(2_000)}${']'.repeat(2_000)}`
  test.each([
    ['a body that is no JSON', '{"query":', ''],
    ['no body', '', ''],
    ['a body that is no object', '5', ''],
    ['no query', '{}', ''],
    ['a query that is no text', '{"query":5}', ''],
    ['a syntax error', '{"query":"{ a"}', ''],
    ['an unknown field', '{"query":"{ foo }"}', ''],
    ['variables that are a list', '{"query":"{ newestEpoch }","variables":[1]}', ''],
    [
      'a variable of the wrong type',
      '{"query":"query($n:Int){validators(first:$n){totalCount}}","variables":{"n":"x"}}',
      '',
    ],
    ['an operation that is not there', '{"query":"query A { newestEpoch }","operationName":"B"}', ''],
    ['a mutation', '{"query":"mutation { newestEpoch }"}', ''],
    ['lists in lists in lists', JSON.stringify({ query: `{ validators(pubkeys: ${NESTED}) { totalCount } }` }), ''],
    ['a form', 'query=%7BnewestEpoch%7D', 'application/x-www-form-urlencoded'],
  ])('refuses %s with 400, and logs no failure', async (_what, body, type) => {
    const logged = fixture.logged().length
    const headers = { 'content-type': type === '' ? 'application/json' : type }
    const response = await fetch(`${fixture.base}/graphql`, { method: 'POST', body, headers })
    expect(response.status).toBe(400)
    expect(fixture.logged().slice(logged)).not.toContain('"level":50')
  })

  test('reads a body with a byte order mark before it', async () => {
    const body = '\ufeff{"query":"{ __typename }"}'
    const response = await fetch(`${fixture.base}/graphql`, { method: 'POST', body })
    expect(await response.json()).toEqual({ data: { __typename: 'Query' } })
  })

  test('refuses a body that is compressed with 415, and echoes nothing of it', async () => {
    const response = await fetch(`${fixture.base}/graphql`, {
      method: 'POST',
      body: gzipSync('{"query":"{ newestEpoch }"}'),
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    })
    expect(response.status).toBe(415)
    expect(await response.json()).toEqual({
      errors: [
        {
          message: 'Unsupported Media Type: the body is compressed: send it without Content-Encoding',
          extensions: { code: '415' },
        },
      ],
    })
  })

  test.each(['?query={newestEpoch}&variables=x', '?query={newestEpoch}&extensions=x', '?query=%7B', ''])(
    'refuses GET with %s by 400, and logs no failure',
    async (search) => {
      const logged = fixture.logged().length
      expect((await fetch(`${fixture.base}/graphql${search}`)).status).toBe(400)
      expect(fixture.logged().slice(logged)).not.toContain('"level":50')
    },
  )

  const TAKES_A = '{"query":"query ($a: Int) { __typename }"'
  test.each([
    ['POST', 'query', '{"query":"{ newestEpoch }","query":"{ __typename }"}'],
    ['POST', 'query', '{"query":"{ newestEpoch }","qu\\u0065ry":"{ __typename }"}'],
    ['POST', 'variables', `${TAKES_A},"variables":{"a":1},"variables":{"a":1}}`],
    ['POST', 'a', `${TAKES_A},"variables":{"a":1,"a":1}}`],
    ['POST', 'operationName', '{"query":"query A { newestEpoch }","operationName":"A","operationName":"A"}'],
    ['GET', 'query', '?query={newestEpoch}&query={__typename}'],
    ['GET', 'a', '?query=query($a:Int){__typename}&variables={"a":1,"a":1}'],
  ])('refuses %s that gives %s twice: %s', async (method, name, asked) => {
    const [search, init] = method === 'GET' ? [asked, {}] : ['', { body: asked }]
    const response = await fetch(`${fixture.base}/graphql${search}`, { method, ...init })
    expect(response.status).toBe(400)
    const message = `Param error: ${name} is given more than once`
    expect(await response.json()).toEqual({ errors: [{ message, extensions: { code: '400' } }] })
  })

  test('answers 401 in the envelope for an unknown token', async () => {
    const response = await fetch(`${fixture.base.replace(TOKEN, 'unknown')}/graphql`, { method: 'POST', body: '{}' })
    expect(response.status).toBe(401)
    expect(await response.json()).toEqual({ code: '401', msg: 'Authentication failed', data: null })
  })

  test('hides internals of a failure and logs it under the id of the answer', async () => {
    await moveTables(fixture.warehouse)
    await fixture.warehouse.command('RENAME TABLE daily_rewards TO hidden_rewards')
    try {
      const { errors } = await ask('{ days { date } }')
      expect(errors).toHaveLength(1)
      expect(errors[0]).toMatchObject({ message: 'Server error', path: ['days'], extensions: { code: '500' } })
      expect(JSON.stringify(errors)).not.toContain('rewards')
      expect(fixture.logged()).toContain(errors[0].extensions.requestId)
      expect(fixture.logged()).not.toContain(TOKEN)
    } finally {
      await fixture.warehouse.command('RENAME TABLE hidden_rewards TO daily_rewards')
    }
  })
})
