import { encodeFunctionData, parseAbi } from 'viem'
import { expect, test } from 'vitest'
import {
  exitRequestCall,
  offeredFee,
  requestCall,
  requestFee,
  takesRequests,
} from '../../schemas/eth/withdrawal-request.ts'

// By the pseudo-code of EIP-7002, whose terms are cut: a little below e^(excess / 17).
test.each([
  [0n, 1n, 6n],
  [11n, 1n, 12n],
  [12n, 1n, 12n],
  [13n, 2n, 13n],
  [34n, 7n, 48n],
  [170n, 22_019n, 144_640n],
])('at an excess of %d a request costs %d wei, and %d are offered', (excess, fee, offered) => {
  expect(requestFee(excess)).toBe(fee)
  expect(offeredFee(excess)).toBe(offered)
})

test('before its fork the contract takes no requests', () => {
  expect(takesRequests(2n ** 256n - 1n)).toBe(false)
  expect(takesRequests(0n)).toBe(true)
})

test('a request is a public key and eight bytes of gwei, big-endian', () => {
  const pubkey = `0x${'a1'.repeat(48)}`
  expect(requestCall(pubkey, 0n)).toBe(`${pubkey}0000000000000000`)
  expect(requestCall(pubkey, 1_000_000_000n)).toBe(`${pubkey}000000003b9aca00`)
  expect(requestCall(pubkey, 2n ** 64n - 1n)).toBe(`${pubkey}ffffffffffffffff`)
})

test('exits are asked for by the ABI of the exit-request contract', () => {
  const abi = parseAbi(['function requestExits(bytes pubkeys)', 'function requestAllExits()'])
  const pubkeys = [`0x${'a1'.repeat(48)}`, `0x${'b2'.repeat(48)}`, `0x${'c3'.repeat(48)}`] as const
  for (const some of [pubkeys.slice(0, 1), pubkeys.slice(0, 2), pubkeys]) {
    const packed = `0x${some.map((pubkey) => pubkey.slice(2)).join('')}` as const
    expect(exitRequestCall(some)).toBe(encodeFunctionData({ abi, functionName: 'requestExits', args: [packed] }))
  }
  expect(exitRequestCall('all')).toBe(encodeFunctionData({ abi, functionName: 'requestAllExits' }))
})
