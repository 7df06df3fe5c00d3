import { describe, expect, test } from 'vitest'
import { ledPath } from '../../api/gateway/led-path.ts'
import { IPFS } from '../../schemas/protocols/ipfs.ts'
import type { Protocol, Service } from '../../schemas/protocols/protocol.ts'
import { protocolOf } from '../../schemas/protocols/protocols.ts'

const [SERVICE] = IPFS.services as readonly [Service]
const BEFORE = 'http://gateway.example/ipfs/pub/token'

describe('a path that a node leads to', () => {
  test.each([
    ['/ipfs/cid/dir', '/ipfs/cid/dir/'],
    ['/ipfs/cid', '/ipfs/cid/'],
    ['/ipfs/cid/a/b', '/ipfs/other/index.html?x=1&y=/'],
    ['/ipfs/cid/a/', '/ipns/name/a'],
    ['/ipfs/cid/dir', '/ipfs/cid/a:b/'],
  ])('is behind the token for who has asked for %s: %s', (asked, led) => {
    const told = ledPath(SERVICE, asked, led) as string
    expect(new URL(told, BEFORE + asked).href).toBe(BEFORE + led)
    expect(told).not.toContain('token')
  })

  test.each(['/login', '/api/v0/id', '/ipfs/cid/../../x', '/ipfs//cid', '/ipfs/cid/%2e%2e/', '/ipfs/cid#a', '/'])(
    'is told to nobody where the gateway has none: %s',
    (led) => {
      expect(ledPath(SERVICE, '/ipfs/cid', led)).toBeUndefined()
    },
  )

  test('is found from a root that has a slash, and not from one that has none', () => {
    const [aptos] = (protocolOf('aptos') as Protocol).services as readonly [Service]
    expect(ledPath(aptos, '/v1', '/v1/blocks/by_height/1')).toBe('./v1/blocks/by_height/1')
    expect(ledPath(aptos, '', '/v1')).toBeUndefined()
  })
})
