import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { ClientAddresses } from '../../api/gateway/client-address.ts'

const requestOf = (remoteAddress: string, forwarded?: string) =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage

test('without trusted proxies the client is who is connected, whatever it says', () => {
  const addresses = new ClientAddresses()
  expect(addresses.of(requestOf('192.0.2.1', '10.0.0.1'))).toBe('192.0.2.1')
  expect(addresses.of(requestOf('::ffff:192.0.2.1'))).toBe('192.0.2.1')
})

test('behind trusted proxies it is the last address that none of them has', () => {
  const addresses = new ClientAddresses(['10.0.0.0/8', '2001:db8::/32', '192.0.2.9'])
  expect(addresses.of(requestOf('10.1.1.1', '203.0.113.5'))).toBe('203.0.113.5')
  // What a client has written itself stands before what the proxy adds.
  expect(addresses.of(requestOf('::ffff:10.1.1.1', '198.51.100.1, 203.0.113.5, 192.0.2.9,2001:db8::1'))).toBe(
    '203.0.113.5',
  )
  expect(addresses.of(requestOf('192.0.2.1', '203.0.113.5'))).toBe('192.0.2.1')
  expect(addresses.of(requestOf('10.1.1.1'))).toBe('10.1.1.1')
  expect(addresses.of(requestOf('10.1.1.1', '203.0.113.5, unknown'))).toBe('10.1.1.1')
  // Some proxies tell the port, which is another one for each connection.
  expect(addresses.of(requestOf('10.1.1.1', '203.0.113.5:4711'))).toBe('203.0.113.5')
  expect(addresses.of(requestOf('10.1.1.1', '[2001:db9::5]:4711, 10.0.0.2:80'))).toBe('2001:db9::5')
})
