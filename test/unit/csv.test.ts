import { Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { acceptedForm, columnsOf, headerLine, rowLine, taxLine } from '../../api/http/csv.ts'
import { codedTag, entityTag, isKnown } from '../../api/http/etag.ts'
import { openStatementSigner } from '../../api/http/statement-signer.ts'
import { canonicalJson } from '../../schemas/canonical-json.ts'

const ROW = Type.Object({ label: Type.String() })
const cellOf = (label: string): string => rowLine(columnsOf(ROW), { label })

describe('cells', () => {
  test.each([
    ['=1+1', "'=1+1\r\n"],
    ['=HYPERLINK("http://x","y")', '"\'=HYPERLINK(""http://x"",""y"")"\r\n'],
    ['+41 44', "'+41 44\r\n"],
    ['-2+3', "'-2+3\r\n"],
    ['-x', "'-x\r\n"],
    ['@SUM(A1)', "'@SUM(A1)\r\n"],
    ['\tx', "'\tx\r\n"],
    ['\rx', '"\'\rx"\r\n'],
    ['-0.0000015', '-0.0000015\r\n'],
    ['18446744073709551615', '18446744073709551615\r\n'],
    ['a,b', '"a,b"\r\n'],
    ['a"b', '"a""b"\r\n'],
    ['a\nb', '"a\nb"\r\n'],
    ['a=b', 'a=b\r\n'],
    ['', '\r\n'],
  ])('writes %j as text or as a number, and nothing as a formula', (text, line) => {
    expect(cellOf(text)).toBe(line)
  })

  test('name what lies in objects with dots, and leave what is not known empty', () => {
    const row = Type.Object({ a: Type.Object({ b: Type.Integer(), c: Type.Null() }), d: Type.Boolean() })
    expect(headerLine(columnsOf(row))).toBe('a.b,a.c,d\r\n')
    expect(rowLine(columnsOf(row), { a: { b: 1, c: null }, d: false })).toBe('1,,false\r\n')
    expect(() => rowLine(columnsOf(row), { a: {}, d: true })).toThrow('lacks a column')
  })

  test('leave no movement of nothing to tax tools', () => {
    const entry = { timeSec: Date.parse('2026-11-19T15:59:59Z') / 1_000, description: 'a, b' }
    expect(taxLine({ ...entry, amountEth: '0' })).toBe('')
    expect(taxLine({ ...entry, amountEth: '-0.5' })).toBe('2026-11-19 15:59:59 UTC,-0.5,ETH,cost,"a, b"\r\n')
  })
})

test.each([
  [undefined, 'json'],
  ['*/*', 'json'],
  ['application/json', 'json'],
  ['text/csv', 'csv'],
  ['TEXT/CSV', 'csv'],
  ['text/csv, application/json', 'csv'],
  ['text/csv;q=0.5, application/json', 'json'],
  ['text/csv;q=0', 'json'],
  ['text/csv; q=0.9, application/json; q=0.8, */*', 'csv'],
  ['text/csv, */*', 'csv'],
  ['text/csv, */*;q=0.1', 'csv'],
  ['text/csv;q=0.5, */*', 'json'],
  ['text/csv;q=0.5, application/*', 'json'],
  ['text/csv;q=0.5, application/*;q=0.1, */*', 'csv'],
  ['text/csv; profile=koinly', 'tax'],
  ['text/csv; profile="Koinly"', 'tax'],
  ['text/html,application/xhtml+xml,*/*;q=0.8', 'json'],
])('to who accepts %s the answer is %s', (accept, form) => {
  expect(acceptedForm(accept, { row: ROW, hasTaxForm: true })).toEqual({ status: 'form', form })
})

test('refuses a form that there is not, and knows none where there is no table', () => {
  expect(acceptedForm('text/csv; profile=koinly', { row: ROW })).toMatchObject({ status: 'refused', code: '400' })
  expect(acceptedForm('text/csv; profile=x', { row: ROW, hasTaxForm: true })).toMatchObject({ code: '400' })
  expect(acceptedForm('text/csv', undefined)).toEqual({ status: 'form', form: 'json' })
})

test('compares tags weakly, and whatever the coding', () => {
  const [tag, other] = [entityTag('one'), entityTag('other')]
  expect(tag).not.toBe(other)
  for (const known of [tag, `W/${tag}`, codedTag(tag, 'gzip'), `${other}, ${codedTag(tag, 'zstd')}`, '*'])
    expect(isKnown(known, tag), known).toBe(true)
  for (const known of [other, codedTag(other, 'gzip'), '', undefined]) expect(isKnown(known, tag), known).toBe(false)
})

// RFC 8785, 3.2.3, of what statements have: members in the order of UTF-16 units, no number that two texts would tell.
test('has one text of a value', () => {
  const value = { '\u20ac': 1, '\r': [true, null], '1': { b: 'ö"\u000f', a: -3 }, '\ud83d\ude00': '', '\ufb33': '' }
  expect(canonicalJson(value)).toBe(
    '{"\\r":[true,null],"1":{"a":-3,"b":"ö\\"\\u000f"},"\u20ac":1,"\ud83d\ude00":"","\ufb33":""}',
  )
  expect(() => canonicalJson({ a: 0.5 })).toThrow('safe integer')
})

// RFC 8032, 7.1, tests 1 and 2.
test.each([
  [
    '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    '',
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  ],
  [
    '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
    '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    'r',
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  ],
])(
  'signs as Ed25519 does with the key %s, which is read once and overwritten',
  (secret, publicKey, text, signature) => {
    const bytes = Buffer.from(secret, 'hex')
    let reads = 0
    const signer = openStatementSigner(() => {
      reads++
      return bytes
    })
    expect(reads).toBe(0)
    expect(signer.sign(text).toString('hex')).toBe(signature)
    const [, base64 = ''] = /BEGIN PUBLIC KEY-----\n(.*)\n-----END/.exec(signer.publicKeyPem()) ?? []
    expect(Buffer.from(base64, 'base64').subarray(-32).toString('hex')).toBe(publicKey)
    expect(reads).toBe(1)
    expect(bytes.every((byte) => byte === 0)).toBe(true)
  },
)
