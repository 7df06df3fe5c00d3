import fc from 'fast-check'
import { type Address, decodeEventLog, type Hex, pad, toHex } from 'viem'
import { describe, expect, test } from 'vitest'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { decodeTransfers, type EarlyForm, type RawLog, type TransferLog } from '../../schemas/eth/nft-transfers.ts'
import { ABI, ERC20, KITTIES, logOf } from './given-nft-log.ts'

const ANA: Address = `0x${'a1'.repeat(20)}`
const BOB: Address = `0x${'b2'.repeat(20)}`
const EVE: Address = `0x${'e3'.repeat(20)}`
const NOBODY: Address = `0x${'00'.repeat(20)}`
const MAX = 2n ** 256n - 1n

interface Given {
  readonly early?: EarlyForm
  readonly before?: RawLog
}

const decode = (log: RawLog, { early, before }: Given = {}): TransferLog =>
  decodeTransfers(log, { early, before, isCutOff: false })

/** As text and numbers. */
function readable(log: TransferLog) {
  if (log.kind !== 'transfers') return log
  const transfers = log.transfers.map(({ from, to, tokenId, lastTokenId, amount }) => {
    const range = [BigInt(hexOf(tokenId)), BigInt(hexOf(lastTokenId))] as const
    return { from: hexOf(from), to: hexOf(to), range, amount: BigInt(hexOf(amount)) }
  })
  return { event: log.event, standard: log.standard, transfers }
}

const moved = (from: Address, to: Address, id: bigint, amount = 1n) => ({ from, to, range: [id, id], amount })

describe('a log that moves tokens', () => {
  test('of ERC-721 has three indexed fields and no data', () => {
    for (const id of [0n, 7n, MAX])
      expect(readable(decode(logOf(ABI, 'Transfer', { from: ANA, to: BOB, tokenId: id })))).toEqual({
        event: 'Transfer',
        standard: 'ERC721',
        transfers: [moved(ANA, BOB, id)],
      })
  })

  test('of ERC-1155 has amounts of 256 bits', () => {
    const args = { operator: EVE, from: ANA, to: BOB, id: MAX, value: MAX }
    expect(readable(decode(logOf(ABI, 'TransferSingle', args)))).toEqual({
      event: 'TransferSingle',
      standard: 'ERC1155',
      transfers: [moved(ANA, BOB, MAX, MAX)],
    })
  })

  test('of a batch names each row, an id twice and two of the largest amount too', () => {
    const args = { operator: EVE, from: ANA, to: BOB, ids: [5n, 5n, 6n], values: [MAX, MAX, 0n] }
    expect(readable(decode(logOf(ABI, 'TransferBatch', args)))).toEqual({
      event: 'TransferBatch',
      standard: 'ERC1155',
      transfers: [moved(ANA, BOB, 5n, MAX), moved(ANA, BOB, 5n, MAX), moved(ANA, BOB, 6n, 0n)],
    })
    const none = logOf(ABI, 'TransferBatch', { ...args, ids: [], values: [] })
    expect(readable(decode(none))).toMatchObject({ event: 'TransferBatch', transfers: [] })
  })

  test('of ERC-2309 is one range, however long', () => {
    const args = { fromTokenId: 3n, toTokenId: 2n ** 255n, from: NOBODY, to: ANA }
    expect(readable(decode(logOf(ABI, 'ConsecutiveTransfer', args)))).toEqual({
      event: 'ConsecutiveTransfer',
      standard: 'ERC721',
      transfers: [{ from: NOBODY, to: ANA, range: [3n, 2n ** 255n], amount: 1n }],
    })
  })

  test('of ERC-404 is that of its tokens, not that of its fractions', () => {
    expect(readable(decode(logOf(ABI, 'ERC721Transfer', { from: ANA, to: BOB, id: 1n })))).toMatchObject({
      event: 'ERC721Transfer',
      transfers: [moved(ANA, BOB, 1n)],
    })
    expect(decode(logOf(ABI, 'ERC20Transfer', { from: ANA, to: BOB, amount: 1n }))).toEqual({ kind: 'other' })
  })
})

describe('a contract of before the standard', () => {
  const args = { from: ANA, to: BOB, tokenId: 9n, value: 9n }

  test('is known by its address: the same logs are those of ERC-20 elsewhere', () => {
    for (const log of [logOf(ERC20, 'Transfer', args), logOf(KITTIES, 'Transfer', args)])
      expect(decode(log)).toEqual({ kind: 'other' })
    const expected = { event: 'Transfer', standard: 'ERC721', transfers: [moved(ANA, BOB, 9n)] }
    expect(readable(decode(logOf(ERC20, 'Transfer', args), { early: 'two_indexed' }))).toEqual(expected)
    expect(readable(decode(logOf(KITTIES, 'Transfer', args), { early: 'unindexed' }))).toEqual(expected)
  })

  test('of Punks assigns, moves and sells them; how many somebody has is no move', () => {
    const early = 'punks'
    expect(readable(decode(logOf(ABI, 'Assign', { to: ANA, punkIndex: 1n }), { early }))).toMatchObject({
      transfers: [moved(NOBODY, ANA, 1n)],
    })
    const given = logOf(ABI, 'PunkTransfer', { from: ANA, to: BOB, punkIndex: 1n })
    expect(readable(decode(given, { early }))).toMatchObject({ transfers: [moved(ANA, BOB, 1n)] })
    const sold = { punkIndex: 1n, value: 5n, fromAddress: BOB, toAddress: EVE }
    expect(readable(decode(logOf(ABI, 'PunkBought', sold), { early }))).toMatchObject({
      transfers: [moved(BOB, EVE, 1n)],
    })
    expect(decode(logOf(ERC20, 'Transfer', { ...args, value: 1n }), { early })).toEqual({ kind: 'other' })
    for (const log of [given, logOf(ABI, 'PunkBought', sold), logOf(ABI, 'Assign', { to: ANA, punkIndex: 1n })])
      expect(decode(log)).toEqual({ kind: 'other' })
  })

  test('of Punks tells whose bid was accepted by the log before', () => {
    const accepted = logOf(ABI, 'PunkBought', { punkIndex: 1n, value: 0n, fromAddress: ANA, toAddress: NOBODY })
    const before = logOf(ERC20, 'Transfer', { from: ANA, to: EVE, value: 1n })
    expect(readable(decode(accepted, { early: 'punks', before }))).toMatchObject({ transfers: [moved(ANA, EVE, 1n)] })
    for (const other of [undefined, accepted, { topics: new Uint8Array(0), data: new Uint8Array(0) }]) {
      const given: Given = other === undefined ? { early: 'punks' } : { early: 'punks', before: other }
      expect(decode(accepted, given)).toEqual({ kind: 'malformed', event: 'PunkBought' })
    }
  })
})

const word = (value: bigint) => pad(toHex(value)).slice(2)

describe('a log of the right topic', () => {
  const single = logOf(ABI, 'TransferSingle', { operator: EVE, from: ANA, to: BOB, id: 1n, value: 2n })
  const batch = logOf(ABI, 'TransferBatch', { operator: EVE, from: ANA, to: BOB, ids: [1n, 2n], values: [3n, 4n] })
  const range = logOf(ABI, 'ConsecutiveTransfer', { fromTokenId: 3n, toTokenId: 9n, from: NOBODY, to: ANA })
  const plain = logOf(ABI, 'Transfer', { from: ANA, to: BOB, tokenId: 1n })
  const withData = (log: RawLog, data: Hex): RawLog => ({ ...log, data: bytesOf(data) })
  /** A batch of words. */
  const words = (...values: readonly bigint[]): RawLog => withData(batch, `0x${values.map(word).join('')}`)
  /** An address with more than 20 bytes, at a topic. */
  const dirty = (log: RawLog, topic: number): RawLog => {
    const topics = log.topics.slice()
    topics[topic * 32] = 1
    return { ...log, topics }
  }

  test.each<[string, RawLog]>([
    ['of ERC-721 with data', withData(plain, `0x${word(1n)}`)],
    ['of ERC-721 whose sender is no address', dirty(plain, 1)],
    ['of ERC-721 whose receiver is no address', dirty(plain, 2)],
    ['of one token with a word too few', withData(single, `0x${word(1n)}`)],
    ['of one token with a byte too many', withData(single, `${hexOf(single.data)}00`)],
    ['of one token with a topic too few', { ...single, topics: single.topics.subarray(0, 96) }],
    ['of one token whose sender is no address', dirty(single, 2)],
    ['of a range that ends before it begins', withData(range, `0x${word(2n)}`)],
    ['of a range without an end', withData(range, '0x')],
    ['of a batch without data', withData(batch, '0x')],
    ['of a batch of arrays of different lengths', words(64n, 128n, 1n, 7n, 2n, 8n, 9n)],
    ['of a batch whose first array begins behind the data', words(9_999n, 128n, 1n, 7n, 1n, 8n)],
    ['of a batch whose second array begins behind the data', words(64n, 9_999n, 1n, 7n, 1n, 8n)],
    ['of a batch whose offset has more than 32 bits', words(2n ** 32n + 64n, 128n, 1n, 7n, 1n, 8n)],
    ['of a batch whose offset has 256 bits', words(MAX, 128n, 1n, 7n, 1n, 8n)],
    ['of a batch whose arrays are longer than the data', words(64n, 128n, 2n, 7n, 2n, 8n)],
    ['of a batch whose length is huge', words(64n, 64n, 2n ** 32n - 1n, 7n)],
    ['of a batch whose receiver is no address', dirty(batch, 3)],
  ])('%s is malformed', (_, log) => {
    expect(decode(log)).toMatchObject({ kind: 'malformed' })
  })

  test('of a batch whose arrays are the same bytes is read as any reader of the ABI does', () => {
    expect(readable(decode(words(64n, 64n, 1n, 7n)))).toMatchObject({ transfers: [moved(ANA, BOB, 7n, 7n)] })
  })
})

const address = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => hexOf(bytes))
const uint256 = fc.bigInt({ min: 0n, max: MAX })

test('whatever is encoded is decoded', () => {
  fc.assert(
    fc.property(
      address,
      address,
      fc.array(fc.tuple(uint256, uint256), { maxLength: 20 }),
      uint256,
      (from, to, rows, extra) => {
        const [ids, values] = [rows.map(([id]) => id), rows.map(([, value]) => value)]
        const batch = logOf(ABI, 'TransferBatch', { operator: EVE, from, to, ids, values })
        expect(readable(decode(batch))).toMatchObject({
          transfers: rows.map(([id, value]) => moved(from, to, id, value)),
        })
        const plain = logOf(ABI, 'Transfer', { from, to, tokenId: extra })
        expect(readable(decode(plain))).toMatchObject({ transfers: [moved(from, to, extra)] })
      },
    ),
    { numRuns: 300 },
  )
})

test('no log makes it throw, and what it reads of a batch another reader of the ABI reads as well', () => {
  const template = logOf(ABI, 'TransferBatch', {
    operator: EVE,
    from: ANA,
    to: BOB,
    ids: [1n, 2n, 3n],
    values: [4n, 5n, 6n],
  })
  const change = fc.record({
    at: fc.nat({ max: template.data.length - 1 }),
    value: fc.integer({ min: 0, max: 255 }),
    cut: fc.option(fc.nat({ max: template.data.length }), { freq: 4 }),
  })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 6 }), (changes) => {
      let data = template.data.slice()
      for (const { at, value, cut } of changes) {
        data[at] = value
        if (cut !== null) data = data.slice(0, Math.max(cut, 0))
      }
      const ours = decode({ ...template, data })
      const theirs = read(template, data)
      if (ours.kind === 'malformed')
        expect(theirs === undefined || theirs.ids.length !== theirs.values.length).toBe(true)
      else
        expect(readable(ours)).toMatchObject({
          transfers: theirs?.ids.map((id, i) => moved(ANA, BOB, id, theirs.values[i])),
        })
    }),
    { numRuns: 2_000 },
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 160 }), fc.uint8Array({ maxLength: 300 }), (topics, data) => {
      expect(decode({ topics, data })).toEqual({ kind: 'other' })
    }),
  )
})

/** What viem reads of a batch; undefined where it refuses. */
function read(template: RawLog, data: Uint8Array) {
  const topics = Array.from({ length: 4 }, (_, i) => hexOf(template.topics.subarray(i * 32, i * 32 + 32)))
  try {
    const { args } = decodeEventLog({
      abi: ABI,
      eventName: 'TransferBatch',
      topics: topics as never,
      data: hexOf(data),
    })
    return args
  } catch {
    return undefined
  }
}
