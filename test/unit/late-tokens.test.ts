import type { Address } from 'viem'
import { beforeEach, expect, test } from 'vitest'
import { takeBack } from '../../processors/loop/drop-chains.ts'
import { joinRows, type TableRows } from '../../processors/loop/rows.ts'
import { metadataMarkRows } from '../../processors/nft/metadata-marks.ts'
import { transferRows } from '../../processors/nft/transfers.ts'
import { decodeEvent, type EncodedEvent } from '../../schemas/events/codec.ts'
import { executionLogs } from '../../schemas/events/execution-logs.ts'
import { ART, blockOn, eventsOf } from './given-nft-chain.ts'
import { ABI, logOf } from './given-nft-log.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const CHAIN = 'eth'
const [ANA, BOB] = [`0x${'a1'.repeat(20)}`, `0x${'b2'.repeat(20)}`] as readonly [Address, Address]
/** Of events at the same place of two partitions. */
const VERSION = 7n

const stores = storesOfFile()
beforeEach(() => stores().empty())

/** The event that tells these tokens of a contract, as moved in a block. */
function eventOf(number: number, tokens: readonly bigint[]): EncodedEvent {
  const logs = tokens.map((tokenId) => ({
    ...{ contract: ART, transaction: 0 },
    log: logOf(ABI, 'Transfer', { from: ANA, to: BOB, tokenId }),
  }))
  const events = eventsOf({ ...blockOn(undefined, [], number), logs }, CHAIN)
  return events.find(({ type }) => type === 'execution.logs') as EncodedEvent
}

/** Its rows, of memory that is used again. */
function rowsOf(event: EncodedEvent): readonly TableRows[] {
  const part = decodeEvent(executionLogs, event)
  const transfers = transferRows(part, VERSION)
  return [...transfers, ...metadataMarkRows(part, transfers, VERSION)]
}

test('rows of an event that came too late are deleted, and none of another of the same contract in another partition', async () => {
  const { warehouse } = stores()
  const [late, other] = [eventOf(1, [1n, 9n]), eventOf(2, [5n])]
  for (const event of [late, other])
    for (const { table, columns } of joinRows(rowsOf(event))) await warehouse.insert(table, columns)
  await takeBack(warehouse, [{ chain: CHAIN, version: VERSION, rows: rowsOf(late) }])
  const left = async (table: string) =>
    (
      await warehouse.query<{ id: string }>(
        `SELECT toString(reinterpretAsUInt256(reverse(token_id))) AS id FROM ${table} ORDER BY id`,
      )
    ).map(({ id }) => id)
  expect(await left('nft_transfers')).toEqual(['5'])
  expect(await left('nft_tokens')).toContain('5')
  expect(await warehouse.query('SELECT bucket FROM nft_marks')).toEqual([{ bucket: 18 }])
})
