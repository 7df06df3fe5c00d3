import { expect, test } from 'vitest'
import { STATEMENTS_MAX } from '../../api/http/budget.ts'
import type { NftPin } from '../../api/nft/asking.ts'
import { oddAmong } from '../../api/nft/coverage.ts'
import { CHANGES_MAX } from '../../schemas/routes/nft/changes.ts'
import { NAMED_REVERTED_MAX, notRevertedSql } from '../../schemas/tables/reverted-blocks.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const address = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`
const hashOf = (number: number): string => number.toString(16).padStart(64, 'f')
const stores = storesOfFile()

test.each([10, CHANGES_MAX])('which of %i contracts have odd logs a few statements tell', async (count) => {
  const { warehouse, empty } = stores()
  await empty()
  // Every third contract has some, each of them since another block; of every sixth one the first was reverted, and of one of them all.
  await warehouse.command(
    `INSERT INTO nft_odd_logs (chain, contract, block_number, block_hash, log_index, event, reason, version)
     SELECT 'eth', toFixedString(unhex(leftPad(hex(number), 40, '0')), 20), number % 50 + block,
       toFixedString(unhex(if(number % 6 = 0 AND (block = 1 OR number = 6), '${hashOf(1)}', '${hashOf(0)}')), 32), 1, 'TransferBatch', 'malformed', 1
     FROM numbers(${count}) ARRAY JOIN [1, 2] AS block WHERE number % 3 = 0`,
  )
  const reverted = Array.from({ length: NAMED_REVERTED_MAX }, (_, i) => hashOf(i + 1))
  const texts: string[] = []
  const pin = {
    warehouse: {
      query: async (text: string) => {
        texts.push(text)
        return await warehouse.query(text)
      },
    },
    chain: 'eth',
    snapshot: { number: 25 },
    standing: { hasOddLogs: true, notReverted: notRevertedSql(reverted) },
  } as unknown as NftPin
  const contracts = Array.from({ length: count }, (_, i) => address(i))
  const isOdd = await oddAmong(pin, contracts)
  const firstOf = (number: number) => (number % 50) + (number % 6 === 0 ? 2 : 1)
  const expected = contracts.filter((_, i) => i % 3 === 0 && i !== 6 && firstOf(i) <= 25)
  expect(contracts.filter(isOdd)).toEqual(expected)
  expect(texts.length).toBeLessThan(STATEMENTS_MAX / 4)
  expect(Math.max(...texts.map(({ length }) => length))).toBeLessThan(256 * 1024)
})
