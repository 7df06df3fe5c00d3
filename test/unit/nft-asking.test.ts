import { expect, test } from 'vitest'
import { ask, type NftOperation, type NftScope, RefusedNft } from '../../api/nft/asking.ts'
import { isHolderOfContract } from '../../api/nft/ownership.ts'
import type { NftStanding, NftStandings } from '../../api/nft/standing.ts'
import type { WordsReader } from '../../infra/ports/warehouse.ts'
import { noWords } from './no-words.ts'

const STANDING = {
  start: 1,
  partition: '1',
  head: { number: 9, hash: '0x09', timeSec: 9 },
  notReverted: '1',
  isReverted: () => false,
} as unknown as NftStanding
const standings = { of: async () => ({ ...STANDING }), isUnreverted: async () => true } as unknown as NftStandings

/** Asks an operation about a past block; the block is found when the test says so. */
function given(handle: (scope: NftScope) => Promise<object>) {
  const { promise: block, resolve: findBlock } = Promise.withResolvers<readonly object[]>()
  const statements: string[] = []
  const warehouse: WordsReader = {
    ...noWords,
    async query<Row>(sql: string) {
      statements.push(sql)
      return (sql.includes('FROM nft_blocks') ? await block : [{ row: 1 }]) as Row[]
    },
  }
  const operation: NftOperation = {
    ...isHolderOfContract,
    handle: async (_values, scope) => ({ status: 'answered', body: await handle(scope) }),
  }
  const answer = ask({ standings, operation, chain: 'mainnet', warehouse, values: { block: '5' } })
  return { answer, findBlock, statements }
}

const turns = () => new Promise((resolve) => setImmediate(resolve))

test('rows of a past block are read while the block is looked for, and what was read knows it', async () => {
  const { answer, findBlock, statements } = given(async ({ warehouse, snapshot }) => {
    await warehouse.query('SELECT rows')
    return { snapshot: { ...snapshot } }
  })
  await turns()
  expect(statements).toHaveLength(2)
  findBlock([{ block_number: '5', of_block: 'AB', time_sec: 50 }])
  const { body, headers } = await answer
  expect(JSON.parse(String(body))).toEqual({ snapshot: { number: 5, hash: '0xab', timeSec: 50 } })
  expect(headers?.['x-valid-at']).toBe('block_number=5, block_hash="0xab", block_timestamp=50')
})

test.each([
  ['was read', async ({ warehouse }: NftScope) => ({ rows: await warehouse.query('SELECT rows') })],
  ['was not read', async () => ({})],
])('where there is no such block the question is refused, whatever %s', async (_what, handle) => {
  const { answer, findBlock } = given(handle)
  await turns()
  findBlock([])
  await expect(answer).rejects.toThrow(RefusedNft)
  await expect(answer).rejects.toThrow('block 5 is not covered')
})
