import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openContractNode } from '../../infra/execution/contract-node.ts'
import type { ContractNode } from '../../infra/ports/contract-node.ts'
import { silentLog } from './silent-log.ts'

const CONTRACT = `0x${'c0'.repeat(20)}`
const MAKER = `0x${'a1'.repeat(20)}`
const HEAD = 1_000
const HASH = `0x${'11'.repeat(32)}`

interface Question {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}
type Answer = { readonly result: unknown } | { readonly error: { readonly code: number; readonly message: string } }

let server: Server
let url: string
let node: ContractNode
let asked: Question[]
let answer: (question: Question) => Answer | undefined

const usual = ({ method }: Question): Answer => {
  if (method === 'eth_chainId') return { result: '0x1' }
  if (method === 'eth_getBlockByNumber')
    return { result: { number: `0x${HEAD.toString(16)}`, hash: HASH, parentHash: HASH, timestamp: '0x64' } }
  return { error: { code: -32_601, message: `no ${method} here` } }
}

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const body: unknown = JSON.parse((await Array.fromAsync(request as AsyncIterable<Buffer>)).join(''))
    const questions = (Array.isArray(body) ? body : [body]) as Question[]
    asked.push(...questions)
    const answers = questions.map((question) => ({
      jsonrpc: '2.0',
      id: question.id,
      ...(answer(question) ?? usual(question)),
    }))
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify(Array.isArray(body) ? answers : answers[0]))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  node = openContractNode({ urls: [url], log: silentLog, limits: { attemptsPerNode: 1 } })
})
beforeEach(() => {
  asked = []
  answer = () => undefined
})
afterAll(async () => {
  await node[Symbol.asyncDispose]()
  server.closeAllConnections()
  await new Promise((closed) => server.close(closed))
})

const call = () => node.call([{ to: CONTRACT, data: '0x06fdde03' }])

test('calls are made after one block, without a sender, and with bounded gas', async () => {
  answer = ({ method }) => (method === 'eth_call' ? { result: '0x0102' } : undefined)
  expect(await call()).toEqual({
    block: { number: HEAD, hash: HASH, timeSec: 100 },
    answers: [{ status: 'returned', data: Uint8Array.of(1, 2) }],
  })
  expect(asked.find(({ method }) => method === 'eth_call')?.params).toEqual([
    { to: CONTRACT, data: '0x06fdde03', gas: '0x2faf080' },
    '0x3e8',
  ])
})

test.each([
  [3, 'execution reverted'],
  [-32_000, 'execution reverted: custom error 0x556f1830'],
  [-32_000, 'out of gas'],
  [-32_015, 'VM execution error.'],
  [-32_000, 'invalid opcode: INVALID'],
  [-32_015, 'StaticCallViolation'],
  [-32_000, 'gas uint64 overflow'],
  [-32_000, 'write protection'],
  [-32_000, 'max call depth exceeded'],
  [-32_000, 'return data out of bounds'],
  [-32_000, 'stack limit reached 1024 (1023)'],
  [-32_000, 'execution reverted: execution aborted (timeout = 5s)'],
])('a call that ends with %i %s is a revert, and nothing that it says is followed', async (code, message) => {
  // OffchainLookup (EIP-3668): sender, URLs, call data, callback, extra data.
  const data = `0x556f1830${'00'.repeat(160)}`
  answer = ({ method }) => (method === 'eth_call' ? { error: { code, message, data } as never } : undefined)
  expect((await call()).answers).toEqual([{ status: 'reverted' }])
  expect(asked.filter(({ method }) => method === 'eth_call')).toHaveLength(1)
})

test.each([
  [-32_000, 'execution aborted (timeout = 5s)', 'timed_out'],
  [-32_002, 'request timed out', 'timed_out'],
  [-32_016, 'Request was cancelled due to enabled timeout.', 'timed_out'],
  [-32_603, 'Timeout expired', 'timed_out'],
  [-32_003, 'response too large', 'too_large'],
  [-32_008, 'Response is too big', 'too_large'],
])('a call that ends with %i %s is %s, and the node is asked once', async (code, message, status) => {
  answer = ({ method }) => (method === 'eth_call' ? { error: { code, message } } : undefined)
  expect((await call()).answers).toEqual([{ status }])
  expect(asked.filter(({ method }) => method === 'eth_call')).toHaveLength(1)
})

/** Half a byte a digit: more than four MiB of them. */
const LARGE = { result: `0x${'00'.repeat(2_200_000)}` }

test('a call whose answer is too large says nothing about the node, nor about what else is asked', async () => {
  const told: string[] = []
  const warn = (_: object, message: string) => void told.push(message)
  await using node = openContractNode({ urls: [url, url], log: { ...silentLog, warn } })
  answer = ({ method, params: [asked] }) => {
    if (method !== 'eth_call') return undefined
    return (asked as { data: string }).data === '0x06fdde03' ? LARGE : { result: '0x01' }
  }
  const calls = ['0x06fdde03', '0x95d89b41'] as const
  const { answers } = await node.call(calls.map((data) => ({ to: CONTRACT, data })))
  expect(answers).toEqual([{ status: 'too_large' }, { status: 'returned', data: Uint8Array.of(1) }])
  expect(asked.filter(({ method }) => method === 'eth_call')).toHaveLength(2)
  expect(told).toEqual([])
})

test.each([
  ['that does not have the block', { error: { code: -32_001, message: 'header not found' } }],
  ['that answers no hex', { result: '0xzz' }],
  ['that answers half a byte', { result: '0x0' }],
])('a node %s is asked again later', async (_, wrong) => {
  answer = ({ method }) => (method === 'eth_call' ? wrong : undefined)
  await expect(call()).rejects.toMatchObject({ retryable: true })
})

const codeFrom =
  (block: number, oldest = 0) =>
  ({ method, params }: Question): Answer | undefined => {
    if (method !== 'eth_getCode') return undefined
    const at = Number(params[1])
    if (at < oldest) return { error: { code: -32_000, message: 'missing trie node' } }
    return { result: at >= block ? '0x60' : '0x' }
  }
const receipts =
  (contractAddress: string | null) =>
  ({ method }: Question): Answer | undefined =>
    method === 'eth_getBlockReceipts'
      ? { result: [{ from: `0x${'b2'.repeat(20)}` }, { from: MAKER, contractAddress }] }
      : undefined

test.each([0, 1, 617, HEAD])(
  'the block that a contract begins with is found, and who has made it: %i',
  async (block) => {
    answer = (question) => codeFrom(block)(question) ?? receipts(CONTRACT)(question)
    expect(await node.deploymentOf(CONTRACT)).toEqual({ block, deployer: MAKER, reason: null })
    expect(asked.find(({ method }) => method === 'eth_getBlockReceipts')?.params).toEqual([`0x${block.toString(16)}`])
    expect(asked.length).toBeLessThan(20)
  },
)

test('without old states the receipt of the transaction that a node knows a creation by is enough', async () => {
  const transaction = `0x${'77'.repeat(32)}`
  const creation = (contractAddress: string | null) => (question: Question) => {
    const [asked] = question.params
    if (question.method === 'ots_getContractCreator' && asked === CONTRACT)
      return { result: { hash: transaction, creator: MAKER } }
    if (question.method === 'eth_getTransactionReceipt' && asked === transaction)
      return { result: { from: MAKER, contractAddress, blockNumber: '0x269' } }
    return codeFrom(617, 900)(question)
  }
  answer = creation(CONTRACT)
  expect(await node.deploymentOf(CONTRACT)).toEqual({ block: 617, deployer: MAKER, reason: null })
  answer = creation(null)
  expect(await node.deploymentOf(CONTRACT)).toEqual({ block: 617, deployer: null, reason: 'made_by_contract' })
  answer = (question) =>
    question.method === 'ots_getContractCreator' ? { result: null } : codeFrom(617, 900)(question)
  expect(await node.deploymentOf(CONTRACT)).toEqual({ block: null, deployer: null, reason: 'no_old_states' })
})

test('where the receipts of its block are too large, a contract is known by what the node knows its creation by', async () => {
  const receipts = { result: [{ from: MAKER, contractAddress: CONTRACT, data: LARGE.result }] }
  answer = (question) => codeFrom(617)(question) ?? (question.method === 'eth_getBlockReceipts' ? receipts : undefined)
  expect(await node.deploymentOf(CONTRACT)).toEqual({ block: 617, deployer: null, reason: 'no_old_states' })
  const others = answer
  answer = (question) => {
    if (question.method === 'ots_getContractCreator') return { result: { hash: HASH } }
    if (question.method === 'eth_getTransactionReceipt')
      return { result: { from: MAKER, contractAddress: CONTRACT, blockNumber: '0x269' } }
    return others(question)
  }
  expect(await node.deploymentOf(CONTRACT)).toEqual({ block: 617, deployer: MAKER, reason: null })
})

test.each<[string, object | null]>([
  ['that knows no such method', { error: { code: -32_601, message: 'the method does not exist' } }],
  ['that has none of its block', { result: null }],
])('of a node %s, no receipts say nothing of who made a contract', async (_, receipts) => {
  answer = (question) =>
    codeFrom(617)(question) ?? (question.method === 'eth_getBlockReceipts' ? (receipts as never) : undefined)
  expect(await node.deploymentOf(CONTRACT)).toEqual({ block: 617, deployer: null, reason: 'no_old_states' })
})

test('what nobody can show is not told, and why', async () => {
  answer = (question) => codeFrom(617)(question) ?? receipts(null)(question)
  expect(await node.deploymentOf(CONTRACT)).toEqual({ block: 617, deployer: null, reason: 'made_by_contract' })
  answer = codeFrom(617, 900)
  expect(await node.deploymentOf(CONTRACT)).toEqual({ block: null, deployer: null, reason: 'no_old_states' })
  answer = codeFrom(HEAD + 1)
  expect(await node.deploymentOf(CONTRACT)).toEqual({ block: null, deployer: null, reason: 'not_a_contract' })
})
