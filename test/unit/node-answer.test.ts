import type { IncomingHttpHeaders } from 'node:http'
import { expect, test } from 'vitest'
import { NATIVE, verdictOf } from '../../api/gateway/node-answer.ts'

const RPC = { isJson: true, isOwed: true }

test.each([
  ['a result', 200, '{"jsonrpc":"2.0","id":1,"result":"0x1"}', 'answer'],
  ['an error', 200, '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}', 'answer'],
  ['an error of Bitcoin', 500, '{"result":null,"error":{"code":-5,"message":"no such block"},"id":1}', 'answer'],
  ['an unknown method of Bitcoin', 404, ' {"result":null,"error":{"code":-32601,"message":"no"},"id":1}', 'answer'],
  [
    'an unknown transaction of NEAR',
    408,
    '{"jsonrpc":"2.0","id":1,"error":{"name":"HANDLER_ERROR","code":-32000}}',
    'answer',
  ],
  ['an error of XRP', 200, '{"result":{"status":"error","error":"noCurrent"}}', 'answer'],
  ['a batch with an error', 500, '[{"id":1,"result":1},{"id":2,"error":{"code":1,"message":"no"}}]', 'answer'],
  ['a page', 503, '<html>limit exceeded</html>', 'none'],
  ['a page that is well', 200, '<html>limit exceeded</html>', 'none'],
  ['words of a proxy', 503, '{"message":"no Route matched with those values"}', 'none'],
  ['words of a proxy in an error', 502, '{"error":"Bad Gateway"}', 'none'],
  ['a list of nothing', 500, '[]', 'none'],
  ['a torn answer', 500, '{"error":{"code":1', 'none'],
  ['nothing', 200, '', 'none'],
  ['no content', 204, '', 'none'],
  ['a bill', 200, '{"id":1,"error":{"code":429,"message":"upgrade at https://dash.example/KEY"}}', 'refused'],
  ['a batch of bills', 200, '[{"id":1,"error":{"code":429}},{"id":2,"error":{"code":402}}]', 'refused'],
  [
    'a long batch of bills',
    200,
    `[${Array(100).fill('{"id":1,"error":{"code":429,"message":"upgrade"}}')}]`,
    'refused',
  ],
  ['a long result about an error', 200, `{"id":1,"result":[${Array(100).fill('{"error":{"code":429}}')}]}`, 'answer'],
  ['a key that is not known', 500, '{"id":1,"error":{"code":401,"message":"bad key"}}', 'refused'],
  ['a batch with one bill', 200, '[{"id":1,"error":{"code":429}},{"id":2,"result":7}]', 'partly'],
  ['a result about an error', 200, '{"id":1,"result":{"error":{"code":429}}}', 'answer'],
] as const)('of calls, %s with %i is what it is', (_, status, body, verdict) => {
  expect(verdictOf(Buffer.from(body), { status, headers: {} }, RPC)).toBe(verdict)
})

test('where no call has an id, nothing is an answer', () => {
  const verdict = (status: number) => verdictOf(Buffer.alloc(0), { status, headers: {} }, { ...RPC, isOwed: false })
  expect([200, 204, 500].map(verdict)).toEqual(['answer', 'answer', 'none'])
})

test.each([
  ['a page', 502, 200, 'none'],
  ['a long page', 503, 100_000, 'none'],
  ['what may be a bill', 200, 120, 'none'],
  ['what is too long for a bill', 200, 100_000, 'answer'],
] as const)('of what is packed, which nobody has asked for, %s with %i is what it is', (_, status, bytes, verdict) => {
  const verdictWith = (headers: IncomingHttpHeaders) => verdictOf(Buffer.alloc(bytes, 0x1f), { status, headers }, RPC)
  for (const coding of ['gzip', 'br', 'GZIP', ['gzip', 'br']]) {
    expect(verdictWith({ 'content-encoding': coding as string })).toBe(verdict)
  }
})

test('an answer that is said not to be packed is looked into', () => {
  const verdict = (body: string) =>
    verdictOf(Buffer.from(body), { status: 200, headers: { 'content-encoding': 'identity' } }, RPC)
  expect(verdict('{"id":1,"result":7}')).toBe('answer')
  expect(verdict('{"id":1,"error":{"code":429}}')).toBe('refused')
})

test('native interfaces say what they say, but where they cannot answer now', () => {
  const verdict = (status: number) => verdictOf(Buffer.from('{"code":7}'), { status, headers: {} }, NATIVE)
  expect([200, 400, 404, 408, 500, 501].map(verdict)).toEqual(Array(6).fill('answer'))
  expect([502, 503, 504].map(verdict)).toEqual(Array(3).fill('unwell'))
})
