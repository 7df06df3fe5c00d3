import { toEventHash } from 'viem'
import { expect, test } from 'vitest'
import { isKeptLog, KEPT_CONTRACTS, KEPT_EVENTS } from '../../schemas/eth/kept-logs.ts'

const CONTRACT = `0x${'cc'.repeat(20)}`

test.each(KEPT_EVENTS)('$signature is known by the hash of its signature', ({ signature, topic }) => {
  expect(topic).toBe(toEventHash(signature))
})

test.each([
  ['ERC-721', 4],
  ['ERC-20', 3],
  ['CryptoKitties', 1],
])('a transfer as %s has it, with %i topics, is kept', (_, topics) => {
  const transfer = toEventHash('Transfer(address,address,uint256)').toUpperCase().replace('0X', '0x')
  expect(isKeptLog({ address: CONTRACT, topics: Array(topics).fill(transfer) })).toBe(true)
})

test('the logs of the system contracts are kept, which have no topics', () => {
  for (const address of Object.values(KEPT_CONTRACTS)) {
    expect(isKeptLog({ address: address.toUpperCase().replace('0X', '0x'), topics: [] }), address).toBe(true)
  }
})

test.each([
  ['an approval', [toEventHash('ApprovalForAll(address,address,bool)')]],
  ['a transfer of ERC-6909', [toEventHash('Transfer(address,address,address,uint256,uint256)')]],
  ['a log without topics', []],
  ['a log with the topic of a transfer in another place', [CONTRACT, KEPT_EVENTS[0].topic]],
])('%s is not kept', (_, topics) => {
  expect(isKeptLog({ address: CONTRACT, topics })).toBe(false)
})
