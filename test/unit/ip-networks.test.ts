import { expect, test } from 'vitest'
import { IpNetworks } from '../../api/http/ip-networks.ts'

test('an address is among the networks or not, however often and beside how many others it is asked for', () => {
  const networks = new IpNetworks(['10.0.0.0/8', '192.0.2.9', '2001:db8::/32'])
  for (let time = 0; time < 3; time++) {
    const others = Array.from({ length: 1_200 }, (_, i) => `10.1.${i >> 8}.${i & 255}`)
    expect(others.every((address) => networks.has(address))).toBe(true)
    const told = ['192.0.2.9', '192.0.2.8', '2001:db8::1', '2001:db9::1', '::ffff:10.0.0.1', 'unknown', '']
    expect(told.map((address) => networks.has(address))).toEqual([true, false, true, false, true, false, false])
  }
})
