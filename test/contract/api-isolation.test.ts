import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildSchema } from 'graphql'
import type { TObject } from 'typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ACCOUNT_OPERATIONS } from '../../api/account/plugin.ts'
import { type Api, openApi } from '../../api/http/server.ts'
import { NFT_OPERATIONS } from '../../api/nft/plugin.ts'
import { TOKEN_SCOPES } from '../../schemas/access-token.ts'
import { checksumAddress } from '../../schemas/eth/address.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { hashToken } from '../../schemas/events/accounts.ts'
import type { AnyRoute } from '../../schemas/routes/route.ts'
import { toTokenLimitsRow } from '../../schemas/tables/accounts.ts'
import { DEPOSIT_CONTRACT, depositFor, signStaking } from '../unit/given-staking.ts'
import { type ApiFixture, insertRows, openApiFixture, pubkeyOf } from './api-fixture.ts'
import { everyRoute } from './every-route.ts'
import { fullQuery, fullQueryOf, objectFields } from './full-query.ts'
import {
  ADDRESS,
  CREATED,
  DAY,
  DEPOSITED_BY,
  FAILED,
  giveToOther,
  INDEX,
  LABEL,
  NEXT_DAY,
  PUBKEY,
} from './given-other.ts'

// What an account is answered is the same whether another account has validators or not, whatever it asks for by name. Every question
// is asked before the other account has anything, when what it names is nobody's, and again afterwards.

const TOKENS = { demo: 'everything-of-demo', other: 'everything-of-other' } as const
type Account = keyof typeof TOKENS
/** What may be asked of an API by a parameter's name: without an entry here a new one fails the tests. Several make several questions. */
const PARAMETERS: Readonly<Record<string, readonly unknown[]>> = {
  page: [1],
  // An empty text is an absent one: what makes another's cursor none is tested where cursors are.
  cursor: [''],
  month: [DAY.slice(0, 7)],
  date: [DAY],
  limit: [1_000],
  start_date: [DAY],
  end_date: [NEXT_DAY],
  utc_offset: ['+05:45'],
  pubkey: [PUBKEY, CREATED, FAILED],
  pubkeys: [[PUBKEY], [CREATED], [FAILED], [pubkeyOf(10), PUBKEY, CREATED]],
  validator_index: [INDEX],
  validator_indexes: [[INDEX], [10, INDEX]],
  withdrawal_address: [ADDRESS],
  deposit_from_address: [ADDRESS],
  fee_recipient_address: [ADDRESS],
  validator_count: [1],
  signed_transaction: [
    await signStaking({
      deposits: [depositFor(bytesOf(CREATED), bytesOf(`0x01${'00'.repeat(11)}${ADDRESS.slice(2)}`), 1)],
      contract: { kind: 'deposit', address: DEPOSIT_CONTRACT, feeWei: 0n },
    }),
  ],
  labels: [[{ pubkey: PUBKEY, label: 'mine' }], [{ pubkey: CREATED, label: 'mine' }]],
}
/** Likewise of GraphQL, by the argument's name: the first with each of all others. The other account's cursor is its validator's index. */
const ARGUMENTS: Readonly<Record<string, readonly (string | undefined)[]>> = {
  first: ['3', '1'],
  label: [undefined, JSON.stringify(LABEL), '""'],
  after: [undefined, `"${INDEX}"`, `"${INDEX - 1}"`],
  statuses: [undefined, '["active_ongoing", "pending_queued"]'],
  withdrawalAddress: [undefined, `"${ADDRESS}"`],
  orderBy: [undefined, 'EFFECTIVE_BALANCE'],
  descending: [undefined, 'true'],
  from: [`"${DAY}"`],
  to: [`"${NEXT_DAY}"`],
  utcOffset: ['"+05:45"'],
  pubkeys: [
    undefined,
    ...[[PUBKEY], [CREATED], [FAILED], [pubkeyOf(10), PUBKEY]].map((pubkeys) => JSON.stringify(pubkeys)),
  ],
}

/** Who holds which token is the chain's to tell, and the same for all. */
const OF_CHAINS: ReadonlySet<string> = new Set(NFT_OPERATIONS.map(({ route }) => route.id))
/** What people ask of their own accounts, by a session instead of a token: `api-account.test.ts` asks for others' there. */
const OF_PEOPLE: ReadonlySet<string> = new Set(ACCOUNT_OPERATIONS.map(({ route }) => route.id))
/** What is served and no route of a file: the probes and quotes, which are asked without a token, and GraphQL, which is asked above. */
const WITHOUT_ACCOUNT: ReadonlySet<string> = new Set([
  ...['getHealth', 'getReady', 'getStatementKey', 'queryGraphql', 'postGraphql'],
  ...['getStakeQuote', 'getUnstakeQuote', 'getQuoteRoutes', 'getAddressBalance', 'getAddressValidators'],
])

const TEXTS = ['schema.graphql', 'analysts.graphql', 'proof.graphql'].map((file) =>
  readFileSync(join(import.meta.dirname, '../../schemas', file), 'utf8'),
)
const SCHEMA = buildSchema(TEXTS[0] ?? '')
/** With what is for analysts, and proofs: one question for each of its fields, since one for all of them takes more statements than one may. */
const ANALYSTS = buildSchema(TEXTS.join('\n'))
/** The chain's, and the same for all. */
const OF_CHAIN: ReadonlySet<string> = new Set(['epochs', 'network', 'networkPerformance'])
const LACKS: ReadonlySet<string> = new Set(['Completeness.incomplete', 'Completeness.notFinalFrom'])
const ROUTES = await everyRoute()

interface Question {
  readonly name: string
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
}

function valuesOf<Value>(table: Readonly<Record<string, readonly Value[]>>, name: string): readonly Value[] {
  const values = table[name]
  if (values === undefined) throw new Error(`say in this file what may be asked by ${name}`)
  return values
}

/** With nothing that may be left out, with all of it, and with each value of it alone. */
function parametersOf(schema: TObject | undefined): readonly Record<string, unknown>[] {
  const properties = Object.entries(schema?.properties ?? {})
  const names = properties.map(([name]) => name)
  const mayBeLeftOut = new Set(properties.flatMap(([name, property]) => ('default' in property ? [name] : [])))
  const required = new Set((schema?.required ?? []).filter((name: string) => !mayBeLeftOut.has(name)))
  const first = (chosen: readonly string[]) =>
    Object.fromEntries(chosen.map((name) => [name, valuesOf(PARAMETERS, name)[0]]))
  const least = first(names.filter((name) => required.has(name)))
  return [
    least,
    first(names),
    ...names.flatMap((name) => valuesOf(PARAMETERS, name).map((value) => ({ ...least, [name]: value }))),
  ]
}

function questionsOf({ id, method, paths, query, body }: AnyRoute): readonly Question[] {
  const asked = method === 'GET' ? parametersOf(query) : parametersOf(body)
  return asked.map((parameters) => {
    const named = new URLSearchParams(
      Object.entries(parameters).flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)])),
    )
    const text = JSON.stringify(parameters)
    const question = { name: `${id} ${text}`, method }
    return method === 'GET'
      ? { ...question, path: `${paths[0]}?${named}` }
      : { ...question, path: paths[0], body: text }
  })
}

function graphqlQuestions(): readonly Question[] {
  const chosen = Object.keys(ARGUMENTS).flatMap((name) =>
    // Without keys nobody has histories: what else is chosen is asked with the keys of both.
    valuesOf(ARGUMENTS, name).map((value) => ({ pubkeys: ARGUMENTS.pubkeys?.at(-1), [name]: value })),
  )
  return chosen.map((values: Readonly<Record<string, string | undefined>>) => {
    const argumentOf = (_: string, name: string) => (name in values ? values[name] : valuesOf(ARGUMENTS, name)[0])
    const body = JSON.stringify({ query: fullQuery(SCHEMA, argumentOf) })
    return { name: `graphql ${JSON.stringify(values)}`, method: 'POST', path: '/graphql', body }
  })
}

function analystQuestions(): readonly Question[] {
  const known = SCHEMA.getQueryType()?.getFields() ?? {}
  const names = Object.keys(ANALYSTS.getQueryType()?.getFields() ?? {})
  return names
    .filter((name) => name === 'validators' || name === 'days' || (!(name in known) && !OF_CHAIN.has(name)))
    .map((name) => {
      // Months are no days, and what narrows a list is asked above.
      const argumentOf = (field: string, argument: string) => {
        if (field === 'proof') return `"${valuesOf(PARAMETERS, argument)[0]}"`
        return field !== 'months' && ['from', 'to'].includes(argument) ? ARGUMENTS[argument]?.[0] : undefined
      }
      const body = JSON.stringify({ query: fullQueryOf(ANALYSTS, name, argumentOf) })
      return { name: `graphql ${name}`, method: 'POST', path: '/graphql', body }
    })
}

const QUESTIONS = [...[...ROUTES.values()].flatMap(questionsOf), ...graphqlQuestions(), ...analystQuestions()]

let fixture: ApiFixture
let api: Api
/** Accounts that jobs were handed on for. */
let handedOnFor: unknown[] = []
const before = new Map<string, unknown>()

beforeAll(async () => {
  fixture = await openApiFixture()
  const limits = toTokenLimitsRow({ scopes: TOKEN_SCOPES })
  const tokens = Object.entries(TOKENS).map(([account, token], at) => ({
    token_hash: hashToken(token),
    account,
    ...limits,
    version: 100 + at,
    is_deleted: 0,
  }))
  await insertRows(fixture.warehouse, 'access_tokens', tokens)
  await insertRows(fixture.warehouse, 'deposit_contracts', [{ address: DEPOSIT_CONTRACT, version: 1 }])
  const jobs = {
    add: async (_: string, __: string, input: unknown) => {
      handedOnFor.push((input as { account?: unknown }).account)
      return { status: 'added' } as const
    },
    result: async () => ({ status: 'waiting' }) as const,
    withdraw: async () => {},
    request: async () => {},
    pending: async () => 0,
  }
  api = await openApi({ ...fixture.parts, jobs, host: '127.0.0.1', port: 0 })
  for (const account of ['demo', 'other'] as const)
    for (const question of QUESTIONS) before.set(keyOf(account, question), await ask(account, question))
  await giveToOther(fixture.warehouse)
})
afterAll(async () => {
  await api[Symbol.asyncDispose]()
  await fixture[Symbol.asyncDispose]()
})

const keyOf = (account: Account, { name }: Question): string => `${account} ${name}`

async function ask(account: Account, { method, path, body }: Question) {
  handedOnFor = []
  const response = await fetch(`${api.url}/ethereum/mainnet/${TOKENS[account]}${path}`, {
    method,
    headers: { 'idempotency-key': 'one-key-of-two-accounts' },
    ...(body === undefined ? {} : { body }),
  })
  return { status: response.status, body: (await response.json()) as unknown, handedOnFor }
}

test('every route that is defined is served, and no other one', async () => {
  const document = (await (await fetch(`${api.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { operationId?: string }>>
  }
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  // Further spellings of a path have ids of their own; GraphQL and the probes are no routes of a file.
  const served = new Set(operations.flatMap(({ operationId }) => (operationId === undefined ? [] : [operationId])))
  expect([...ROUTES.keys()].filter((id) => !served.has(id))).toEqual([])
  const isKnown = (id: string) =>
    ROUTES.has(id.replace(/Alias\d+$/, '')) ||
    WITHOUT_ACCOUNT.has(id) ||
    OF_PEOPLE.has(id) ||
    OF_CHAINS.has(id.replace(/ByBody$/, ''))
  expect([...served].filter((id) => !isKnown(id))).toEqual([])
})

describe.each(QUESTIONS)('$name', (question) => {
  test('is answered as if no other account had anything', async () => {
    const answer = await ask('demo', question)
    expect(answer).toEqual(before.get(keyOf('demo', question)))
    const text = JSON.stringify(answer)
    // A refusal may repeat what was asked.
    for (const secret of [PUBKEY, CREATED, FAILED, ADDRESS, checksumAddress(ADDRESS), LABEL, DEPOSITED_BY])
      if (answer.status === 200) expect(text).not.toContain(secret)
    for (const account of answer.handedOnFor) expect(account).toBe('demo')
  })
})

// So that the tests above are about something.
const READ = [...ROUTES.values()].filter(({ scope = 'read' }) => scope === 'read')
test.each(READ.map((route) => [route.id, route] as const))(
  '%s shows the other account what it has',
  async (_, route) => {
    const changed = await Promise.all(
      questionsOf(route).map(async (question) => {
        const answer = await ask('other', question)
        return JSON.stringify(answer) !== JSON.stringify(before.get(keyOf('other', question)))
      }),
    )
    expect(changed).toContain(true)
  },
)

test('GraphQL shows the other account something in every field', async () => {
  const seen = new Set<string>()
  for (const question of graphqlQuestions()) {
    const { body } = await ask('other', question)
    JSON.stringify(body, function (this: unknown, field, value: unknown) {
      const type = (this as { readonly __typename?: unknown }).__typename
      const isEmpty = value === null || (Array.isArray(value) && value.length === 0)
      if (typeof type === 'string' && !isEmpty) seen.add(`${type}.${field}`)
      return value
    })
  }
  // Made of every epoch of whole days, of which there are none here (`devnet/local-days`).
  const isOfDetail = (field: string) => field === 'Validator.localDays' || field.startsWith('LocalDay.')
  // Its day lacks nothing (`api-untold-history`).
  const isOfLack = (field: string) => field.startsWith('IncompleteDays.') || LACKS.has(field)
  const unseen = objectFields(SCHEMA).filter((field) => !seen.has(field))
  expect(unseen.filter((field) => !isOfDetail(field) && !isOfLack(field))).toEqual([])
})

test.each([
  [PUBKEY, ['created', 'deposited', 'deposit_finalized', 'active', 'exit_requested', 'exit_submitted']],
  [CREATED, ['created', 'deposited', 'deposit_finalized']],
  [FAILED, ['created', 'failed']],
])('the other account sees the steps that are at stake: %#', async (pubkey, steps) => {
  const { body } = await ask('other', { name: '', method: 'GET', path: `/api/v1/validator/history?pubkey=${pubkey}` })
  const { data } = body as { readonly data: { readonly history: readonly { readonly step: string }[] } }
  expect(data.history.map(({ step }) => step)).toEqual(expect.arrayContaining(steps))
})
