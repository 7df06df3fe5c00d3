import Fastify from 'fastify'
import { type TObject, Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { RefusedRequest } from '../../api/http/answer.ts'
import { acceptTextOfAnyType } from '../../api/http/body-rules.ts'
import { MEMBERS_MAX } from '../../api/http/limits.ts'
import { compileParameters } from '../../api/http/parse-parameters.ts'
import { formatMessage } from '../../schemas/routes/envelope.ts'
import { FILTERS, PAGINGS } from '../../schemas/routes/fields.ts'

const Shape = Type.Object({
  page: Type.Integer({ minimum: 1, default: 1 }),
  day: Type.Optional(Type.String({ format: 'date', 'x-error-code': '4001' })),
  list: Type.Array(Type.Integer({ minimum: 0 }), { default: [], maxItems: 3 }),
  step: Type.Optional(Type.Enum(['minute', 'hour'])),
  by: Type.Optional(Type.Array(Type.Union([Type.Literal('key'), Type.Literal('status')]))),
  validator_indexes: Type.Optional(Type.Array(Type.Integer())),
  offset: Type.Optional(Type.String({ pattern: '^[+-]\\d\\d$' })),
})

/** What other operations filter or page by, and is like no name of this one. */
const OF_OTHERS = [...FILTERS, ...PAGINGS].filter((name) => !(name in Shape.properties) && !name.startsWith('page'))

/** Answers with what a handler gets, or with the refusal. */
const app = Fastify()
acceptTextOfAnyType(app)
app.setValidatorCompiler<TObject>(compileParameters)
app.setErrorHandler((error) => {
  if (!(error instanceof RefusedRequest)) throw error
  return error.refusal
})
app.get('/', { schema: { querystring: Shape } }, async ({ query }) => ({ status: 'parsed', value: query }))
app.get('/closed', { schema: { querystring: { ...Shape, additionalProperties: false } } }, async ({ query }) => query)
const Days = Type.Object({
  start_date: Type.Optional(Type.String()),
  end_date: Type.Optional(Type.String()),
  page: Type.Optional(Type.Integer()),
  limit: Type.Optional(Type.Integer()),
  cursor: Type.Optional(Type.String()),
})
app.get('/days', { schema: { querystring: Days } }, async ({ query }) => query)
app.post('/', { schema: { body: Shape } }, async ({ body }) => ({ status: 'parsed', value: body }))

test.each([
  ['page=', 'page'],
  ['day=2026-11-20&day=', 'day'],
  ['list=null', 'list'],
  ['list[]=%20', 'list'],
  ['step=', 'step'],
])('a closed query string has no parameter without a value: %j', async (text, name) => {
  expect((await app.inject(`/closed?${text}`)).json()).toMatchObject({
    code: '400',
    detail: `${name} has no value: leave it out`,
  })
})

describe('a query string', () => {
  const parse = async (text: string) => (await app.inject(`/?${text}`)).json()

  test.each([
    ['', { page: 1, list: [] }],
    ['page=7&other=x', { page: 7, list: [] }],
    ['list=1,2&list=3', { page: 1, list: [1, 2, 3] }],
    ['list[]=1&list%5B%5D=2', { page: 1, list: [1, 2] }],
    ['list[1]=2&list[0]=1', { page: 1, list: [2, 1] }],
    ['list=[1,2]', { page: 1, list: [1, 2] }],
    ['list=["1", 2]', { page: 1, list: [1, 2] }],
    ['list=%5B%5D', { page: 1, list: [] }],
    ['list=1,%202&list=+3+', { page: 1, list: [1, 2, 3] }],
    ['list=', { page: 1, list: [] }],
    ['page=&day=&list=null', { page: 1, list: [] }],
    ['page=null&day=null', { page: 1, list: [] }],
    ['page=&page=2', { page: 2, list: [] }],
    ['_=1&p=2&lis=3&validators=4&index=5', { page: 1, list: [] }],
    ['day=2026-11-20', { page: 1, day: '2026-11-20', list: [] }],
    ['__proto__=1&constructor=2', { page: 1, list: [] }],
  ])('%j is %j', async (text, value) => {
    expect(await parse(text)).toEqual({ status: 'parsed', value })
  })

  test.each([
    ['page=0', '400', 'page must be >= 1'],
    ['page=-1', '400', 'page must be >= 1'],
    ['list=2,-1', '400', 'list/1 must be >= 0'],
    ['page=-0', '400', 'page must be integer'],
    ['page=-01', '400', 'page must be integer'],
    ['page=-1.5', '400', 'page must be integer'],
    ['page=--1', '400', 'page must be integer'],
    [
      'offset=+05',
      '400',
      'offset must match pattern "^[+-]\\d\\d$": + is written %2B in an address, where it is a blank',
    ],
    ['page=01', '400', 'page'],
    ['page=+1', '400', 'page'],
    ['page=0x1', '400', 'page'],
    ['page=%201', '400', 'page'],
    ['page=1&page=1', '400', 'page is given more than once'],
    ['list=1,,2', '400', 'list/1'],
    ['list=[1,[2]]', '400', 'list/1'],
    ['list=[1,2', '400', 'list/0'],
    ['list=[1.5]', '400', 'list/0'],
    // Text that would be JSON within something else.
    ['list=[1],"x":[2]', '400', 'list/0'],
    ['list=[1],"items":[2]', '400', 'list/0'],
    ['list=[1]}', '400', 'list/0'],
    ['list[a]=1', '400', 'list[a] is not understood: did you mean list?'],
    ['list[0][0]=1', '400', 'list[0][0] is not understood: did you mean list?'],
    ['listed=1', '400', 'listed is not understood: did you mean list?'],
    ['page[]=1', '400', 'page[] is not understood: did you mean page?'],
    ['validator_index=1', '400', 'validator_index is not understood: did you mean validator_indexes?'],
    ['validatorIndexes=1', '400', 'validatorIndexes is not understood: did you mean validator_indexes?'],
    ['VALIDATOR-INDEXES[0]=1', '400', 'VALIDATOR-INDEXES[0] is not understood: did you mean validator_indexes?'],
    ['Page=2', '400', 'Page is not understood: did you mean page?'],
    ['pgae=2', '400', 'pgae is not understood: did you mean page?'],
    ['patge=2', '400', 'patge is not understood: did you mean page?'],
    ['lits=2', '400', 'lits is not understood: did you mean list?'],
    ['validtaor_indxes=2', '400', 'validtaor_indxes is not understood: did you mean validator_indexes?'],
    // What other operations filter or page by would answer for everything here, or with the first page again.
    ...OF_OTHERS.map((name): [string, string, string] => [`${name}=1`, '400', `${name} is not understood`]),
    ['startDate=2026-01-01', '400', 'startDate is not understood'],
    ['list=1,2,3,4', '400', 'list'],
    ['day=2026-02-30', '4001', 'day must match format "date"'],
    ['day=2026-11-20&day=2026-11-20', '400', 'day'],
    ['step=week', '400', 'step must be one of minute, hour'],
    ['by=key,week', '400', 'by/1 must be one of key, status'],
  ])('%j is refused with %s naming %s', async (text, code, detail) => {
    const result = await parse(text)
    expect(result).toMatchObject({ status: 'refused', code })
    expect(result.detail).toContain(detail)
  })
})

test.each([
  ['from', 'start_date'],
  ['to', 'end_date'],
  ['offset', 'page'],
  ['page_size', 'limit'],
  ['max_count', 'limit'],
  ['first', 'limit'],
  ['page_key', 'cursor'],
  ['after', 'cursor'],
])('%s is refused where a list is asked for by %s, which is named', async (name, other) => {
  expect((await app.inject(`/days?${name}=2026-11-19`)).json()).toMatchObject({
    code: '400',
    detail: `${name} is not understood: here it is ${other}`,
  })
})

test.each(['offset=%2005:00', 'offset=05', 'offset=%2B5'])(
  'no + is suggested where it would not help: %j',
  async (text) => {
    expect((await app.inject(`/?${text}`)).json().detail).toBe('offset must match pattern "^[+-]\\d\\d$"')
  },
)

describe('a body', () => {
  const parse = async (body: string | undefined) =>
    (await app.inject({ method: 'POST', url: '/', ...(body === undefined ? {} : { body }) })).json()

  test('has as many members as can be compared with those of the operation', async () => {
    const members = (count: number) =>
      JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`other${at}`, at])))
    expect(await parse(members(MEMBERS_MAX))).toMatchObject({ status: 'parsed' })
    expect(await parse(members(MEMBERS_MAX + 1))).toMatchObject({
      code: '400',
      detail: `the body has more than ${MEMBERS_MAX} members`,
    })
  })

  test('may have a name of any length, which is none of the operation unless it begins so', async () => {
    expect(await parse(JSON.stringify({ ['o'.repeat(900_000)]: 1 }))).toMatchObject({ status: 'parsed' })
    const begun = `validator_indexes${'o'.repeat(900_000)}`
    expect(await parse(JSON.stringify({ [begun]: 1 }))).toMatchObject({
      code: '400',
      detail: `${begun.slice(0, 200)} is not understood: did you mean validator_indexes?`,
    })
  })

  test.each([undefined, '', ' \n', '{}', 'null', '{"page":null,"list":null}', '{"day":"","list":""}'])(
    '%j means no parameters',
    async (text) => {
      expect(await parse(text)).toEqual({ status: 'parsed', value: { page: 1, list: [] } })
    },
  )

  test('has no byte order mark', async () => {
    expect(await parse('\ufeff{"page":7}')).toEqual({ status: 'parsed', value: { page: 7, list: [] } })
    expect(await parse('\ufeff')).toMatchObject({ status: 'parsed' })
    expect(await parse('\ufeff\ufeff{"page":7}')).toMatchObject({ status: 'refused' })
  })

  test.each(['{', '[]', '1', '{"page":"1"}', '{"list":[null]}', '{"list":[1.5]}'])('%j is refused', async (text) => {
    expect(await parse(text)).toMatchObject({ status: 'refused', code: '400' })
  })

  test.each([
    ['list[0]', 'list'],
    ['listed', 'list'],
    ['validator_index', 'validator_indexes'],
    ['Page', 'page'],
    ['page[]', 'page'],
    ['pagge', 'page'],
    ['vaildator_indexes', 'validator_indexes'],
    ...OF_OTHERS.map((name): [string, undefined] => [name, undefined]),
  ])('with %j is refused, which names it, and what was meant: %s', async (key, meant) => {
    expect(await parse(JSON.stringify({ [key]: 1 }))).toEqual({
      status: 'refused',
      code: '400',
      detail: `${key} is not understood${meant === undefined ? '' : `: did you mean ${meant}?`}`,
    })
  })

  test.each([
    ['{"page":1,"page":2}', 'page'],
    ['{"page":1,"\\u0070age":2}', 'page'],
    ['{"other":{"ips":[],"a":"{\\"a\\":1}","ips":["*"]}}', 'ips'],
    ['{"other":[{"a":1},{"a":2,"b":[],"a" : 3}]}', 'a'],
  ])('that has a name twice is refused: %s', async (text, name) => {
    expect(await parse(text)).toEqual({
      status: 'refused',
      code: '400',
      detail: `${name} is given more than once`,
    })
  })

  test('may have a name in each of its objects, and as a text', async () => {
    expect(await parse('{"page":7,"other":[{"page":1},{"page":2}],"more":["page","page"],"a":{"page":{}}}')).toEqual({
      status: 'parsed',
      value: { page: 7, list: [] },
    })
  })

  test.each(['null', ' null ', '  '])('has the text %j as it is', async (offset) => {
    expect(await parse(JSON.stringify({ offset }))).toMatchObject({
      detail: expect.stringContaining('offset must match'),
    })
  })

  test('may have members that look like none of ours', async () => {
    expect(await parse('{"_":1,"other":2,"validators":3}')).toEqual({ status: 'parsed', value: { page: 1, list: [] } })
  })

  test('takes no members from the prototype', async () => {
    expect(await parse('{"__proto__":{"page":5}}')).toEqual({ status: 'parsed', value: { page: 1, list: [] } })
  })
})

test('a message starts with the text of its code', () => {
  expect(formatMessage('400')).toBe('Param error')
  expect(formatMessage('4003', 'start_date')).toBe('Only support nearly 30 reward data: start_date')
})
