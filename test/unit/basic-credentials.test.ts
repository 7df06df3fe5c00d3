import { expect, test } from 'vitest'
import { basicCredentials } from '../../infra/basic-credentials.ts'
import { socketAddressOf } from '../../infra/upstreams/socket.ts'

test.each([
  ['user:pass', 'user:pass'],
  ['user', 'user:'],
  ['us%3Aer:p%40ss', 'us:er:p@ss'],
  ['user:100%', 'user:100%'],
  ['user:%zz%41', 'user:%zzA'],
  ['h%C3%BCnter:%E2%82%AC', 'hünter:€'],
])('user and password of %s are %s', (inAddress, meant) => {
  expect(Buffer.from(basicCredentials(new URL(`http://${inAddress}@node.example`)), 'base64').toString()).toBe(meant)
})

test('a WebSocket has those of its address in a header, whatever they are', () => {
  const options = { url: 'http://n', wsUrl: 'ws://user:100%@node.example/a/', headers: {}, weight: 1 }
  expect(socketAddressOf(options, { path: '/ws' })).toEqual({
    url: 'ws://node.example/a/ws',
    headers: { authorization: `Basic ${Buffer.from('user:100%').toString('base64')}` },
  })
})
