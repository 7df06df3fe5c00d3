import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { askedTarget } from '../../api/gateway/asked-target.ts'
import { type PlainRequest, PlainRequestReader } from '../../api/gateway/plain/plain-request.ts'
import { hashToken } from '../../schemas/events/accounts.ts'

const requests = () => {
  const reader = new PlainRequestReader(new Socket())
  return (target: string, verb = 'GET') =>
    reader.read(Buffer.from(`${verb} ${target} HTTP/1.1\r\nHost: a\r\n\r\n`)) as PlainRequest
}

test('what requests of a connection ask for is looked for once for each head, and what another one asks is another thing', () => {
  const request = requests()
  const target = '/ethereum2/mainnet/key/eth/v1/node/syncing'
  const first = askedTarget(request(target), target)
  expect(first).toMatchObject({ address: { token: 'key', network: 'mainnet' }, tokenHash: hashToken('key') })
  expect(first.found?.route.path).toBe('/eth/v1/node/syncing')
  expect(askedTarget(request(target), target)).toBe(first)
  const other = '/ethereum2/mainnet/yek/eth/v1/node/syncing'
  expect(askedTarget(request(other), other).tokenHash).toBe(hashToken('yek'))
  expect(askedTarget(request(target), target)).toEqual(first)
})

test('a host name that stands for a network since the last request counts', () => {
  const request = requests()
  const target = '/key'
  expect(askedTarget(request(target), target).address).toBeUndefined()
  const ofHost = '/solana/mainnet/key'
  expect(askedTarget(request(target), ofHost)).toMatchObject({ address: { token: 'key' }, tokenHash: hashToken('key') })
  expect(askedTarget(request(target), target).address).toBeUndefined()
})
