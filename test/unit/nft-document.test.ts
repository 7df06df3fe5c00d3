import { describe, expect, test } from 'vitest'
import { DOCUMENT_BYTES_MAX, mediaOf, readDocument } from '../../schemas/nft/document.ts'
import { retryDelaySec } from '../../schemas/nft/metadata-state.ts'
import type { Gateways } from '../../schemas/nft/token-uri.ts'

const GATEWAYS: Gateways = { ipfs: ['https://one.test/ipfs/'], arweave: [] }
const CID = 'QmPK1s3pNYLi9ERiq3BDxKa4XosgWwFRQUydHUtz4YgpqB'

const read = (text: string | Uint8Array) => readDocument(Buffer.from(text as string), GATEWAYS)
const metadataOf = (text: string) => {
  const document = read(text)
  if (document.status !== 'read') throw new Error(document.error)
  return document.metadata
}

describe('a document', () => {
  test('tells name, description, media and attributes', () => {
    const json = JSON.stringify({
      ...{ name: 'Kitty #1', description: 'A cat', image: `ipfs://${CID}/1.png` },
      attributes: [{ trait_type: 'Fur', value: 'red' }],
    })
    expect(read(json)).toEqual({
      status: 'read',
      json,
      metadata: {
        ...{ title: 'Kitty #1', description: 'A cat' },
        media: `https://one.test/ipfs/${CID}/1.png`,
        mediaType: 'image/png',
        mediaExternal: `ipfs://${CID}/1.png`,
        attributes: '[{"trait_type":"Fur","value":"red"}]',
      },
    })
  })

  test('keeps numbers of attributes as they were written', () => {
    const attributes =
      '[{"value":9007199254740993},{"value":1.10},{"value":1e400},{"value":-0},{"max":18446744073709551615}]'
    expect(metadataOf(`{"attributes": ${attributes}}`).attributes).toBe(attributes)
    expect(metadataOf('{"name": 12345678901234567890}').title).toBe('12345678901234567890')
  })

  test.each([
    ['{}', null],
    ['{"attributes":null}', null],
    ['{"attributes":{"__proto__":{"a":1}}}', '{"__proto__":{"a":1}}'],
    ['{"attributes":"text"}', '"text"'],
    ['{"attributes":[]}', '[]'],
  ])('has the attributes that it has: %s', (text, attributes) => {
    expect(metadataOf(text).attributes).toBe(attributes)
  })

  test.each([
    ['a byte order mark', '\ufeff{"name":"a"}'],
    ['padding of zero bytes', '{"name":"a"}\0\0\0'],
    ['zero bytes within', '\0{"na\0me":"a"}'],
    ['room around it', '\n {"name":"a"} \n'],
  ])('is read with %s', (_, text) => {
    expect(metadataOf(text).title).toBe('a')
  })

  test('says what it says of a zero character that is escaped, and of half a character', () => {
    expect(metadataOf('{"name":"a\\u0000b"}').title).toBe('a\0b')
    expect(metadataOf('{"name":"a\\ud800"}').title).toBe('a\ufffd')
  })

  test('takes no field from elsewhere than from itself', () => {
    expect(metadataOf('{"__proto__":{"name":"a","image":"https://a.test/"}}')).toMatchObject({
      title: null,
      media: null,
    })
    expect(metadataOf('{"name":{"rawJSON":"1"},"description":["a"]}')).toMatchObject({ title: null, description: null })
  })

  test.each<[string, string | Uint8Array, string]>([
    ['HTML', '<!doctype html><script>alert(1)</script>', 'NOT_JSON'],
    ['SVG', '<svg onload="alert(1)"/>', 'NOT_JSON'],
    ['a PNG', Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0, 0, 0), 'NOT_JSON'],
    ['nothing', '', 'NOT_JSON'],
    ['half a document', '{"name":"a"', 'NOT_JSON'],
    ['two documents', '{"name":"a"}{"name":"b"}', 'NOT_JSON'],
    ['one that is too deep', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'TOO_LARGE'],
    ['one that is too deep in an object', `{"a":${'['.repeat(64)}${']'.repeat(64)}}`, 'TOO_LARGE'],
    ['one that is too long', ' '.repeat(DOCUMENT_BYTES_MAX + 1), 'TOO_LARGE'],
  ])('that is %s is not read, and nothing of it is repeated', (_, text, error) => {
    expect(read(text)).toEqual({ status: 'unreadable', error })
  })

  test('is as deep and as long as the limits, and read', () => {
    expect(read(`{"a":${'['.repeat(63)}${']'.repeat(63)},"b":"]}\\"[{"}`).status).toBe('read')
    expect(read(`{}${' '.repeat(DOCUMENT_BYTES_MAX - 2)}`).status).toBe('read')
  })

  test.each(['[{"name":"a"}]', '"text"', '12345678901234567890', 'null', 'true'])(
    'that is no object has no fields: %s',
    (text) => {
      expect(read(text)).toEqual({ status: 'unreadable', error: 'NOT_AN_OBJECT' })
    },
  )
})

describe('media', () => {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><rect width="1"/></svg>'

  test.each<[string, string | null, string | null]>([
    ['https://a.test/a.GIF?b=c', 'https://a.test/a.GIF?b=c', 'image/gif'],
    ['https://a.test/1', 'https://a.test/1', null],
    ['https://a.test/"><script>', 'https://a.test/%22%3E%3Cscript%3E', null],
    [svg, `data:image/svg+xml;base64,${base64(svg)}`, 'image/svg+xml'],
    [`data:image/svg+xml;utf8,${svg}`, `data:image/svg+xml;base64,${base64(svg)}`, 'image/svg+xml'],
    ['data:image/png;base64,AAAA', 'data:image/png;base64,AAAA', 'image/png'],
  ])('%s becomes %s', (written, media, mediaType) => {
    expect(mediaOf(written, GATEWAYS)).toMatchObject({ media, mediaType })
  })

  test.each([
    'javascript:alert(1)',
    ' JavaScript:alert(1)',
    'java\nscript:alert(1)',
    'vbscript:a',
    'file:///etc/passwd',
    'blob:https://a.test/1',
    'data:text/html,<script>alert(1)</script>',
    'data:text/html;base64,PHNjcmlwdD4=',
    'data:application/xhtml+xml,<html/>',
    'data:image/svg+xml,<svg><script>alert(1)</script></svg>',
    `data:image/svg+xml;base64,${base64('<svg onload = "alert(1)"/>')}`,
    `data:image/svg+xml;base64,${Buffer.from('<svg onload="alert(1)"/>', 'utf16le').toString('base64')}`,
    '<svg><a href="javascript:alert(1)"/></svg>',
    '<svg><a href="&#x6a;avascript:alert(1)"/></svg>',
    '<svg><foreignObject><iframe/></foreignObject></svg>',
    '<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>',
    `ipfs://${CID}/../../x`,
    '',
  ])('%j is none', (written) => {
    expect(mediaOf(written, GATEWAYS)).toEqual({ media: null, mediaType: null, mediaExternal: null })
  })

  test('are told as they are written, but for what would end the place where a page has them', () => {
    expect(mediaOf('https://a.test/"><script>', GATEWAYS).mediaExternal).toBeNull()
    expect(mediaOf(`ipfs://${CID}`, GATEWAYS).mediaExternal).toBe(`ipfs://${CID}`)
  })
})

test('what passes by itself is tried again soon, what lasts seldom, and nothing is given up', () => {
  expect([1, 2, 3, 20].map((attempts) => retryDelaySec('TIMEOUT', attempts))).toEqual([30, 60, 120, 86_400])
  expect([1, 2, 20].map((attempts) => retryDelaySec('NOT_JSON', attempts))).toEqual([3_600, 7_200, 604_800])
  expect(retryDelaySec('HTTP_STATUS', 5_000)).toBe(86_400)
})
