import type { Address } from 'viem'
import { beforeEach, expect, test } from 'vitest'
import { foldChain } from '../../processors/nft/fold.ts'
import { proveTokens } from '../../processors/verify/prove-tokens.ts'
import { chainKey } from '../../schemas/chains.ts'
import { decodeEvent, type EncodedEvent, encodeEvent } from '../../schemas/events/codec.ts'
import { executionBlock } from '../../schemas/events/execution-block.ts'
import { executionLogs } from '../../schemas/events/execution-logs.ts'
import { ART, blockOn, eventsOf, type GivenLog, NOBODY, tell } from './given-nft-chain.ts'
import { ABI, ERC20, logOf } from './given-nft-log.ts'
import { storesOfFile } from './warehouse-of-file.ts'

// A block's logs come in parts, and what some mean is said by others before them.

const CHAIN = 'eth'
const PUNKS: Address = '0xb47e3cd837ddf8e4c57f05d70ab865de6e193bbb'
const ANA: Address = `0x${'a1'.repeat(20)}`
const BOB: Address = `0x${'b2'.repeat(20)}`
const NEVER = new AbortController().signal

const stores = storesOfFile()
beforeEach(() => stores().empty())

/** A log of no token with so many bytes of data: a part has room for a million, of which 140 or more are each log's own. */
const filler = (bytes: number): GivenLog => ({
  contract: `0x${'0f'.repeat(20)}`,
  transaction: 0,
  log: { ...logOf(ERC20, 'Transfer', { from: ANA, to: BOB, value: 1n }), data: new Uint8Array(bytes) },
})

/** What is told of a block with these logs, of which one is the first of a second part. */
async function toldOf(logs: readonly GivenLog[], parts: number) {
  const { warehouse } = stores()
  const events = eventsOf({ ...blockOn(undefined, [], 1), logs }, CHAIN)
  expect(events.filter(({ type }) => type === 'execution.logs')).toHaveLength(parts)
  await tell(warehouse, events, { chain: CHAIN })
  await foldChain(warehouse, CHAIN, NEVER)
  for await (const { wrong, examples } of proveTokens(warehouse))
    expect({ wrong, examples }).toEqual({ wrong: 0, examples: [] })
  const moves = await warehouse.query<Record<string, string>>(
    `SELECT toString(event) AS event, concat('0x', lower(hex(from_address))) AS from, concat('0x', lower(hex(to_address))) AS to,
       toString(reinterpretAsUInt256(reverse(token_id))) AS id
     FROM nft_transfer_lists FINAL WHERE kind = 'all' ORDER BY log_index, batch_index`,
  )
  const held = await warehouse.query<Record<string, string>>(
    `SELECT concat('0x', lower(hex(holder))) AS holder, toString(reinterpretAsUInt256(reverse(token_id))) AS id
     FROM nft_token_holders WHERE amount > 0 AND standard = 'ERC721' ORDER BY id`,
  )
  const tokens = await warehouse.query<Record<string, string>>(
    'SELECT toString(reinterpretAsUInt256(reverse(token_id))) AS id FROM nft_tokens FINAL ORDER BY id',
  )
  const odd = await warehouse.query('SELECT log_index, reason FROM nft_odd_logs FINAL')
  return { moves, held, tokens: tokens.map(({ id }) => id), odd }
}

const ofPunks = (log: GivenLog['log']): GivenLog => ({ contract: PUNKS, transaction: 0, log })
const bidAccepted = [
  ofPunks(logOf(ERC20, 'Transfer', { from: ANA, to: BOB, value: 1n })),
  ofPunks(logOf(ABI, 'PunkBought', { punkIndex: 3n, value: 0n, fromAddress: ANA, toAddress: NOBODY })),
]

test.each([
  ['in one part', 0, 1],
  ['cut between its logs', 999_500, 2],
])('a Punk whose bid is accepted goes to the bidder, %s', async (_, bytes, parts) => {
  expect(await toldOf([filler(bytes), ...bidAccepted], parts)).toEqual({
    moves: [{ event: 'PunkBought', from: ANA, to: BOB, id: '3' }],
    held: [{ holder: BOB, id: '3' }],
    tokens: ['3'],
    odd: [],
  })
})

test('a bid of which nobody tells the receiver is of no form, also in a later part', async () => {
  const [, bought] = bidAccepted as [GivenLog, GivenLog]
  const logs = [filler(999_500), filler(999_500), { ...bought, transaction: 1 }]
  const { moves, odd } = await toldOf(logs, 2)
  expect(moves).toEqual([])
  expect(odd).toEqual([{ log_index: 2, reason: 'malformed' }])
})

test.each([
  ['in one part', 0, 1],
  ['cut between them', 999_500, 2],
])('a mint that is told token by token and as a range counts once, %s', async (_, bytes, parts) => {
  const ofArt = (transaction: number, log: GivenLog['log']): GivenLog => ({ contract: ART, transaction, log })
  const range = logOf(ABI, 'ConsecutiveTransfer', { fromTokenId: 7n, toTokenId: 9n, from: NOBODY, to: ANA })
  const mint = (tokenId: bigint) => logOf(ABI, 'Transfer', { from: NOBODY, to: ANA, tokenId })
  const logs = [filler(bytes), ofArt(0, mint(8n)), ofArt(0, range), ofArt(1, mint(9n))]
  const { moves } = await toldOf(logs, parts)
  const told = moves.map(({ event, id }) => [event, id])
  expect(told).toEqual([
    ['Transfer', '8'],
    ['ConsecutiveTransfer', '7'],
    ['ConsecutiveTransfer', '9'],
    ['Transfer', '9'],
  ])
})

/** The events of a block as they were before, when logs were spread by their contracts: each log is a part. */
function asSpread(events: readonly EncodedEvent[]): readonly EncodedEvent[] {
  return events.flatMap((event) => {
    if (event.type !== 'execution.logs') return [event]
    const { header, columns } = decodeEvent(executionLogs, event)
    const parts = columns.logIndex.length
    return Array.from({ length: parts }, (_, part) =>
      encodeEvent(executionLogs, {
        ...{ id: `execution.logs:${CHAIN}:${header.hash}:${part}`, key: chainKey(CHAIN, part), time: event.time },
        data: {
          header: { ...header, bucket: part, part, parts },
          columns: {
            logIndex: columns.logIndex.subarray(part, part + 1),
            transactionIndex: columns.transactionIndex.subarray(part, part + 1),
            transactionHash: columns.transactionHash.subarray(part * 32, (part + 1) * 32),
            address: columns.address.subarray(part * 20, (part + 1) * 20),
            topics: columns.topics.slice(part, part + 1),
            data: columns.data.slice(part, part + 1),
            dataOffset: columns.dataOffset.subarray(part, part + 1),
            dataTotal: columns.dataTotal.subarray(part, part + 1),
          },
        },
      }),
    )
  })
}

test.each([
  ['its parts of before alone', ['spread']],
  ['read again', ['spread', 'whole']],
  ['read again as before', ['whole', 'spread']],
] as const)(
  'a block whose logs were told in other parts is folded when all of one reading are there: %s',
  async (_, readings) => {
    const { warehouse } = stores()
    const mint = (tokenId: bigint): GivenLog => ({
      ...{ contract: ART, transaction: 0 },
      log: logOf(ABI, 'Transfer', { from: NOBODY, to: ANA, tokenId }),
    })
    const whole = eventsOf({ ...blockOn(undefined, [], 1), logs: [1n, 2n, 3n].map(mint) }, CHAIN)
    const spread = asSpread(whole)
    expect(spread).toHaveLength(whole.length + 2)
    const events = { whole, spread }
    const told = readings.map((reading) => withParts(events[reading]))
    const last = told.at(-1) as readonly EncodedEvent[]
    // Of the last reading one part comes later than what says how many there are.
    const late = last.find(({ type }) => type === 'execution.logs') as EncodedEvent
    await tell(warehouse, [...told.slice(0, -1).flat(), ...last.filter((event) => event !== late)], { chain: CHAIN })
    await foldChain(warehouse, CHAIN, NEVER)
    const held = () =>
      warehouse.query(`SELECT count() AS tokens FROM nft_token_holders WHERE chain = '${CHAIN}' AND amount > 0`)
    expect(await held()).toEqual([{ tokens: '0' }])
    await tell(warehouse, [late], { chain: CHAIN })
    await foldChain(warehouse, CHAIN, NEVER)
    expect(await held()).toEqual([{ tokens: '3' }])
  },
)

test('parts of two readings are none of each other’s, though both have as many', async () => {
  const { warehouse } = stores()
  const mint = (tokenId: bigint): GivenLog => ({
    ...{ contract: ART, transaction: 0 },
    log: logOf(ABI, 'Transfer', { from: NOBODY, to: ANA, tokenId }),
  })
  const given = { ...blockOn(undefined, [], 1), logs: [mint(1n), filler(999_500), mint(2n)] }
  const [first, second, block] = eventsOf(given, CHAIN) as [EncodedEvent, EncodedEvent, EncodedEvent]
  expect([first, second, block].map(({ type }) => type)).toEqual([
    'execution.logs',
    'execution.logs',
    'execution.block',
  ])
  // As it was read before: tokens are its first part, what is not of them its second.
  const [, large] = asSpread([first]) as [EncodedEvent, EncodedEvent]
  const { header, columns } = decodeEvent(executionLogs, large)
  const before = {
    ...large,
    data: executionLogs.encode({ header: { ...header, bucket: 15, part: 1, parts: 2 }, columns }),
  }
  await tell(warehouse, [before, first, block], { chain: CHAIN })
  await foldChain(warehouse, CHAIN, NEVER)
  await tell(warehouse, [second], { chain: CHAIN })
  await foldChain(warehouse, CHAIN, NEVER)
  expect(await warehouse.query('SELECT count() AS tokens FROM nft_token_holders WHERE amount > 0')).toEqual([
    { tokens: '2' },
  ])
})

/** Events of a block that says how many parts there are among them. */
function withParts(events: readonly EncodedEvent[]): readonly EncodedEvent[] {
  const logParts = events.filter(({ type }) => type === 'execution.logs').length
  return events.map((event) => {
    if (event.type !== executionBlock.name) return event
    const { header, columns } = decodeEvent(executionBlock, event)
    const data = { header: { ...header, logParts }, columns } as Parameters<typeof executionBlock.encode>[0]
    return { ...event, data: executionBlock.encode(data) }
  })
}
