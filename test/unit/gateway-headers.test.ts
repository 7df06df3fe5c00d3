import { describe, expect, test } from 'vitest'
import { toClientHeaders } from '../../api/gateway/headers.ts'

/** By name; what is there twice is a list. */
function told(headers: object, isRpc = false): Readonly<Record<string, unknown>> {
  const passed = toClientHeaders(headers as Record<string, string>, isRpc)
  const names = passed.filter((_, i) => i % 2 === 0)
  const valuesOf = (name: string) => passed.filter((_, i) => i % 2 === 1 && passed[i - 1] === name)
  return Object.fromEntries(names.map((name) => [name, valuesOf(name).length > 1 ? valuesOf(name) : valuesOf(name)[0]]))
}

const SANDBOX = { 'content-security-policy': 'sandbox', 'x-content-type-options': 'nosniff' }

describe('an answer of a node', () => {
  test.each([
    'text/html',
    'Text/HTML; charset=utf-8',
    'application/xhtml+xml',
    'image/svg+xml',
    'application/xml',
    'text/xml',
    'text/xsl',
    'application/rss+xml',
    'multipart/x-mixed-replace; boundary=a',
    'text/plain, text/html',
  ])('that may have scripts is a file, and has no origin: %s', (type) => {
    const file = { ...SANDBOX, 'content-type': type, 'content-disposition': 'attachment' }
    for (const isRpc of [false, true]) {
      expect(told({ 'content-type': type, 'content-disposition': 'inline; filename="a.html"' }, isRpc)).toEqual(file)
    }
  })

  test('that says two types is a file', () => {
    const type = ['application/json', 'text/html']
    expect(told({ 'content-type': type }, true)).toMatchObject({ ...SANDBOX, 'content-disposition': 'attachment' })
  })

  test.each(['text/plain', 'image/png', 'application/json', 'application/octet-stream', undefined])(
    'of a native interface has no origin: %s',
    (type) => {
      const headers = { ...(type === undefined ? {} : { 'content-type': type }), 'content-disposition': 'inline' }
      expect(told(headers)).toEqual({ ...headers, ...SANDBOX })
    },
  )

  test('keeps no policy of the node beside it', () => {
    const loose = { 'content-security-policy': 'sandbox allow-scripts allow-same-origin', 'x-content-type-options': '' }
    expect(told({ ...loose, 'content-type': 'text/plain' })).toEqual({ ...SANDBOX, 'content-type': 'text/plain' })
  })

  test.each(['application/json', 'application/json;charset=utf-8', 'Application/JSON ; charset=utf-8'])(
    'to a call is JSON, and nothing more is said of it: %s',
    (type) => {
      expect(told({ 'content-type': type }, true)).toEqual({ 'content-type': type })
    },
  )

  test.each(['text/plain', 'application/jsonp', undefined])(
    'to a call that says it is no JSON has no origin: %s',
    (type) => {
      expect(told(type === undefined ? {} : { 'content-type': type }, true)).toMatchObject(SANDBOX)
    },
  )
})
