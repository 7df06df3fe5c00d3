import type { Hex } from 'viem'
import { expect, test } from 'vitest'
import { UnreadNoticer } from '../../ingest/metadata/notice-unread.ts'
import { type Run, tokensPerRun } from '../../ingest/metadata/read-some.ts'
import { CHANGED_AT_ONCE, CONTRACTS_AT_ONCE, takeTurn } from '../../ingest/metadata/take-turn.ts'
import { type ReadNftContractInput, readNftContract, rereadNftContract } from '../../schemas/jobs/read-nft.ts'
import { ART, CHAIN, COINS, changed, MAX, mint, tellBlock, World } from './given-metadata.ts'
import { SimulatedQueue } from './simulated-queue.ts'
import { storesOfFile } from './warehouse-of-file.ts'

const CONTRACTS = 1_000
const TOKENS = 5
const BLOCK_MS = 12_000
const BLOCKS = 8
/** In this one the new contract is. */
const NEW_IN_BLOCK = 3
const STEP_MS = 250
const LOOK_MS = 1_000
/** Of servers that are not quick, four of which are asked at once. */
const DOCUMENT_MS = 2_000
const TOKENS_AT_ONCE = 4
const SERVED_WITHIN_MS = 60_000
/** One for each contract that says so, and one for the new one. */
const JOBS_MAX = CONTRACTS + 1
const NOW_SEC = 1_800_000_000

const stores = storesOfFile()
const added: Hex = `0x${'ff'.repeat(20)}`
const contracts = Array.from({ length: CONTRACTS }, (_, i): Hex => `0x${(i + 1).toString(16).padStart(40, '0')}`)

/** Every contract has tokens, all of which were read. */
async function givenReadTokens(): Promise<void> {
  const { warehouse } = stores()
  await stores().empty()
  const minted = contracts.map((contract) => ({ contract, log: mint(contract, 1n).log }))
  await tellBlock(warehouse, 1, minted)
  await warehouse.command(
    `INSERT INTO nft_token_states (chain, contract, token_id, block_number, read_at, version)
     SELECT chain, contract, token_id, 1, toDateTime(${NOW_SEC}), 1 FROM nft_tokens`,
  )
}

test('1,000 contracts that change everything in each block are one job each, and a new one is read within a minute', async () => {
  await givenReadTokens()
  const { warehouse } = stores()
  let nowMs = 0
  let appearedMs: number | undefined
  let servedMs: number | undefined
  const turns = new Map(contracts.map((contract) => [contract, 0]))
  const jobQueue = new SimulatedQueue(() => nowMs)
  // Reading takes its time; how much there is to read, and what waits then, is as the role has it.
  const work = (job: typeof readNftContract, which: Run['which'], concurrency: number): void =>
    jobQueue.work({
      name: job.name,
      concurrency,
      begin: (place: ReadNftContractInput) => {
        const read = place.contract === added ? 1 : Math.min(TOKENS, tokensPerRun(jobQueue.waiting(job.name)))
        const end = async (): Promise<void> => {
          turns.set(place.contract as Hex, (turns.get(place.contract as Hex) ?? 0) + 1)
          if (place.contract === added) servedMs ??= nowMs
          // The next block has changed all of them again.
          const done = { read, isMore: which === 'changed' }
          await takeTurn({ jobQueue, job, which, read: async () => done, follow: async () => {} }, place)
        }
        return { tookMs: Math.ceil(read / TOKENS_AT_ONCE) * DOCUMENT_MS, end }
      },
    })
  work(readNftContract, 'unread', CONTRACTS_AT_ONCE)
  work(rereadNftContract, 'changed', CHANGED_AT_ONCE)
  const noticer = new UnreadNoticer({ warehouse, jobQueue, nowSec: () => NOW_SEC, nowMs: () => nowMs }, CHAIN)
  for (; nowMs < BLOCKS * BLOCK_MS; nowMs += STEP_MS) {
    if (nowMs % BLOCK_MS === 0) {
      const block = 2 + nowMs / BLOCK_MS
      const args = { fromTokenId: 0n, toTokenId: MAX }
      const happened = contracts.map((contract) => changed(contract, 'BatchMetadataUpdate', args))
      if (block === NEW_IN_BLOCK) appearedMs = nowMs
      await tellBlock(warehouse, block, block === NEW_IN_BLOCK ? [...happened, mint(added, 1n)] : happened)
    }
    if (nowMs % LOOK_MS === 0) await noticer.look()
    await jobQueue.step()
  }
  expect(appearedMs).toBeDefined()
  expect((servedMs ?? Number.POSITIVE_INFINITY) - (appearedMs ?? 0)).toBeLessThanOrEqual(SERVED_WITHIN_MS)
  expect(jobQueue.waitedMax).toBeLessThanOrEqual(JOBS_MAX)
  const counts = contracts.map((contract) => turns.get(contract) ?? 0)
  expect(Math.max(...counts)).toBe(1)
  expect(counts.filter((count) => count === 1).length).toBeGreaterThan(300)
})

test('a round reads some tokens of each contract that waits, and no more than so many of all', () => {
  expect([1, 10, 1_000, 100_000].map(tokensPerRun)).toEqual([200, 200, 2, 1])
})

test('a search of the tables finds what nobody told of: unread tokens, those that are due, and changes', async () => {
  const world = new World(() => stores().warehouse)
  await stores().empty()
  const asked: string[] = []
  const jobQueue = { request: async (name: string, id: string) => void asked.push(`${name} ${id.slice(4, 8)}`) }
  const look = () => {
    asked.length = 0
    const noticing = { warehouse: stores().warehouse, jobQueue, nowSec: () => world.nowSec, nowMs: () => 0 }
    return new UnreadNoticer(noticing, CHAIN).look()
  }
  await tellBlock(stores().warehouse, 1, [mint(ART, 1n), mint(COINS, 1n)])
  await look()
  expect(asked.toSorted()).toEqual(['read-nft-contract 0x01', 'read-nft-contract 0x02'])
  await world.run(ART)
  world.answer = () => ({ status: 'failed', isLate: false, reason: '' })
  await world.run(COINS)
  await look()
  expect(asked).toEqual([])
  world.nowSec += 30
  await look()
  expect(asked).toEqual(['read-nft-contract 0x02'])
  world.nowSec -= 30
  await tellBlock(stores().warehouse, 11, [
    changed(ART, 'MetadataUpdate', { tokenId: 1n }),
    changed(COINS, 'ContractURIUpdated', {}),
  ])
  await look()
  expect(asked.toSorted()).toEqual(['reread-nft-contract 0x01', 'reread-nft-contract 0x02'])
})
