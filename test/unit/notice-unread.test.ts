import { beforeEach, expect, test } from 'vitest'
import { UnreadNoticer } from '../../ingest/metadata/notice-unread.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const CHAIN = 'eth'
const SEARCH_EVERY_MS = 30_000
/** More than two turns ask for. */
const CONTRACTS = 12_000

const stores = storesOfFile()
beforeEach(() => stores().empty())

/** A noticer of the tables, and which contracts it has asked for, in each of its turns. */
function givenNoticer() {
  let asked: string[] = []
  let nowMs = 0
  const jobQueue = { request: async (_: string, id: string) => void asked.push(id) }
  const noticing = { warehouse: stores().warehouse, jobQueue, nowSec: () => 1_800_000_000, nowMs: () => nowMs }
  const noticer = new UnreadNoticer(noticing, CHAIN)
  return {
    async turn({ laterMs = 0 } = {}): Promise<readonly string[]> {
      nowMs += laterMs
      asked = []
      await noticer.look()
      return asked
    },
  }
}

const ADDRESS = "toFixedString(unhex(leftPad(hex(number + 1), 40, '0')), 20)"
const mark = (version: number, contracts: string, bucket = 3) =>
  stores().warehouse.command(
    `INSERT INTO nft_marks (chain, kind, contract, bucket, version) SELECT '${CHAIN}', 'changed', ${ADDRESS}, ${bucket}, ${version} FROM ${contracts}`,
  )

test('a contract is asked for at each mark, though versions of one bucket are far behind those of another', async () => {
  const { turn } = givenNoticer()
  expect(await turn()).toEqual([])
  await mark(1_000, 'numbers(1)', 3)
  expect(await turn()).toHaveLength(1)
  await mark(5, 'numbers(1)', 4)
  await stores().warehouse.command('OPTIMIZE TABLE nft_marks FINAL')
  expect(await turn()).toHaveLength(1)
  // In several at once it is asked for once.
  for (const bucket of [3, 4, 5]) await mark(2_000, 'numbers(1)', bucket)
  expect(await turn()).toHaveLength(1)
  expect(await turn()).toEqual([])
})

test('marks that one turn does not ask for the next ones do, in the order in which they came', async () => {
  const { turn } = givenNoticer()
  expect(await turn()).toEqual([])
  // Of one event.
  await mark(7, `numbers(${CONTRACTS})`)
  const first = await turn()
  await mark(8, 'numbers(3)')
  await mark(8, `numbers(${CONTRACTS}, 1)`)
  const rest = [await turn(), await turn()]
  expect([first.length, ...rest.map(({ length }) => length)]).toEqual([5_000, 5_000, 2_004])
  expect(new Set([...first, ...rest.flat()]).size).toBe(CONTRACTS + 1)
  expect(await turn()).toEqual([])
})

test('so does a search, whether or not those before were read', async () => {
  await stores().warehouse.command(
    `INSERT INTO nft_tokens (chain, contract, token_id, supply_block, standard, version)
     SELECT '${CHAIN}', ${ADDRESS}, toFixedString('', 32), 0, 'ERC721', 1 FROM numbers(${CONTRACTS})`,
  )
  const { turn } = givenNoticer()
  const turns = [await turn()]
  while (turns.length < 4) turns.push(await turn({ laterMs: SEARCH_EVERY_MS }))
  expect(turns.map(({ length }) => length)).toEqual([5_000, 5_000, 2_000, 5_000])
  expect(new Set(turns.slice(0, 3).flat()).size).toBe(CONTRACTS)
  expect(turns.at(-1)).toEqual(turns.at(0))
})
