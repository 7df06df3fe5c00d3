import { readFile } from 'node:fs/promises'
import { buildSchema, parse } from 'graphql/index.js'
import { expect, test } from 'vitest'
import { COST_MAX, costRefusal, DEPTH_MAX, measureCost } from '../../api/graphql/cost.ts'

const schema = buildSchema(await readFile(new URL('../../schemas/schema.graphql', import.meta.url), 'utf8'))
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
  ['{ days { ...day } } fragment day on AccountDay { date }', 2, 2],
  ['{ ... on Query { newestEpoch } }', 1, 1],
  ['{ __schema { types { fields { type { ofType { ofType { name } } } } } } }', 0, 0],
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
  ['{ validators { totalCount nodes { days { epochs { blocks { slot } } blocks { slot } } } } }', 4],
] as const)('%s takes %i statements', (query, statements) => {
  expect(measure(query)?.statements).toBe(statements)
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
  expect(costRefusal({ cost: COST_MAX, depth: DEPTH_MAX, statements: 1 })).toBeUndefined()
  expect(costRefusal({ cost: 1, depth: 1, statements: 21 })).toContain('takes 21 statements, the limit is 20')
  expect(costRefusal({ cost: COST_MAX + 1, depth: 1, statements: 1 })).toContain(
    `${COST_MAX + 1} fields, the limit is ${COST_MAX}`,
  )
  expect(costRefusal({ cost: 1, depth: DEPTH_MAX + 1, statements: 1 })).toContain(
    `${DEPTH_MAX + 1} levels deep, the limit is ${DEPTH_MAX}`,
  )
})
