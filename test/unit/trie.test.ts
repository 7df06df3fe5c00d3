import { keccak256, toHex, toRlp } from 'viem'
import { describe, expect, it } from 'vitest'
import {
  bloomTester,
  type CommittedReceipt,
  encodeReceipt,
  logsBloomOf,
  receiptsRoot,
} from '../../schemas/eth/receipts.ts'
import { encodeRlp, type RlpItem, rlpInteger } from '../../schemas/eth/rlp.ts'
import { orderedTrieRoot } from '../../schemas/eth/trie.ts'
import { bytesOf, listOf, MAINNET_BLOCKS, readBlock, toReceipt } from './mainnet-blocks.ts'

describe('orderedTrieRoot', () => {
  it('gives the well-known empty root for no values', () => {
    expect(toHex(orderedTrieRoot([]))).toBe('0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421')
  })

  it('is the hash of one leaf with the path of rlp(0) for one value', () => {
    const value = new Uint8Array(40).fill(7)
    const leaf = encodeRlp([Uint8Array.of(0x20, 0x80), value])
    expect(orderedTrieRoot([value])).toEqual(keccak256(leaf, 'bytes'))
  })

  it('embeds nodes shorter than a hash in their parent', () => {
    const [a, b] = [Uint8Array.of(1), Uint8Array.of(2)]
    const empty = new Uint8Array(0)
    const branch: RlpItem[] = Array.from({ length: 17 }, () => empty)
    branch[0] = [Uint8Array.of(0x31), b] // key 0x01: half-byte 0, then the leaf's odd path 1
    branch[8] = [Uint8Array.of(0x30), a] // key 0x80
    expect(orderedTrieRoot([a, b])).toEqual(keccak256(encodeRlp(branch), 'bytes'))
  })
})

it.each([
  [0, '0x'],
  [1, '0x01'],
  [0x80, '0x80'],
  [1024, '0x0400'],
  [2n ** 64n, '0x010000000000000000'],
])('the integer %s has no more bytes than it needs', (value, bytes) => {
  expect(toHex(rlpInteger(value))).toBe(bytes)
})

it('the receipt of an OP stack deposit ends with its nonce and version', () => {
  const bloom = `0x${'00'.repeat(256)}` as const
  const receipt = { type: 0x7e, status: 'success', cumulativeGasUsed: 46_913n, logs: [], logsBloom: bloom } as const
  const fields = ['0x01', '0xb741', bloom, []] as const
  expect(toHex(encodeReceipt(receipt))).toBe(`0x7e${toRlp(fields).slice(2)}`)
  expect(toHex(encodeReceipt({ ...receipt, deposit: { nonce: 31n, version: 1n } }))).toBe(
    `0x7e${toRlp([...fields, '0x1f', '0x01']).slice(2)}`,
  )
})

describe('logs bloom', () => {
  it('contains every address and topic of the logs and not another one', () => {
    const address = '0x4242424242424242424242424242424242424242'
    const topic = `0x${'17'.repeat(32)}` as const
    const bloom = logsBloomOf([{ address, topics: [topic], data: '0x' }])
    expect(bloomTester(address)(bloom)).toBe(true)
    expect(bloomTester(topic)(bloom)).toBe(true)
    expect(bloomTester('0x0000000000000000000000000000000000000001')(bloom)).toBe(false)
  })
})

describe.skipIf(MAINNET_BLOCKS.length === 0)('real mainnet blocks', () => {
  it.each(MAINNET_BLOCKS)('%s: transactions, receipts and withdrawals have the roots of the header', (file) => {
    const { header, body, receipts } = readBlock(file)
    const [transactions, , withdrawals] = body
    const encodedTransactions = listOf(transactions).map((tx) => (tx instanceof Uint8Array ? tx : encodeRlp(tx)))
    expect(toHex(orderedTrieRoot(encodedTransactions))).toBe(toHex(bytesOf(header[4])))
    expect(toHex(receiptsRoot(receipts.map(toReceipt)))).toBe(toHex(bytesOf(header[5])))
    if (withdrawals !== undefined) {
      expect(toHex(orderedTrieRoot(listOf(withdrawals).map(encodeRlp)))).toBe(toHex(bytesOf(header[16])))
    }
  })

  it('has a different root when one receipt has another status', () => {
    const { header, receipts } = readBlock(MAINNET_BLOCKS[0] ?? '')
    const [first, ...rest] = receipts.map(toReceipt)
    if (first === undefined) throw new Error('expected a receipt')
    const changed: CommittedReceipt = { ...first, status: first.status === 'success' ? 'reverted' : 'success' }
    expect(toHex(receiptsRoot([changed, ...rest]))).not.toBe(toHex(bytesOf(header[5])))
  })
})
