import fc from 'fast-check'
import { keccak256, serializeTransaction, type TransactionSerializable } from 'viem'
import { describe, expect, test } from 'vitest'
import { bytesOf, type Hex, hexOf } from '../../schemas/eth/hex.ts'
import {
  parseRawTransaction,
  RAW_TRANSACTION_BYTES_MAX,
  type RawTransaction,
} from '../../schemas/eth/raw-transaction.ts'
import { decodeRlp, encodeRlp, type RlpItem } from '../../schemas/eth/rlp.ts'
import { accountOf, addressOf } from './given-rpc-block.ts'

const ACCOUNT = accountOf('c')
const TO: Hex = `0x${'12'.repeat(20)}`
const WORD: Hex = `0x${'34'.repeat(32)}`
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const common = { to: TO, gas: 21_000n, value: 3n, nonce: 9, data: '0x0102' } as const
const dynamic = { ...common, type: 'eip1559', chainId: 7, maxFeePerGas: 20n, maxPriorityFeePerGas: 2n } as const
const accessList = [{ address: TO, storageKeys: [WORD] }]

function parsed(raw: string): RawTransaction {
  const result = parseRawTransaction(raw)
  if (result.status !== 'ok') throw new Error(result.sentence)
  return result.transaction
}

function reasonOf(raw: string): string {
  const result = parseRawTransaction(raw)
  return result.status === 'ok' ? 'ok' : result.reason
}

describe('a raw transaction', () => {
  test.each<[string, TransactionSerializable, Partial<RawTransaction>]>([
    [
      'legacy with a chain',
      { ...common, type: 'legacy', gasPrice: 7n, chainId: 2 ** 40 },
      { chainId: 2 ** 40, maxFeePerGasWei: 7n },
    ],
    [
      'EIP-2930',
      { ...common, type: 'eip2930', chainId: 7, gasPrice: 7n, accessList },
      { maxFeePerGasWei: 7n, accessList },
    ],
    ['EIP-1559', dynamic, { maxFeePerGasWei: 20n, accessList: [] }],
    ['EIP-1559 with an access list', { ...dynamic, accessList }, { accessList }],
    [
      'EIP-1559 with nothing but zeros',
      { type: 'eip1559', chainId: 7, to: TO },
      { nonce: 0, gas: 0n, valueWei: 0n, data: '0x' },
    ],
    ['EIP-1559 that creates a contract', { ...dynamic, to: null }, { to: undefined }],
  ])('%s is read as it was signed, with its sender', async (_, fields, expected) => {
    const raw = await ACCOUNT.signTransaction(fields)
    expect(parsed(raw)).toMatchObject({
      raw,
      hash: keccak256(raw),
      sender: addressOf(ACCOUNT),
      chainId: 7,
      ...expected,
    })
    expect(parsed(`0X${raw.slice(2).toUpperCase()}`)).toEqual(parsed(raw))
  })

  test('of any numbers is what was signed', async () => {
    const fields = fc.record({
      chainId: fc.integer({ min: 1, max: 2 ** 47 }),
      nonce: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
      gas: fc.bigInt(0n, 2n ** 64n - 1n),
      value: fc.bigInt(0n, 2n ** 256n - 1n),
      maxFeePerGas: fc.bigInt(10n, 2n ** 256n - 1n),
      maxPriorityFeePerGas: fc.bigInt(0n, 10n),
      data: fc.uint8Array({ maxLength: 300 }).map(hexOf),
    })
    await fc.assert(
      fc.asyncProperty(fields, async (sent) => {
        const raw = await ACCOUNT.signTransaction({ type: 'eip1559', to: TO, ...sent })
        const { chainId, nonce, gas, value, data, maxFeePerGas } = sent
        expect(parsed(raw)).toMatchObject({ chainId, nonce, gas, valueWei: value, data, maxFeePerGasWei: maxFeePerGas })
      }),
      { numRuns: 100 },
    )
  })

  test('with a byte changed is refused, or another transaction of its own bytes', async () => {
    const raw = await ACCOUNT.signTransaction({ ...dynamic, accessList })
    const bytes = bytesOf(raw)
    for (let at = 0; at < bytes.length; at++) {
      for (const flip of [0x01, 0x80, 0xff]) {
        const changed = bytes.with(at, (bytes[at] ?? 0) ^ flip)
        const result = parseRawTransaction(hexOf(changed))
        if (result.status !== 'ok') continue
        expect(result.transaction.raw).toBe(hexOf(changed))
        expect([result.transaction.hash, result.transaction.sender]).not.toContain(keccak256(raw))
        expect(result.transaction.sender, `byte ${at}`).not.toBe(addressOf(ACCOUNT))
      }
    }
  })

  test('cut short or with anything behind it is refused', async () => {
    const raw = await ACCOUNT.signTransaction(dynamic)
    for (let end = 4; end < raw.length; end += 2) expect(reasonOf(raw.slice(0, end)), `${end}`).not.toBe('ok')
    for (const tail of ['00', '80', 'c0']) expect(reasonOf(raw + tail)).toBe('malformed_transaction')
  })

  test.each([
    ['EIP-4844', '03'],
    ['EIP-7702', '04'],
    ['a type of another layer', '7e'],
    ['no type at all', '00'],
  ])('of type %s is refused before it is read', (name, byte) => {
    expect(reasonOf(`0x${byte}c0`)).toBe(name === 'no type at all' ? 'malformed_transaction' : 'unsupported_type')
  })

  test('without a chain is refused', async () => {
    expect(reasonOf(await ACCOUNT.signTransaction({ ...common, type: 'legacy', gasPrice: 7n }))).toBe('no_chain_id')
  })

  test('with the other one of its two signatures is refused', async () => {
    const raw = await ACCOUNT.signTransaction(dynamic)
    const list = decodeRlp(bytesOf(raw).subarray(1)) as Uint8Array[]
    const [parity, r, s] = list.slice(-3) as [Uint8Array, Uint8Array, Uint8Array]
    const high = ORDER - BigInt(hexOf(s))
    const other = [
      ...list.slice(0, -3),
      parity.length === 0 ? Uint8Array.of(1) : new Uint8Array(),
      r,
      bytesOf(`0x${high.toString(16)}`),
    ]
    expect(reasonOf(`0x02${hexOf(encodeRlp(other)).slice(2)}`)).toBe('bad_signature')
  })

  test.each<[string, (list: RlpItem[]) => RlpItem[]]>([
    ['a parity of 2', (list) => list.with(9, Uint8Array.of(2))],
    ['r of zero', (list) => list.with(10, new Uint8Array())],
    ['s of zero', (list) => list.with(11, new Uint8Array())],
    ['s of the order', (list) => list.with(11, bytesOf(`0x${ORDER.toString(16)}`))],
  ])('signed with %s is refused', async (_, change) => {
    const list = decodeRlp(bytesOf(await ACCOUNT.signTransaction(dynamic)).subarray(1)) as RlpItem[]
    expect(reasonOf(`0x02${hexOf(encodeRlp(change(list))).slice(2)}`)).toBe('bad_signature')
  })

  test.each<[string, (list: RlpItem[]) => RlpItem[]]>([
    ['a nonce with a leading zero', (list) => list.with(1, Uint8Array.of(0, 9))],
    ['a zero written as a byte', (list) => list.with(6, Uint8Array.of(0))],
    ['a nonce that is a list', (list) => list.with(1, [])],
    ['an address of 19 bytes', (list) => list.with(5, new Uint8Array(19).fill(1))],
    ['an address of 21 bytes', (list) => list.with(5, new Uint8Array(21).fill(1))],
    ['gas of nine bytes', (list) => list.with(4, new Uint8Array(9).fill(1))],
    ['a value of 33 bytes', (list) => list.with(6, new Uint8Array(33).fill(1))],
    ['a tip above what it may cost', (list) => list.with(2, Uint8Array.of(21))],
    ['an access list that is none', (list) => list.with(8, new Uint8Array())],
    ['an access list of bytes', (list) => list.with(8, [new Uint8Array(20)])],
    ['an entry with a short key', (list) => list.with(8, [[new Uint8Array(20), [new Uint8Array(31)]]])],
    ['an entry of three', (list) => list.with(8, [[new Uint8Array(20), [], []]])],
    ['a field too many', (list) => [...list, new Uint8Array()]],
    ['a field too few', (list) => list.slice(0, -1)],
  ])('with %s is refused', async (_, change) => {
    const list = decodeRlp(bytesOf(await ACCOUNT.signTransaction(dynamic)).subarray(1)) as RlpItem[]
    expect(reasonOf(`0x02${hexOf(encodeRlp(change(list))).slice(2)}`)).toBe('malformed_transaction')
  })

  test.each([
    ['nothing', ''],
    ['no digits', '0x'],
    ['half a byte', '0x0'],
    ['no hex', '0xzz'],
    ['no 0x', '02c0'],
    ['a hash', WORD],
    ['an unsigned one', serializeTransaction(dynamic)],
    ['text behind it', '0x02c0 '],
    ['more than nodes take', `0x02${'00'.repeat(RAW_TRANSACTION_BYTES_MAX)}`],
  ])('that is %s is refused', (_, text) => {
    expect(['malformed_transaction', 'unsupported_type']).toContain(reasonOf(text))
  })
})

describe('RLP', () => {
  const item: fc.Arbitrary<RlpItem> = fc.letrec((tie) => ({
    item: fc.oneof(
      { maxDepth: 4 },
      fc.uint8Array({ maxLength: 80 }),
      fc.array(tie('item') as fc.Arbitrary<RlpItem>, { maxLength: 5 }),
    ),
  })).item as fc.Arbitrary<RlpItem>

  test('of any item is read as it was written', () => {
    fc.assert(
      fc.property(item, (given) => {
        const bytes = encodeRlp(given)
        const read = decodeRlp(bytes)
        expect(read).toBeDefined()
        expect(hexOf(encodeRlp(read as RlpItem))).toBe(hexOf(bytes))
      }),
    )
  })

  test('of any bytes is refused, or what these bytes are written for', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 90 }), (bytes) => {
        const read = decodeRlp(bytes)
        if (read !== undefined) expect(hexOf(encodeRlp(read))).toBe(hexOf(bytes))
      }),
      { numRuns: 2_000 },
    )
  })

  test.each([
    ['a byte below 0x80 with a length', '8105'],
    ['a long form for a short string', 'b80100'],
    ['a length with a leading zero', `b90038${'11'.repeat(56)}`],
    ['a string that ends too soon', '8311'],
    ['a list that ends too soon', 'c311'],
    ['a list whose last item ends behind it', 'c1821111'],
    ['a long list that is short', 'f80111'],
    ['two items', '1111'],
    ['lists in lists without an end', 'c9c8c7c6c5c4c3c2c1c0'],
  ])('refuses %s', (_, hex) => {
    expect(decodeRlp(bytesOf(`0x${hex}`))).toBeUndefined()
  })
})
