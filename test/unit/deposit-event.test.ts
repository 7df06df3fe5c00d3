import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DEPOSIT_EVENT_BYTES, decodeDepositEvent } from '../../schemas/eth/deposit-event.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { DEPOSIT_EVENT_TOPIC } from '../../schemas/eth/kept-logs.ts'
import { depositLog, givenDeposit } from './given-deposit.ts'

const TOPIC = bytesOf(DEPOSIT_EVENT_TOPIC)
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const uint64 = fc.bigInt(0n, 2n ** 64n - 1n)
const dataOf = (seed: number) => bytesOf(depositLog(givenDeposit(seed)).data)

/** Bytes of the fields themselves; all others are offsets, lengths and padding. */
const CONTENT = [
  [192, 48],
  [288, 32],
  [352, 8],
  [416, 96],
  [544, 8],
] as const
const isContent = (at: number) => CONTENT.some(([from, length]) => from <= at && at < from + length)

test('a deposit reads as the contract wrote it', () => {
  const deposits = fc.record({
    pubkey: bytes(48),
    withdrawalCredentials: bytes(32),
    amountGwei: uint64,
    signature: bytes(96),
    index: uint64,
  })
  fc.assert(
    fc.property(deposits, (deposit) => {
      expect(decodeDepositEvent(TOPIC, bytesOf(depositLog(deposit).data))).toEqual(deposit)
    }),
  )
})

test('a log whose offsets, lengths or padding differ in any byte is none', () => {
  const data = dataOf(1)
  expect(data).toHaveLength(DEPOSIT_EVENT_BYTES)
  for (let at = 0; at < data.length; at++) {
    const changed = data.with(at, (data[at] as number) ^ 1)
    expect(decodeDepositEvent(TOPIC, changed) !== undefined, `byte ${at}`).toBe(isContent(at))
  }
})

test.each([
  ['a byte too few', TOPIC, dataOf(1).subarray(1)],
  ['a word too many', TOPIC, new Uint8Array([...dataOf(1), ...new Uint8Array(32)])],
  ['no data', TOPIC, new Uint8Array(0)],
  ['no topic', new Uint8Array(0), dataOf(1)],
  ['a second topic', new Uint8Array([...TOPIC, ...TOPIC]), dataOf(1)],
  ['another topic', new Uint8Array(32), dataOf(1)],
])('a log with %s is none', (_, topics, data) => {
  expect(decodeDepositEvent(topics, data)).toBeUndefined()
})
