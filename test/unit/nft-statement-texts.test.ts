import { expect, test } from 'vitest'
import { oddAmong } from '../../api/nft/coverage.ts'
import { manyNewHolders } from '../../api/nft/new-holders.ts'
import { lookAt } from '../../api/nft/transfer-rows.ts'
import { NAMED_REVERTED_MAX, notRevertedSql } from '../../schemas/tables/reverted-blocks.ts'

/** `max_query_size` of a server. */
const TEXT_MAX = 256 * 1024
const address = (number: number): string => `0x${(number + 1).toString(16).padStart(40, '0')}`
const contracts = Array.from({ length: 100 }, (_, i) => address(i))

/** Of a chain with as many reverted blocks as statements name, and what is asked of the warehouse. */
function givenScope(rows: readonly unknown[] = []) {
  const texts: string[] = []
  const hashes = Array.from({ length: NAMED_REVERTED_MAX }, (_, i) => (i + 1).toString(16).padStart(64, 'f'))
  const scope = {
    warehouse: {
      query: async (text: string) => {
        texts.push(text)
        return rows
      },
    },
    chain: 'eth',
    snapshot: { number: 5_000, hash: '', timeSec: 0 },
    standing: {
      start: 1,
      partition: '1',
      hasOddLogs: true,
      notReverted: notRevertedSql(hashes),
      isReverted: () => true,
    },
  }
  return { scope: scope as unknown as Parameters<typeof lookAt>[0], texts }
}

const lengths = (texts: readonly string[]) => texts.map(({ length }) => length)

test('odd logs of a page of contracts are looked for in texts that a server takes, all of them', async () => {
  const { scope, texts } = givenScope()
  await oddAmong(scope, contracts)
  expect(Math.max(...lengths(texts))).toBeLessThan(TEXT_MAX)
  expect(texts.join(' UNION ALL ').match(/FROM nft_odd_logs/g)).toHaveLength(contracts.length)
})

test('so are those who came to hold tokens of a page’s contracts', async () => {
  const { scope, texts } = givenScope()
  const tokens = contracts
    .slice(0, 25)
    .map((contract) => ({ contract, tokenId: '1', standard: 'ERC721', sinceBlock: 900 }))
  await manyNewHolders(scope, tokens as Parameters<typeof manyNewHolders>[1])
  expect(Math.max(...lengths(texts))).toBeLessThan(TEXT_MAX)
  expect(texts.join(' ').match(/AS new_holders/g)).toHaveLength(tokens.length)
})

test('so are transfers of as many contracts as a filter has, of which only reverted ones were found', async () => {
  const reverted = {
    ...{ fits: 0, is_cut: 1, of_block: 'AB'.repeat(32), block_number: '7', log_index: 1, batch_index: 0 },
  }
  const { scope, texts } = givenScope([reverted])
  const streams = contracts.slice(0, 45).map((contract) => ({ kind: 'contract' as const, key: contract.slice(2) }))
  await lookAt(scope, { streams, parameters: { order: 'desc' }, behind: undefined, each: 100, limit: 100 } as never)
  expect(texts).toHaveLength(2)
  expect(Math.max(...lengths(texts))).toBeLessThan(TEXT_MAX)
})
