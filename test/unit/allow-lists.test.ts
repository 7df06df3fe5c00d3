import { describe, expect, test } from 'vitest'
import { IpNetworks, parseIpNetwork } from '../../api/http/ip-networks.ts'
import { parseAllowLists } from '../../api/http/parse-allow-lists.ts'
import { ALLOW_BYTES_MAX, ALLOW_LISTS, type AllowList } from '../../schemas/allow-lists.ts'

test('lists are kept in one spelling, each entry once, and none is kept where none is given', () => {
  expect(
    parseAllowLists({
      origins: ['HTTPS://A.example:443', 'https://a.example', 'https://b.example:8443'],
      ips: ['10.0.0.0/8', '2001:DB8::1'],
      methods: ['eth_call'],
      contracts: ['0xdAC17F958D2ee523a2206206994597C13D831ec7'],
    }),
  ).toEqual({
    status: 'ok',
    allow: {
      origins: ['https://a.example', 'https://b.example:8443'],
      ips: ['10.0.0.0/8', '2001:db8::1'],
      methods: ['eth_call'],
      contracts: ['0xdac17f958d2ee523a2206206994597c13d831ec7'],
    },
  })
  expect(parseAllowLists({})).toEqual({ status: 'ok', allow: undefined })
})

/** Fits as it is written, and not as browsers send it. */
const LONG_NAME = Array.from({ length: 250 }, (_, i) => String.fromCodePoint(i % 2 ? 0x4e00 + 91 * i : 0x61)).join('')

test.each<[AllowList, readonly string[]]>([
  [
    'origins',
    [
      'a.example',
      'https://*.example',
      `https://${LONG_NAME}.example`,
      'ftp://a.example',
      'https://a.example/',
      'https://a.example/b',
      'https://u@a.example',
      'null',
      '*',
    ],
  ],
  ['ips', ['10.0.0', '10.0.0.0/33', '2001:db8::/129', '10.0.0.1/', '010.0.0.1', 'fe80::1%lo', 'localhost', '']],
  ['methods', ['', 'eth call', 'eth_call,eth_chainId', 'x'.repeat(129), 'ét']],
  ['contracts', ['0x', `0x${'g'.repeat(40)}`, 'ab'.repeat(20), '0xDAC17F958D2ee523a2206206994597C13D831ec7', 'a.eth']],
])('no list of %s has such an entry', (list, entries) => {
  for (const entry of entries)
    expect(parseAllowLists({ [list]: [entry] }), entry).toMatchObject({ status: 'refused', list, entry })
})

test('lists of one key have so many bytes together', () => {
  const entry = (i: number) => `${String(i).padStart(3, '0')}${'x'.repeat(125)}`
  const entries = Array.from({ length: ALLOW_BYTES_MAX / 128 }, (_, i) => entry(i))
  expect(parseAllowLists({ methods: entries })).toMatchObject({ status: 'ok' })
  expect(parseAllowLists({ methods: entries, ips: ['::'] })).toEqual({ status: 'too-large' })
})

test('every list is parsed', () => {
  for (const list of ALLOW_LISTS) expect(parseAllowLists({ [list]: [','] })).toMatchObject({ status: 'refused', list })
})

describe('networks', () => {
  const networks = new IpNetworks(['10.0.0.0/8', '192.0.2.1', '2001:db8::/32', '::1'])

  test.each(['10.255.0.1', '::ffff:10.0.0.1', '192.0.2.1', '2001:DB8:ffff::', '0:0:0:0:0:0:0:1'])('have %s', (one) => {
    expect(networks.has(one)).toBe(true)
  })

  test.each(['11.0.0.0', '192.0.2.2', '2001:db9::', '::2', '', 'unknown', '10.0.0.1:80'])('do not have %j', (one) => {
    expect(networks.has(one)).toBe(false)
  })

  test('of no bits have all addresses of their kind', () => {
    expect(new IpNetworks(['0.0.0.0/0']).has('203.0.113.7')).toBe(true)
    expect(new IpNetworks(['0.0.0.0/0']).has('2001:db8::1')).toBe(false)
    expect(parseIpNetwork('0.0.0.0/0')).toEqual({ address: '0.0.0.0', family: 'ipv4', bits: 0 })
  })

  test('that are none are refused', () => {
    expect(() => new IpNetworks(['somewhere'])).toThrow(/neither an address nor a network/)
  })
})
