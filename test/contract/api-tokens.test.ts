import { Type } from 'typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FAMILIES, type Family } from '../../api/families.ts'
import { buildApp } from '../../api/http/app.ts'
import { requireChainAndAccount } from '../../api/http/chain-path.ts'
import { type Operation, operation, serveOperations } from '../../api/http/operation.ts'
import { Standings } from '../../api/http/standings.ts'
import { REWARDS_OPERATIONS } from '../../api/rewards/plugin.ts'
import { VALIDATORS_ACTIONS, VALIDATORS_OPERATIONS } from '../../api/validators/plugin.ts'
import { migrate, readMigrations } from '../../infra/warehouse/migrate.ts'
import {
  TOKEN_FAMILIES,
  TOKEN_SCOPES,
  type TokenFamily,
  type TokenLimits,
  type TokenScope,
} from '../../schemas/access-token.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import { RESULTS } from '../../schemas/routes/envelope.ts'
import { defineRoute, NoParameters } from '../../schemas/routes/route.ts'
import { toTokenLimitsRow } from '../../schemas/tables/accounts.ts'
import { type ApiFixture, insertRows, openApiFixture, pubkeyOf, TOKEN } from './api-fixture.ts'
import { everyRoute } from './every-route.ts'

/** Tokens of the account `demo`, by what each is for. */
const TOKENS = {
  everything: { scopes: TOKEN_SCOPES },
  'without read': { scopes: ['create', 'exit'] },
  'without create': { scopes: ['read', 'exit'] },
  'without exit': { scopes: ['read', 'create'] },
  'only create': { scopes: ['create'] },
  'of rewards': { scopes: TOKEN_SCOPES, families: ['rewards'] },
  'of validators': { scopes: TOKEN_SCOPES, families: ['validators'] },
  'of graphql': { scopes: TOKEN_SCOPES, families: ['graphql'] },
  'of nft': { scopes: TOKEN_SCOPES, families: ['nft'] },
  'of gateway': { scopes: TOKEN_SCOPES, families: ['gateway'] },
  'of mainnet': { scopes: TOKEN_SCOPES, chain: 'mainnet' },
  'of hoodi': { scopes: TOKEN_SCOPES, chain: 'hoodi' },
} as const satisfies Readonly<Record<string, TokenLimits>>
type TokenName = keyof typeof TOKENS

const tokenOf = (name: TokenName): string => name.replaceAll(' ', '-')

let fixture: ApiFixture
beforeAll(async () => {
  fixture = await openApiFixture({ tellsWrites: false })
  const rows = Object.entries(TOKENS).map(([name, limits], index) => ({
    token_hash: hashToken(tokenOf(name as TokenName)),
    account: 'demo',
    ...toTokenLimitsRow(limits),
    version: 100 + index,
    is_deleted: 0,
  }))
  await insertRows(fixture.warehouse, 'access_tokens', rows)
})
afterAll(async () => {
  await fixture[Symbol.asyncDispose]()
})

interface Way {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly scope: TokenScope
  readonly family: TokenFamily
}

const QUERY = '{ validators { totalCount } }'

function waysOf(family: TokenFamily, operations: readonly Pick<Operation, 'route'>[]): readonly Way[] {
  return operations.flatMap(({ route: { method, paths, scope = 'read' } }) =>
    paths.map((path) => ({ method, path, scope, family })),
  )
}

/** Every way to ask for something of an account. */
const WAYS: readonly Way[] = [
  ...waysOf('rewards', REWARDS_OPERATIONS),
  ...waysOf('validators', [...VALIDATORS_OPERATIONS, ...VALIDATORS_ACTIONS]),
  { method: 'GET', path: `/graphql?query=${encodeURIComponent(QUERY)}`, scope: 'read', family: 'graphql' },
  { method: 'POST', path: '/graphql', scope: 'read', family: 'graphql' },
]

test('every path of a route is among them', async () => {
  const paths = [...(await everyRoute()).values()].flatMap((route) => route.paths)
  expect(paths.filter((path) => !WAYS.some((way) => way.path === path))).toEqual([])
})

interface Answered {
  readonly status: number
  readonly body: unknown
  readonly statements: number
}

/** What some routes are about has to be named. */
const ABOUT: readonly (readonly [end: string, query: string])[] = [
  ['/validator/history', `?pubkey=${pubkeyOf(10)}`],
  ['/validator/rewards', `?pubkey=${pubkeyOf(10)}`],
  ['/validator/rewards/proof', `?pubkey=${pubkeyOf(10)}&date=2026-11-19`],
  ['/validator/statement', '?month=2026-11'],
]

async function ask({ method, path }: Way, token: string, network = 'mainnet'): Promise<Answered> {
  const before = fixture.statements.length
  const named = `${path}${ABOUT.find(([end]) => path.endsWith(end))?.[1] ?? ''}`
  const url = `${fixture.api.url}/ethereum/${network}/${token}${named}`
  const body = JSON.stringify(path === '/graphql' ? { query: QUERY } : {})
  const response = await fetch(url, method === 'GET' ? {} : { method, body })
  const answer: unknown = await response.json()
  return { status: response.status, body: answer, statements: fixture.statements.length - before }
}

const refusal = (sentence: string) => ({ code: '401', msg: `Authentication failed: ${sentence}`, data: null })

describe.each(WAYS)('$method $path', (way) => {
  test('takes a token that is for everything, and refuses one without its scope', async () => {
    for (const network of ['mainnet', 'hoodi'])
      expect((await ask(way, tokenOf('everything'), network)).status, network).not.toBe(401)
    const { status, body } = await ask(way, tokenOf(`without ${way.scope}`))
    expect(status).toBe(401)
    expect(body).toEqual(refusal(`the token does not have the scope ${way.scope}`))
  })

  test.each(TOKEN_FAMILIES)('takes a token of %s only if it is theirs', async (family) => {
    const { status, body } = await ask(way, tokenOf(`of ${family}`))
    if (family === way.family) return expect(status).not.toBe(401)
    expect(status).toBe(401)
    expect(body).toEqual(refusal(`the token is not for the family ${way.family}`))
  })

  test('takes a token of one chain on that chain only', async () => {
    expect((await ask(way, tokenOf('of hoodi'), 'hoodi')).status).not.toBe(401)
    expect((await ask(way, tokenOf('of hoodi'))).body).toEqual(refusal('the token is not for the chain mainnet'))
    expect((await ask(way, tokenOf('of mainnet'))).status).not.toBe(401)
    const { status, body } = await ask(way, tokenOf('of mainnet'), 'hoodi')
    expect(status).toBe(401)
    expect(body).toEqual(refusal('the token is not for the chain hoodi'))
  })
})

describe.each(WAYS.filter(({ scope }) => scope === 'read'))('$method $path', (way) => {
  test('is answered to a token of before', async () => {
    expect((await ask(way, TOKEN)).status).toBe(200)
  })

  test('is kept for the account, and yet refused to a token of it that is not for this', async () => {
    const first = await ask(way, tokenOf('everything'))
    const again = await ask(way, tokenOf('of mainnet'))
    expect(again.body).toEqual(first.body)
    // How the tables stand.
    expect(again.statements).toBe(1)
    for (const name of ['only create', 'of hoodi'] as const)
      expect((await ask(way, tokenOf(name))).status, name).toBe(401)
  })
})

test('a page to try queries on is refused to a token that is not for GraphQL', async () => {
  const headers = { accept: 'text/html' }
  const pageOf = (name: TokenName) => fetch(`${fixture.api.url}/ethereum/mainnet/${tokenOf(name)}/graphql`, { headers })
  expect((await pageOf('of graphql')).status).toBe(200)
  expect((await pageOf('of rewards')).status).toBe(401)
})

test('a body is not looked at before the token is', async () => {
  const url = `${fixture.api.url}/ethereum/mainnet/${tokenOf('only create')}/api/v1/validator/details`
  const response = await fetch(url, { method: 'POST', body: '{"broken' })
  expect(response.status).toBe(401)
})

/** A family with a path for each scope. */
const scoped: Family = async (app, parts) => {
  requireChainAndAccount(app, { ...parts, family: 'validators', serves: () => true })
  const operations = TOKEN_SCOPES.map((scope) => {
    const route = defineRoute({
      id: `ask${scope}`,
      method: 'GET',
      ...(scope === 'read' ? {} : { scope }),
      paths: [`/api/v1/scoped/${scope}`],
      summary: scope,
      description: scope,
      query: NoParameters,
      response: Type.Object({ code: Type.String(), msg: Type.String(), data: Type.String() }),
      refusals: [],
      example: { code: '200', msg: 'Success', data: scope },
    })
    return operation(route, async () => ({
      status: 'answered',
      envelope: { code: '200', msg: RESULTS['200'].text, data: scope },
    }))
  })
  serveOperations(app, operations, parts)
}

test.each<[TokenName, readonly TokenScope[]]>([
  ['everything', ['read', 'create', 'exit']],
  ['only create', ['create']],
  ['without read', ['create', 'exit']],
  ['without exit', ['read', 'create']],
])('a token %s is for %j, and no scope includes another', async (name, allowed) => {
  const app = await buildApp(fixture.parts, [...FAMILIES, scoped])
  try {
    for (const scope of TOKEN_SCOPES) {
      const answer = await app.inject(`/ethereum/mainnet/${tokenOf(name)}/api/v1/scoped/${scope}`)
      if (allowed.includes(scope)) expect(answer.json(), scope).toMatchObject({ code: '200', data: scope })
      else expect(answer.json(), scope).toEqual(refusal(`the token does not have the scope ${scope}`))
    }
  } finally {
    await app.close()
  }
})

test('tokens in the tables of an earlier release only read, in all families and of all chains', async () => {
  await using warehouse = await fixture.warehouse.beside('earlier')
  const migrations = await readMigrations()
  const before = migrations.filter(({ name }) => name < '0010')
  await migrate(warehouse, before)
  const earlier = { token_hash: hashToken('earlier'), account: 'demo', version: 1, is_deleted: 0 }
  await insertRows(warehouse, 'access_tokens', [earlier])
  await migrate(warehouse, migrations)
  const standing = await new Standings(warehouse).of('mainnet')
  expect(standing.tokenOf(hashToken('earlier'))).toEqual({ account: 'demo', scopes: ['read'] })
})

test('a parameter that has to be named is refused as missing where it is not', async () => {
  const url = `${fixture.api.url}/ethereum/mainnet/${TOKEN}/api/v1/validator/history`
  const response = await fetch(url)
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ msg: 'Param error: pubkey is missing' })
})
