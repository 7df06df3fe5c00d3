import { expect, test } from 'vitest'
import { readCalls } from '../../api/gateway/calls.ts'
import { needOldState, needsOldState } from '../../api/gateway/old-states.ts'
import { matchRoute } from '../../schemas/protocols/match-route.ts'
import type { Protocol, Route, Service } from '../../schemas/protocols/protocol.ts'
import { protocolOf } from '../../schemas/protocols/protocols.ts'

const HEAD = 1_000
const ethereum = protocolOf('ethereum') as Protocol
const beacon = protocolOf('ethereum2') as Protocol

function isArchival(asked: unknown, head: number | undefined = HEAD): boolean {
  const body = Buffer.from(JSON.stringify(asked))
  const read = readCalls(body)
  if (read.status === 'unreadable') throw new Error(read.why)
  return needOldState(ethereum, { head }, { body, calls: read.calls })
}
const call = (method: string, ...params: readonly unknown[]) => ({ jsonrpc: '2.0', id: 1, method, params })
const old = '0x367' // 871
const kept = '0x368' // 872 = 1,000 - 128

test.each([
  ['eth_getBalance', ['0x0', old], true],
  ['eth_getBalance', ['0x0', kept], false],
  ['eth_getBalance', ['0x0', 'earliest'], true],
  ['eth_getBalance', ['0x0', { blockNumber: old }], true],
  ['eth_getBalance', ['0x0', { blockHash: '0x0' }], false],
  ['eth_getBalance', ['0x0', `0x${'0'.repeat(64)}`], false],
  ['eth_getBalance', ['0x0', 'latest'], false],
  ['eth_getBalance', ['0x0'], false],
  ['eth_getBalance', ['0x0', null], false],
  ['eth_getStorageAt', ['0x0', '0x0', old], true],
  ['eth_getStorageAt', ['0x0', '0x0', 'latest'], false],
  ['eth_call', [{}, old, {}], true],
  ['trace_filter', [{ fromBlock: old, toBlock: 'latest' }], true],
  ['trace_block', [old], true],
  // Blocks and their logs are with every node.
  ['eth_getBlockByNumber', [old, false], false],
  ['eth_getLogs', [{ fromBlock: old }], false],
])('whether %s of %j needs an old state is %s', (method, params, expected) => {
  expect(isArchival(call(method, ...params))).toBe(expected)
})

test('a batch needs an old state where one of its calls does', () => {
  const recent = call('eth_call', {}, 'latest')
  expect([isArchival([recent, recent]), isArchival([recent, call('eth_call', {}, '0x1')])]).toEqual([false, true])
})

test('without a head no number is old, and the first block is', () => {
  const body = (block: string) => Buffer.from(JSON.stringify(call('eth_call', {}, block)))
  const isOld = (block: string) => {
    const read = readCalls(body(block))
    return (
      read.status === 'read' && needOldState(ethereum, { head: undefined }, { body: body(block), calls: read.calls })
    )
  }
  expect([isOld('0x0'), isOld('earliest')]).toEqual([false, true])
})

test.each([
  ['/eth/v1/beacon/states/903/validators', true],
  ['/eth/v1/beacon/states/904/validators', false],
  ['/eth/v1/beacon/states/genesis/root', true],
  ['/eth/v1/beacon/states/head/root', false],
  ['/eth/v2/debug/beacon/states/1', true],
  ['/eth/v1/builder/states/1/expected_withdrawals', true],
  ['/eth/v1/beacon/headers/1', false],
])('whether %s asks for an old state is %s', (path, expected) => {
  const route = matchRoute(beacon.services[0] as Service, 'GET', path) as Route
  expect(needsOldState(beacon, { head: HEAD }, { route, path })).toBe(expected)
})
