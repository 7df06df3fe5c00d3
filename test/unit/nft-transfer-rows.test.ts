import type { Address } from 'viem'
import { expect, test } from 'vitest'
import type { Warehouse } from '../../infra/ports/warehouse.ts'
import { joinRows } from '../../processors/loop/rows.ts'
import { RANGE_TOKENS_MAX, RANGES_TOKENS_MAX, transferRows } from '../../processors/nft/transfers.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import type { RawLog } from '../../schemas/eth/nft-transfers.ts'
import { splitLogs } from '../../schemas/events/execution-log-parts.ts'
import type { ExecutionLogsData } from '../../schemas/events/execution-logs.ts'
import { ABI, ERC20, KITTIES, logOf } from './given-nft-log.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const ART: Address = `0x${'0a'.repeat(20)}`
const KITTIES_ADDRESS: Address = '0x06012c8cf97bead5deae237070f9587f8e7a266d'
const PUNKS_ADDRESS: Address = '0xb47e3cd837ddf8e4c57f05d70ab865de6e193bbb'
/** Contracts that index whom a token goes from and to, as ERC-20 does, and not the token: Axie, CryptoArte, Cryptovoxels, MakersPlace. */
const OF_THREE_TOPICS: readonly Address[] = [
  '0xf5b0a3efb8e8e4c201e2a935f110eaaf3ffecb8d',
  '0xbace7e22f06554339911a03b8e0ae28203da9598',
  '0x79986af15539de2db9a5086382daeda917a9cf0c',
  '0x2a46f2ffd99e19a89476e2f62270e0a35bbf0756',
]
const NOBODY: Address = `0x${'00'.repeat(20)}`
const ANA: Address = `0x${'a1'.repeat(20)}`
const BOB: Address = `0x${'b2'.repeat(20)}`
const EVE: Address = `0x${'e3'.repeat(20)}`
const MAX = 2n ** 256n - 1n
const CHAIN = 'eth'

const stores = storesOfFile()

interface Given {
  readonly address?: Address
  readonly transaction?: number
  readonly log: RawLog
}

/** The parts of a block with these logs, which count from 0. */
function partsOf(number: number, logs: readonly Given[]): readonly ExecutionLogsData[] {
  const hash = hashOf(number)
  const split = splitLogs({
    logIndex: Uint32Array.from(logs, (_, i) => i),
    transactionIndex: Uint32Array.from(logs, ({ transaction = 0 }) => transaction),
    transactionHash: new Uint8Array(logs.length * 32).fill(7),
    address: new Uint8Array(Buffer.concat(logs.map(({ address = ART }) => bytesOf(address)))),
    topics: logs.map(({ log }) => log.topics),
    data: logs.map(({ log }) => log.data),
  })
  return split.map((columns, part) => ({
    header: { chain: CHAIN, number, hash, timestampSec: 1_700_000_000, bucket: 0, part, parts: split.length },
    columns,
  }))
}

const hashOf = (number: number) => `0x${number.toString(16).padStart(64, '0')}`

let block = 0

/** What the tables have of a block with these logs. */
async function tablesOf(logs: readonly Given[], into: Warehouse = stores().warehouse) {
  const number = ++block
  const rows = partsOf(number, logs).flatMap((part) => transferRows(part, 1n))
  for (const { table, columns } of joinRows(rows)) await into.insert(table, columns)
  const of = 'WHERE chain = {chain:String} AND block_number = {number:UInt64} AND block_hash = unhex({hash:String})'
  const params = { chain: CHAIN, number, hash: hashOf(number).slice(2) }
  const moves = await into.query<Record<string, string | number>>(
    `SELECT log_index, batch_index, standard, event, concat('0x', lower(hex(contract))) AS contract,
       concat('0x', lower(hex(from_address))) AS from, concat('0x', lower(hex(to_address))) AS to,
       toString(reinterpretAsUInt256(reverse(token_id))) AS id, toString(amount) AS amount
     FROM nft_transfers FINAL ${of} ORDER BY log_index, batch_index`,
    params,
  )
  const odd = await into.query<Record<string, string | number>>(
    `SELECT log_index, event, reason FROM nft_odd_logs FINAL ${of} ORDER BY log_index`,
    params,
  )
  return { moves, odd }
}

const erc721 = (from: Address, to: Address, tokenId: bigint): Given => ({
  log: logOf(ABI, 'Transfer', { from, to, tokenId }),
})
const range = (fromTokenId: bigint, toTokenId: bigint): Given => ({
  log: logOf(ABI, 'ConsecutiveTransfer', { fromTokenId, toTokenId, from: NOBODY, to: ANA }),
})

test('a token that moves is a row, and so is each of a batch, with numbers of 256 bits', async () => {
  const batch = { operator: EVE, from: ANA, to: BOB, ids: [MAX, 2n, MAX], values: [MAX, 0n, MAX] }
  const { moves, odd } = await tablesOf([
    erc721(ANA, BOB, MAX - 1n),
    { log: logOf(ERC20, 'Transfer', { from: ANA, to: BOB, value: 5n }) },
    { log: logOf(ABI, 'TransferBatch', batch) },
  ])
  const [of721, of1155] = [
    { standard: 'ERC721', event: 'Transfer', contract: ART, from: ANA, to: BOB },
    { standard: 'ERC1155', event: 'TransferBatch', contract: ART, from: ANA, to: BOB },
  ]
  expect(moves).toEqual([
    { log_index: 0, batch_index: 0, ...of721, id: String(MAX - 1n), amount: '1' },
    { log_index: 2, batch_index: 0, ...of1155, id: String(MAX), amount: String(MAX) },
    { log_index: 2, batch_index: 1, ...of1155, id: '2', amount: '0' },
    { log_index: 2, batch_index: 2, ...of1155, id: String(MAX), amount: String(MAX) },
  ])
  expect(odd).toEqual([])
})

test('a range is a row for each token, beside what the same transaction tells one by one', async () => {
  const low = 2n ** 32n - 2n
  const { moves } = await tablesOf([
    { ...erc721(NOBODY, ANA, low + 1n), transaction: 0 },
    { ...erc721(ANA, BOB, low), transaction: 0 },
    { ...range(low, low + 1n), transaction: 0 },
    { ...range(7n, 9n), transaction: 1 },
  ])
  const told = moves.map(({ event, to, id, batch_index }) => [event, to, id, batch_index])
  expect(told).toEqual([
    ['Transfer', ANA, String(low + 1n), 0],
    ['Transfer', BOB, String(low), 0],
    ['ConsecutiveTransfer', ANA, String(low), 0],
    ['ConsecutiveTransfer', ANA, String(low + 1n), 1],
    ['ConsecutiveTransfer', ANA, '7', 0],
    ['ConsecutiveTransfer', ANA, '8', 1],
    ['ConsecutiveTransfer', ANA, '9', 2],
  ])
})

test('ranges are exact in all 256 bits, whatever is carried', async () => {
  const carried = [32n, 64n, 128n, 224n].map((bits) => 2n ** bits)
  const ranges = [...carried.map((id) => range(id - 2n, id + 1n)), range(MAX - 3n, MAX), range(MAX, MAX)]
  const { moves, odd } = await tablesOf(ranges)
  const ids = [...carried.flatMap((id) => [id - 2n, id - 1n, id, id + 1n]), MAX - 3n, MAX - 2n, MAX - 1n, MAX, MAX]
  expect(moves.map(({ id }) => id)).toEqual(ids.map(String))
  expect(odd).toEqual([])
})

test('a range of more tokens than are told is told as such, and so are those beyond what is told of an event', async () => {
  const whole = range(1n, BigInt(RANGE_TOKENS_MAX))
  const long = [range(1n, BigInt(RANGE_TOKENS_MAX) + 1n), range(0n, MAX), range(2n ** 32n - 1n, MAX)]
  const many = Array.from({ length: RANGES_TOKENS_MAX / RANGE_TOKENS_MAX }, () => whole)
  const { moves, odd } = await tablesOf([...long, ...many, whole, erc721(ANA, BOB, 1n)])
  expect(moves).toHaveLength(RANGES_TOKENS_MAX + 1)
  const told = { event: 'ConsecutiveTransfer', reason: 'long_range' }
  const places = [0, 1, 2, long.length + many.length]
  expect(odd).toEqual(places.map((log_index) => ({ log_index, ...told })))
})

test('who makes many tokens takes nobody’s place: ranges of contracts with fewer of them are told first', async () => {
  const large = range(1n, BigInt(RANGE_TOKENS_MAX))
  const many = Array.from({ length: RANGES_TOKENS_MAX / RANGE_TOKENS_MAX }, () => large)
  const other: Address = `0x${'1a'.repeat(20)}`
  const few = [range(1n, 3n), range(4n, 5n)].map((one) => ({ ...one, address: other }))
  const { moves, odd } = await tablesOf([...many, ...few])
  expect(moves.filter(({ contract }) => contract === other).map(({ id }) => id)).toEqual(['1', '2', '3', '4', '5'])
  expect(moves).toHaveLength(RANGES_TOKENS_MAX - RANGE_TOKENS_MAX + 5)
  expect(odd).toEqual([{ log_index: many.length - 1, event: 'ConsecutiveTransfer', reason: 'long_range' }])
})

test('what is told of an event is bounded whatever contracts its ranges are of', async () => {
  const made = Array.from({ length: 21 }, (_, i) => ({
    ...range(1n, BigInt(RANGE_TOKENS_MAX)),
    address: `0x${'0a'.repeat(19)}${(i + 16).toString(16)}` as Address,
  }))
  const { moves, odd } = await tablesOf(made)
  expect(odd).toEqual([{ log_index: made.length - 1, event: 'ConsecutiveTransfer', reason: 'long_range' }])
  expect(moves).toHaveLength(RANGES_TOKENS_MAX)
})

test('a log that has not its event’s form, or is longer than an event, stops nothing', async () => {
  const wrong = { ...logOf(ABI, 'TransferSingle', { operator: EVE, from: ANA, to: BOB, id: 1n, value: 1n }) }
  const ids = Array.from({ length: 20_000 }, (_, i) => BigInt(i))
  const { moves, odd } = await tablesOf([
    { log: { ...wrong, data: wrong.data.subarray(1) } },
    { log: logOf(ABI, 'TransferBatch', { operator: EVE, from: ANA, to: BOB, ids, values: ids }) },
    erc721(ANA, BOB, 1n),
  ])
  expect(moves.map(({ log_index }) => log_index)).toEqual([2])
  expect(odd).toEqual([
    { log_index: 0, event: 'TransferSingle', reason: 'malformed' },
    { log_index: 1, event: 'TransferBatch', reason: 'too_long' },
  ])
})

test('contracts of before the standard are known by their addresses', async () => {
  const punk = { punkIndex: 3n, value: 0n, fromAddress: ANA, toAddress: NOBODY }
  const { moves } = await tablesOf([
    { address: KITTIES_ADDRESS, log: logOf(KITTIES, 'Transfer', { from: ANA, to: BOB, tokenId: 9n }) },
    { address: ART, log: logOf(KITTIES, 'Transfer', { from: ANA, to: BOB, tokenId: 9n }) },
    { address: PUNKS_ADDRESS, log: logOf(ERC20, 'Transfer', { from: ANA, to: EVE, value: 1n }) },
    { address: ART, log: logOf(ERC20, 'Transfer', { from: ANA, to: BOB, value: 1n }) },
    { address: PUNKS_ADDRESS, log: logOf(ABI, 'PunkBought', punk) },
  ])
  expect(moves).toMatchObject([
    { log_index: 0, contract: KITTIES_ADDRESS, event: 'Transfer', standard: 'ERC721', id: '9' },
    { log_index: 4, contract: PUNKS_ADDRESS, event: 'PunkBought', from: ANA, to: EVE, id: '3' },
  ])
})

test('so are those that log three topics, as ERC-20 does', async () => {
  const log = logOf(ERC20, 'Transfer', { from: ANA, to: BOB, value: 9n })
  const { moves, odd } = await tablesOf([ART, ...OF_THREE_TOPICS].map((address) => ({ address, log })))
  const told = { batch_index: 0, standard: 'ERC721', event: 'Transfer', from: ANA, to: BOB, id: '9', amount: '1' }
  expect(moves).toEqual(OF_THREE_TOPICS.map((contract, i) => ({ ...told, contract, log_index: i + 1 })))
  expect(odd).toEqual([])
})
