import { describe, expect, test } from 'vitest'
import { type Calls, readCalls } from '../../api/gateway/calls.ts'
import { rulesOf } from '../../api/gateway/method-rules.ts'
import { type Preparing, prepareCalls, refusalBody } from '../../api/gateway/prepare-calls.ts'
import { tellRefusal } from '../../api/gateway/refusals.ts'
import type { Protocol } from '../../schemas/protocols/protocol.ts'
import { protocolOf } from '../../schemas/protocols/protocols.ts'

function prepared(protocol: string, value: unknown, more: Partial<Preparing> = {}) {
  const body = Buffer.from(JSON.stringify(value))
  const read = readCalls(body) as Calls
  const rules = rulesOf(protocolOf(protocol) as Protocol)
  const preparing = { rules, publicAccess: undefined, allowed: {}, hasNode: () => true, ...more }
  return { read, ...prepareCalls(body, read, preparing) }
}

const codesOf = (answers: readonly string[]) =>
  answers.map((text) => {
    const { id, error } = JSON.parse(text) as { readonly id: unknown; readonly error: { readonly code: number } }
    return [id, error.code]
  })

describe('a transaction of XRP', () => {
  const submit = (first: object, beside: object = {}) =>
    prepared('xrp', { method: 'submit', params: [first], ...beside }).body === undefined

  test('that is signed goes to nodes, and one that a node would sign does not', () => {
    expect(submit({ tx_blob: '1200' })).toBe(false)
    const secrets = [
      { secret: 's', tx_json: {} },
      { Seed: 's' },
      { seed_hex: '00' },
      { passphrase: 'p' },
      { tx_json: {} },
    ]
    expect(secrets.map((one) => submit(one))).toEqual(secrets.map(() => true))
  })

  test('may have its secret beside its parameters, as over WebSocket', () => {
    expect(submit({}, { secret: 's' })).toBe(true)
  })
})

test.each([
  ['subscribe', { url: 'http://10.0.0.1/' }],
  ['subscribe', { streams: ['ledger'], URL_username: 'a' }],
  ['unsubscribe', { url: 'http://10.0.0.1/' }],
  ['feature', { feature: 'Checks', vetoed: true }],
])('a call of XRP that has a node call somebody, or vote, is refused: %s %j', (method, first) => {
  expect(prepared('xrp', { method, params: [first] }).body).toBeUndefined()
  expect(prepared('xrp', { method, ...first }).body).toBeUndefined()
})

test.each([
  ['subscribe', { streams: ['ledger'] }],
  ['feature', { feature: 'Checks' }],
])('one that asks for the same by itself is sent: %s %j', (method, first) => {
  expect(prepared('xrp', { method, params: [first] }).body).toBeDefined()
})

test('what has to go alone is refused in a batch, and leaves the other calls alone', () => {
  const batch = [
    { jsonrpc: '2.0', id: 5, method: 'eth_subscribe', params: ['logs', {}] },
    { jsonrpc: '2.0', id: 6, method: 'eth_chainId' },
  ]
  const aloneWhy = (method: string) => (method === 'eth_subscribe' ? 'alone' : undefined)
  const { body, answers } = prepared('ethereum', batch, { aloneWhy })
  expect(JSON.parse(String(body))).toEqual(batch.slice(1))
  expect(codesOf(answers.map(({ text }) => text))).toEqual([[5, -32600]])
  expect(prepared('ethereum', batch[0], { aloneWhy }).answers).toEqual([])
})

test('a batch whose rest is refused keeps what was refused of it before', () => {
  const batch = [
    { jsonrpc: '2.0', id: 1, method: 'admin_peers' },
    { jsonrpc: '2.0', id: 2, method: 'eth_chainId' },
    { jsonrpc: '2.0', id: 3, method: 4 },
    { jsonrpc: '2.0', id: 4, method: 'eth_gasPrice' },
  ]
  const made = prepared('ethereum', batch)
  const told = tellRefusal({ kind: 'none-healthy' })
  const textsOf = (body: string) => (JSON.parse(body) as readonly object[]).map((one) => JSON.stringify(one))
  expect(codesOf(textsOf(refusalBody(made.read, told, made)))).toEqual([
    [1, -32601],
    [2, -32011],
    [3, -32600],
    [4, -32011],
  ])
  expect(codesOf(textsOf(refusalBody(made.read, told)))).toEqual([1, 2, 3, 4].map((id) => [id, -32011]))
})

test('what administers a node, or uses keys on it, is nobody’s', () => {
  const refused = [
    'perm_addNodesToAllowlist',
    'plugins_reloadPluginConfig',
    'parity_newAccountFromPhrase',
    'net_addPeer',
  ]
  const wallet = ['eth_resend', 'eth_signTypedData_v4', 'eth_sendUnsignedTransaction', 'eth_setEtherbase']
  for (const method of [...refused, ...wallet])
    expect(prepared('bsc', { jsonrpc: '2.0', id: 1, method }).body, method).toBeUndefined()
})

test('a call has 64 members at most, whatever they are', () => {
  const statusOf = (members: number) =>
    readCalls(Buffer.from(`{"id":1,"method":"a"${',"a":1'.repeat(members - 2)}}`)).status
  expect([64, 65, 1_000_000].map(statusOf)).toEqual(['read', 'unreadable', 'unreadable'])
  const batch = readCalls(Buffer.from(`[{"id":1,"method":"a"${',"a":1'.repeat(63)}},{"id":2,"method":"b"}]`)) as Calls
  expect(batch.items).toMatchObject([{ why: 'the call has more than 64 members' }, { method: 'b' }])
})

test('a body has 128 levels at most, whatever it is', () => {
  const statusOf = (levels: number) => {
    const params = `${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}`
    return readCalls(Buffer.from(`{"id":1,"method":"a","params":${params}}`)).status
  }
  expect([128, 129, 1_000_000].map(statusOf)).toEqual(['read', 'unreadable', 'unreadable'])
  const batch = Buffer.from(`[{"id":1,"method":"a"},${'['.repeat(128)}${']'.repeat(128)}]`)
  expect(readCalls(batch)).toMatchObject({ fault: 'request', why: 'the body has more than 128 levels' })
  expect(readCalls(Buffer.from('['.repeat(200)))).toMatchObject({ status: 'unreadable' })
  expect(readCalls(Buffer.from(`{"id":1,"method":"a","params":["${'['.repeat(200)}"]}`)).status).toBe('read')
})

test('an object of parameters that is looked into has 64 members at most', () => {
  const withMembers = (members: number) => Object.fromEntries(Array.from({ length: members }, (_, i) => [`a${i}`, 1]))
  const isSent = (method: string, params: readonly unknown[], protocol = 'ethereum') =>
    prepared(protocol, { id: 1, method, params }, { allowed: { contracts: new Set([`0x${'1'.repeat(40)}`]) } }).body !==
    undefined
  const call = (members: number) => ({ ...withMembers(members - 1), to: `0x${'1'.repeat(40)}` })
  expect([64, 65].map((members) => isSent('eth_call', [call(members)]))).toEqual([true, false])
  expect([64, 65].map((members) => isSent('eth_call', [call(1), withMembers(members)]))).toEqual([true, false])
  expect([64, 65].map((members) => isSent('submit', [withMembers(members)], 'xrp'))).toEqual([true, false])
})
