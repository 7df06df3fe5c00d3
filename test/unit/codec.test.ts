import fc from 'fast-check'
import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { feeRateSet, tokenCreated } from '../../schemas/events/accounts.ts'
import { dayBalances } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, encodeEvent, packedEvent } from '../../schemas/events/codec.ts'

const codec = packedEvent({ name: 'test', version: 1, topic: 'beacon.epochs' }, Type.Object({ name: Type.String() }), {
  a: 'u8',
  b: 'u32',
  c: 'i32',
  d: 'i64',
  e: 'u64',
})

const columnsOf = (rows: readonly (readonly [number, number, number, bigint, bigint])[]) => ({
  a: Uint8Array.from(rows, (row) => row[0]),
  b: Uint32Array.from(rows, (row) => row[1]),
  c: Int32Array.from(rows, (row) => row[2]),
  d: BigInt64Array.from(rows, (row) => row[3]),
  e: BigUint64Array.from(rows, (row) => row[4]),
})

describe('packed columns', () => {
  it('come back as they went in, at the limits of every type', () => {
    const row = fc.tuple(
      fc.integer({ min: 0, max: 255 }),
      fc.integer({ min: 0, max: 2 ** 32 - 1 }),
      fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    )
    fc.assert(
      fc.property(fc.array(row, { maxLength: 50 }), fc.string(), (rows, name) => {
        const columns = columnsOf(rows)
        expect(codec.decode(codec.encode({ header: { name }, columns }))).toEqual({ header: { name }, columns })
      }),
    )
  })

  it('are never decoded from a part of their bytes', () => {
    const bytes = codec.encode({ header: { name: 'x' }, columns: columnsOf([[1, 2, 3, 4n, 5n]]) })
    for (let length = 0; length < bytes.length; length++) {
      expect(() => codec.decode(bytes.subarray(0, length)), `${length} bytes`).toThrow()
    }
  })

  it('cost little where rows repeat: 16,384 equal rewards', () => {
    const rows = 16_384
    const columns = {
      validatorIndex: Uint32Array.from({ length: rows }, (_, i) => i),
      balanceGwei: new BigInt64Array(rows).fill(32_001_234_567n),
    }
    expect(dayBalances.encode({ header: { day: 1, slot: 2, range: 0 }, columns }).length).toBeLessThan(rows / 10)
  })

  it('refuse columns of different lengths', () => {
    const columns = { ...columnsOf([[1, 2, 3, 4n, 5n]]), b: new Uint32Array(2) }
    expect(() => codec.encode({ header: { name: 'x' }, columns })).toThrow(/column b/)
  })
})

describe('events', () => {
  const time = '2026-01-01T00:00:00.000Z'
  const encoded = encodeEvent(tokenCreated, {
    id: 'account.token-created:x',
    key: 'accounts',
    time,
    data: { account: 'a', tokenHash: '0'.repeat(64) },
  })

  it('of another type or version are undecodable', () => {
    expect(() => decodeEvent(feeRateSet, encoded)).toThrow(/expected account.fee-rate-set v1/)
    expect(() => decodeEvent(tokenCreated, { ...encoded, version: 2 })).toThrow(/found account.token-created v2/)
  })

  it.each([
    ['is not JSON', '{'],
    ['lacks a field', '{"account":"a"}'],
    ['has a wrong field', '{"account":"A B","tokenHash":"00"}'],
  ])('whose data %s are undecodable', (_, text) => {
    expect(() => decodeEvent(tokenCreated, { ...encoded, data: Buffer.from(text) })).toThrow(
      expect.objectContaining({ code: 'undecodable', retryable: false }),
    )
  })
})
