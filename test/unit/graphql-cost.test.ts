import { readFile } from 'node:fs/promises'
import { buildSchema, execute, getIntrospectionQuery, parse } from 'graphql/index.js'
import { expect, test } from 'vitest'
import { COST_MAX, costRefusal, DEPTH_MAX, measureCost, STATEMENTS_MAX } from '../../api/graphql/cost.ts'
import { INTROSPECTION_MAX } from '../../api/graphql/introspection-cost.ts'

const files = ['schema.graphql', 'analysts.graphql', 'proof.graphql', 'nft.graphql'].map(
  (file) => new URL(`../../schemas/${file}`, import.meta.url),
)
const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')))
const schema = buildSchema(texts.join('\n'))
const nowMs = Date.parse('2026-11-20T04:00:00Z')

function measure(query: string, variables: Record<string, unknown> = {}) {
  return measureCost({ schema, document: parse(query), operationName: undefined, variables, nowMs, validators: 1_000 })
}

test.each([
  ['{ newestEpoch }', 1, 1],
  ['{ a: newestEpoch b: newestEpoch }', 2, 1],
  // 1 + 3 validators of (1 + 1)
  ['{ validators(first: 3) { nodes { index } } }', 7, 3],
  ['{ validators { nodes { index } } }', 21, 3],
  // 2 days of (1 + (1 + 1))
  ['{ days(from: "2026-11-18", to: "2026-11-20") { date totalReward { eth } } }', 7, 3],
  ['{ days(from: "nonsense") { date } }', 2, 2],
  ['{ localDays(utcOffset: "+14:00", from: "2026-11-18", to: "2026-11-20") { date } }', 3, 2],
  ['{ days { ...day } } fragment day on AccountDay { date }', 2, 2],
  ['{ ... on Query { newestEpoch } }', 1, 1],
  ['{ __schema { types { fields { type { ofType { ofType { name } } } } } } }', 0, 0],
  ['{ __typename validators(first: 3) { nodes { a: __typename b: __typename } } }', 1 + 1 + 3 * (1 + 2), 3],
  [
    '{ proof(pubkey: "0x", date: "2026-11-19") { epochs(first: 3) { epoch effects { slot } } } }',
    1 + 1 + 3 * (1 + 33),
    4,
  ],
  ['{ validators(first: 2) { nodes { days { epochs { epoch } } } } }', 1 + 2 * (1 + (1 + (1 + 225))), 5],
])('%s costs %i fields and is %i deep', (query, cost, depth) => {
  expect(measure(query)).toMatchObject({ cost, depth })
})

test.each([
  // Of 1,000 validators: the default of 10, and not more than there are.
  ['{ validators(first: null) { nodes { index } } }', 1_000, 21],
  ['{ validators(first: 1000) { nodes { index } } }', 3, 7],
  ['{ validators { nodes { index } } }', 0, 3],
] as const)('%s of an account of %i validators costs %i fields', (query, validators, cost) => {
  const input = { schema, document: parse(query), operationName: undefined, variables: {}, nowMs, validators }
  expect(measureCost(input)?.cost).toBe(cost)
})

test.each([
  ['{ newestEpoch }', 0],
  ['{ a: days { date } b: days { date } }', 1],
  ['{ a: days { date } b: days(from: "2026-11-18") { date } }', 2],
  ['{ validators { totalCount nodes { days { epochs { blocks { slot } } blocks { slot } } } } }', 5],
  ['{ a: validators(first: 1) { totalCount } b: validators(first: 2) { totalCount } }', 2],
] as const)('%s takes %i statements', (query, statements) => {
  expect(measure(query)?.statements).toBe(statements)
})

/** How many fields an answer holds. */
function fieldsIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inner = Object.values(value)
  return (Array.isArray(value) ? 0 : inner.length) + inner.reduce<number>((sum, one) => sum + fieldsIn(one), 0)
}

const EVERYTHING = getIntrospectionQuery({
  descriptions: true,
  specifiedByUrl: true,
  directiveIsRepeatable: true,
  schemaDescription: true,
  inputValueDeprecation: true,
  experimentalDirectiveDeprecation: true,
  oneOf: true,
})

test.each([
  EVERYTHING,
  getIntrospectionQuery(),
  '{ __schema { __typename queryType { name } mutationType { name } } }',
  '{ a: __type(name: "Validator") { fields { name args { name } } } b: __type(name: "Nothing") { name } }',
  '{ __schema { types { ...a ...a } } } fragment a on __Type { enumValues { name } ...b } fragment b on __Type { kind }',
  '{ ...root } fragment root on Query { __schema { directives { args(includeDeprecated: true) { type { name } } } } }',
])('counts of the schema what the answer to %s holds', (query) => {
  const measured = measure(query)
  expect(measured?.introspected).toBe(fieldsIn(execute({ schema, document: parse(query) })) - 1)
  expect(measured !== undefined && costRefusal(measured)).toBeUndefined()
})

test.each([
  ['lists within lists', '{ __schema { types { ...a b: fields { type { ...a } } } } } fragment a on __Type { FIELDS }'],
  [
    'lists beside lists',
    `{ ${Array.from({ length: 60 }, (_, at) => `a${at}: __schema { ...a }`).join(' ')} }
    fragment a on __Schema { types { FIELDS } }`,
  ],
])('refuses %s of the schema without walking through all of them', (_, query) => {
  const fields = Array.from({ length: 60 }, (_, at) => `f${at}: fields { name description args { name } }`).join(' ')
  const measured = measure(query.replace('FIELDS', fields))
  expect(measured?.introspected).toBeLessThan(2 * INTROSPECTION_MAX)
  expect(measured !== undefined && costRefusal(measured)).toContain(
    `more than ${INTROSPECTION_MAX} fields of the schema`,
  )
})

const OWNER = 'owner(address: "0x1")'
test.each([
  ['{ nft { validAt { blockNumber } } }', 3, 0],
  ['{ nft { contract(address: "0x1") { name } } }', 3, 2],
  ['{ nft { contract(address: "0x1") { owners(pageSize: 10) { owners { amount } } } } }', 1 + 1 + 1 + 10 * 2, 7],
  // Tokens of a list are looked up together, and their contracts.
  [`{ nft { ${OWNER} { tokens(pageSize: 3) { ownerNfts { token { tokenUri } } } } } }`, 3 + 3 * 3, 5],
  [`{ nft { ${OWNER} { tokens { ownerNfts { token { tokenUri contract { name } } } } } } }`, 3 + 100 * 5, 7],
  // What is odd about them is told by what they say of themselves, and by how they came.
  [`{ nft { ${OWNER} { tokens(pageSize: 3, withArrival: true) { ownerNfts { reasons } } } } }`, 3 + 3 * 2, 7],
  [`{ nft { ${OWNER} { tokens(pageSize: 3, withNewHolders: true) { ownerNfts { reasons } } } } }`, 3 + 3 * 2, 7],
  [`{ nft { ${OWNER} { tokens(pageSize: 3, withoutReasons: ["any"]) { ownerNfts { balance } } } } }`, 3 + 3 * 2, 8],
  // A hundred by each statement.
  ['{ nft { transfers(maxCount: 201) { transfers { token { tokenUri } } } } }', 2 + 201 * 3, 5 + 3 * 2],
  // Owners are a list for each.
  [`{ nft { ${OWNER} { contracts(pageSize: 3) { contracts { contract { owners { totalCount } } } } } } }`, 312, 20],
  ['{ nft { search(query: "a") { name } } }', 102, 5],
  ['{ nft { tokens(tokens: [{ contractAddress: "", tokenId: "" }]) { tokenId } } }', 3, 3],
  // Fields of a page that nobody may ask for are refused later.
  ['{ nft { transfers(maxCount: 1000000) { totalCount } } }', 1_002, 5],
] as const)('%s costs %i fields and takes %i statements', (query, cost, statements) => {
  expect(measure(query)).toMatchObject({ cost, statements })
})

test('finds the page keys of a document, wherever they are', () => {
  const query = `query ($key: String) { nft { transfers(pageKey: $key) { totalCount } ...rest } }
    fragment rest on Nft { ${OWNER} { tokens(pageKey: "b") { totalCount } } }`
  expect(measure(query, { key: 'a' })?.pageKeys).toEqual(['a', 'b'])
})

test('reads variables, and their defaults', () => {
  const query = 'query ($n: Int = 5) { validators(first: $n) { nodes { index } } }'
  expect(measure(query)?.cost).toBe(11)
  expect(measure(query, { n: 100 })?.cost).toBe(201)
  expect(measure(query, { n: 'many' })).toBeUndefined()
})

test('measures fragments that spread each other twofold in time that grows with the document', () => {
  const levels = Array.from({ length: 40 }, (_, level) =>
    level === 39
      ? `fragment f${level} on Query { newestEpoch }`
      : `fragment f${level} on Query { ...f${level + 1} ...f${level + 1} }`,
  )
  expect(measure(`{ ...f0 } ${levels.join(' ')}`)?.cost).toBe(2 ** 39)
})

test('says what was computed and what the limit is', () => {
  const most = { cost: COST_MAX, depth: DEPTH_MAX, statements: STATEMENTS_MAX, introspected: INTROSPECTION_MAX }
  expect(costRefusal(most)).toBeUndefined()
  expect(costRefusal({ ...most, statements: STATEMENTS_MAX + 1 })).toContain(
    `takes ${STATEMENTS_MAX + 1} statements, the limit is ${STATEMENTS_MAX}`,
  )
  expect(costRefusal({ ...most, cost: COST_MAX + 1 })).toContain(`${COST_MAX + 1} fields, the limit is ${COST_MAX}`)
  expect(costRefusal({ ...most, depth: DEPTH_MAX + 1 })).toContain(
    `${DEPTH_MAX + 1} levels deep, the limit is ${DEPTH_MAX}`,
  )
})
