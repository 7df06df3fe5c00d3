import { zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { feeRateSet, tokenCreated } from '../../schemas/events/accounts.ts'
import { dayBalances, epochValidators } from '../../schemas/events/beacon-epoch.ts'
import {
  COLUMNS_BYTES_MAX,
  DEFAULT_TOPIC_EVENT_BYTES_MAX,
  decodeEvent,
  encodeEvent,
  HEADER_BYTES_MAX,
  packedEvent,
} from '../../schemas/events/codec.ts'
import { executionBlock, executionBlockReverted } from '../../schemas/events/execution-block.ts'
import { feeRecipientsTold } from '../../schemas/events/fee-recipients.ts'
import { randomBytes } from './random-bytes.ts'

const codec = packedEvent({ name: 'test', version: 1, topic: 'beacon.epochs' }, Type.Object({ name: Type.String() }), {
  a: 'u8',
  b: 'u32',
  c: 'i32',
  d: 'i64',
  e: 'u64',
  f: 'u32 plain',
  g: 'i64 plain',
  h: 'i64 planes',
})

const columnsOf = (rows: readonly (readonly [number, number, number, bigint, bigint])[]) => ({
  a: Uint8Array.from(rows, (row) => row[0]),
  b: Uint32Array.from(rows, (row) => row[1]),
  c: Int32Array.from(rows, (row) => row[2]),
  d: BigInt64Array.from(rows, (row) => row[3]),
  e: BigUint64Array.from(rows, (row) => row[4]),
  f: Uint32Array.from(rows, (row) => row[1]),
  g: BigInt64Array.from(rows, (row) => row[3]),
  h: BigInt64Array.from(rows, (row) => row[3]),
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
    expect(
      dayBalances.encode({ header: { chain: 'mainnet', epoch: 0, day: 1, slot: 2, range: 0 }, columns }).length,
    ).toBeLessThan(rows / 10)
  })

  it('cost little more than three bytes where balances differ by less than 2^24 gwei', () => {
    const rows = 16_384
    const chance = Buffer.from(randomBytes(3 * rows))
    const columns = {
      validatorIndex: Uint32Array.from({ length: rows }, (_, i) => i),
      balanceGwei: BigInt64Array.from(
        { length: rows },
        (_, i) => 32_000_000_000n + BigInt(chance.readUIntLE(3 * i, 3)),
      ),
    }
    const data = { header: { chain: 'mainnet', epoch: 0, day: 1, slot: 2, range: 0 }, columns }
    expect(dayBalances.encode(data).length).toBeLessThan(3.5 * rows)
    expect(dayBalances.decode(dayBalances.encode(data))).toEqual(data)
  })

  it('of version 2 were differences, and are read as they are', () => {
    const header = { clock: { genesisTimeSec: 1, secondsPerSlot: 12, slotsPerEpoch: 32 }, epoch: 3, range: 0 }
    const columns = {
      validatorIndex: Uint32Array.of(3, 5),
      sourceGwei: BigInt64Array.of(7n, -9n),
      targetGwei: BigInt64Array.of(8n, -10n),
      headGwei: BigInt64Array.of(9n, 0n),
      inactivityGwei: BigInt64Array.of(0n, -1n),
      balanceGwei: BigInt64Array.of(32_000_000_001n, 31_999_999_999n),
      effectiveBalanceEth: Uint32Array.of(32, 31),
      status: Uint8Array.of(2, 3),
      slashed: Uint8Array.of(0, 1),
      activationEpoch: BigUint64Array.of(1n, 2n),
      exitEpoch: BigUint64Array.of(2n ** 64n - 1n, 9n),
      withdrawableEpoch: BigUint64Array.of(2n ** 64n - 1n, 10n),
    }
    const layout = {
      validatorIndex: 'u32',
      sourceGwei: 'i64',
      targetGwei: 'i64',
      headGwei: 'i64',
      inactivityGwei: 'i64',
      balanceGwei: 'i64',
      effectiveBalanceEth: 'u32',
      status: 'u8',
      slashed: 'u8',
      activationEpoch: 'u64',
      exitEpoch: 'u64',
      withdrawableEpoch: 'u64',
    } as const
    const shape = Type.Object({
      chain: Type.String(),
      clock: Type.Unknown(),
      epoch: Type.Number(),
      range: Type.Number(),
    })
    const version2 = packedEvent({ name: epochValidators.name, version: 2, topic: 'beacon.epochs' }, shape, layout)
    const data = { header: { chain: 'hoodi', ...header }, columns }
    const event = encodeEvent(version2, { id: 'x', key: 'x', time: '2026-01-01T00:00:00.000Z', data })
    expect(decodeEvent(epochValidators, event)).toEqual(data)
  })

  it('refuse columns of different lengths', () => {
    const columns = { ...columnsOf([[1, 2, 3, 4n, 5n]]), b: new Uint32Array(2) }
    expect(() => codec.encode({ header: { name: 'x' }, columns })).toThrow(/column b/)
  })
})

const bytesCodec = packedEvent(
  { name: 'test', version: 1, topic: 'execution.logs', bytesMax: DEFAULT_TOPIC_EVENT_BYTES_MAX },
  Type.Object({}),
  { address: 'bytes20', hash: 'bytes32', data: 'bytes', amount: 'u256', index: 'u32' },
)

describe('columns of bytes and of large integers', () => {
  it('come back as they went in, beside each other', () => {
    const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
    const row = fc.tuple(
      bytes(20),
      bytes(32),
      fc.uint8Array({ maxLength: 300 }),
      fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
    )
    fc.assert(
      fc.property(fc.array(row, { maxLength: 20 }), (rows) => {
        const columns = {
          address: new Uint8Array(Buffer.concat(rows.map(([address]) => address))),
          hash: new Uint8Array(Buffer.concat(rows.map(([, hash]) => hash))),
          data: rows.map(([, , data]) => data),
          amount: rows.map(([, , , amount]) => amount),
          index: Uint32Array.from(rows, (_, i) => i),
        }
        expect(bytesCodec.decode(bytesCodec.encode({ header: {}, columns })).columns).toEqual(columns)
      }),
    )
  })

  const one = {
    address: new Uint8Array(20),
    hash: new Uint8Array(32),
    data: [new Uint8Array(0)],
    amount: [0n],
    index: Uint32Array.of(0),
  }

  it.each([2n ** 256n, -1n])('hold integers of 256 bits: not %s', (amount) => {
    expect(() => bytesCodec.encode({ header: {}, columns: { ...one, amount: [amount] } })).toThrow(RangeError)
  })

  it('are refused when a row has not its width', () => {
    expect(() => bytesCodec.encode({ header: {}, columns: { ...one, hash: new Uint8Array(31) } })).toThrow(
      /column hash/,
    )
  })

  it('that cannot be compressed are refused where the event would be above its limit', () => {
    const encode = (length: number) =>
      bytesCodec.encode({ header: {}, columns: { ...one, data: [randomBytes(length)] } })
    const { length: overhead } = encode(0)
    expect(encode(1_000_000).length).toBeGreaterThan(1_000_000)
    expect(() => encode(DEFAULT_TOPIC_EVENT_BYTES_MAX + overhead)).toThrow(
      expect.objectContaining({ code: 'event_log', message: expect.stringContaining('limit') }),
    )
  })
})

describe('limits', () => {
  const textCodec = packedEvent(
    { name: 'test', version: 1, topic: 'beacon.epochs' },
    Type.Object({ text: Type.String() }),
    { a: 'u8' },
  )
  const withHeader = (text: string) => textCodec.encode({ header: { text }, columns: { a: new Uint8Array(0) } })
  const withRows = (rows: number) => textCodec.encode({ header: { text: '' }, columns: { a: new Uint8Array(rows) } })

  it('of the header are those of whoever decodes', () => {
    const room = HEADER_BYTES_MAX - JSON.stringify({ rows: 0, header: { text: '' } }).length
    expect(textCodec.decode(withHeader('x'.repeat(room))).header.text).toHaveLength(room)
    expect(() => withHeader('x'.repeat(room + 1))).toThrow(expect.objectContaining({ code: 'event_log' }))
  })

  it('of the columns are those of whoever decodes', () => {
    expect(textCodec.decode(withRows(COLUMNS_BYTES_MAX)).columns.a).toHaveLength(COLUMNS_BYTES_MAX)
    expect(() => withRows(COLUMNS_BYTES_MAX + 1)).toThrow(expect.objectContaining({ code: 'event_log' }))
  })

  it.each([
    ['more bytes than any event has columns', COLUMNS_BYTES_MAX + 1, COLUMNS_BYTES_MAX + 1],
    ['fewer rows than it tells', 10, 11],
    ['more rows than it tells', 11, 10],
    ['a negative number of rows', 1, -1],
  ])('keep a frame of %s from being decoded', (_, bytes, rows) => {
    expect(() => textCodec.decode(packedBytes({ rows, header: { text: '' } }, new Uint8Array(bytes)))).toThrow()
  })
})

/** A packed event by hand, as its documentation has it. */
function packedBytes(head: object, columns: Uint8Array): Buffer {
  const text = Buffer.from(JSON.stringify(head))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(text.length)
  return Buffer.concat([length, text, zstdCompressSync(columns)])
}

describe('execution blocks of version 2', () => {
  const hash = (digit: string) => `0x${digit.repeat(64)}`
  const header = {
    chain: 'scroll',
    number: 100,
    hash: hash('9'),
    parentHash: hash('8'),
    timestampSec: 1_700_000_000,
    coinbase: `0x${'b'.repeat(40)}`,
    extraData: '0x62',
    baseFeePerGasWei: '7',
    gasUsed: 71_000,
    logParts: 3,
    matchesHash: false,
  }

  it('decode as checked by their receipts root, as all were', () => {
    const data = packedBytes({ rows: 0, header }, new Uint8Array())
    const event = {
      id: 'b',
      type: 'execution.block',
      version: 2,
      key: 'scroll',
      time: '2026-01-01T00:00:00.000Z',
      data,
    }
    expect(decodeEvent(executionBlock, event)).toMatchObject({
      header: { ...header, logsCheck: 'receipts', hasOutcomes: true },
      columns: { valueWei: [], hash: new Uint8Array() },
    })
  })
})

describe('execution blocks of version 1', () => {
  const hash = (digit: string) => `0x${digit.repeat(64)}`
  const address = (digit: string) => `0x${digit.repeat(40)}`
  const fields = {
    number: 100,
    hash: hash('9'),
    parentHash: hash('8'),
    timestampSec: 1_700_000_000,
    coinbase: address('b'),
    extraData: '0x62',
    baseFeePerGasWei: '7',
    gasUsed: 71_000,
  }
  const transfer = {
    transactionIndex: 1,
    transactionHash: hash('3'),
    to: address('d'),
    valueWei: '1000000000000000000',
    succeeded: true,
  }
  const log = {
    transactionIndex: 0,
    transactionHash: hash('1'),
    logIndex: 1,
    address: address('e'),
    topics: [hash('a')],
    data: '0x01',
  }
  const words = (...values: bigint[]) => Buffer.from(BigInt64Array.from(values).buffer)
  const event = {
    id: `execution.block:${hash('9')}`,
    type: 'execution.block',
    version: 1,
    key: 'chain',
    time: '2026-01-01T00:00:00.000Z',
    data: packedBytes(
      { rows: 2, header: { ...fields, coinbaseTransfers: [transfer], transferLogs: [log] } },
      // Each column as differences: types 2 and 0, both succeeded, 50,000 and 21,000 gas, prices of 12 and 2^64 - 1 wei.
      Buffer.concat([Uint8Array.of(2, 254), Uint8Array.of(1, 0), words(50_000n, -29_000n), words(12n, -13n)]),
    ),
  }

  it('decode with what they have, and the chain that the log was of', () => {
    const block = decodeEvent(executionBlock, event, 'hoodi')
    expect(block).toEqual({
      header: { chain: 'hoodi', ...fields, logsCheck: 'receipts', hasOutcomes: true },
      columns: {
        type: Uint8Array.of(2, 0),
        succeeded: Uint8Array.of(1, 1),
        gasUsed: BigUint64Array.of(50_000n, 21_000n),
        effectiveGasPriceWei: [12n, 2n ** 64n - 1n],
      },
      earlier: { coinbaseTransfers: [transfer], transferLogs: [log] },
    })
  })

  it('are reverted by events of version 1', () => {
    const data = Buffer.from(JSON.stringify({ number: 100, hash: hash('9') }))
    const reverted = { ...event, type: 'execution.block-reverted', data }
    expect(decodeEvent(executionBlockReverted, reverted)).toEqual({ chain: 'mainnet', number: 100, hash: hash('9') })
  })
})

describe('events', () => {
  const time = '2026-01-01T00:00:00.000Z'
  const encoded = encodeEvent(tokenCreated, {
    id: 'account.token-created:x',
    key: 'accounts',
    time,
    data: { account: 'a', tokenHash: '0'.repeat(64), name: '', scopes: ['read'] },
  })

  it('of another type or version are undecodable', () => {
    expect(() => decodeEvent(feeRateSet, encoded)).toThrow(/expected account.fee-rate-set v1/)
    expect(() => decodeEvent(tokenCreated, { ...encoded, version: 5 })).toThrow(/found account.token-created v5/)
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

  it('reads fee recipients as an earlier release told them: of all history', () => {
    const told = {
      chain: 'mainnet',
      recipients: [{ pubkey: `0x${'ab'.repeat(48)}`, address: `0x${'cd'.repeat(20)}` }],
      isOwn: true,
    }
    const { name: type } = feeRecipientsTold
    const earlier = { id: 'told', key: 'accounts', time: '2026-01-01T00:00:00.000Z', type, version: 1 }
    const event = { ...earlier, data: new TextEncoder().encode(JSON.stringify(told)) }
    expect(decodeEvent(feeRecipientsTold, event)).toEqual(told)
  })
})
