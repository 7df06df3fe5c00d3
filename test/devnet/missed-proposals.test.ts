import { afterAll, beforeAll, expect, test } from 'vitest'
import { storesOfFile } from '../unit/warehouse-of-file.ts'
import { type HistoryApi, openHistoryApi } from './history-api.ts'

// Missed proposals from the bytes of states to answers: whose turn each slot was, the devnet knows of the reference's own state.

const HEAD_SLOT = 350
const SLOTS_PER_EPOCH = 32
const TIMEOUT_MS = 180_000

const stores = storesOfFile()
let history: HistoryApi
beforeAll(async () => {
  history = await openHistoryApi(stores, HEAD_SLOT)
}, TIMEOUT_MS)
afterAll(() => history[Symbol.asyncDispose]())

interface Answer {
  readonly data: {
    readonly newestEpoch: number
    readonly validators: {
      readonly nodes: readonly {
        readonly index: number
        readonly proposals: Readonly<Record<string, unknown>>
      }[]
    }
  }
}

async function ask(window: string): Promise<Answer['data']> {
  const query = `{ newestEpoch validators(first: 100) { nodes { index proposals(${window}) { proposedCount missedSlots missedCount missedReason } } } }`
  const response = await fetch(`${history.base}/graphql`, { method: 'POST', body: JSON.stringify({ query }) })
  return ((await response.json()) as Answer).data
}

test('each validator has missed the slots that were its turn and have no block', async () => {
  const { newestEpoch, validators } = await ask('from: "2026-01-08", to: "2026-01-14"')
  const turns = Array.from({ length: newestEpoch + 1 }, (_, epoch) =>
    (history.devnet.history.slot(epoch * SLOTS_PER_EPOCH)?.proposers ?? []).map((proposer, offset) => ({
      ...{ slot: epoch * SLOTS_PER_EPOCH + offset, proposer },
      isFilled: history.devnet.history.block(epoch * SLOTS_PER_EPOCH + offset) !== undefined,
    })),
  )
    .flat()
    .filter(({ slot }) => slot > 0)
  expect(turns).toHaveLength((newestEpoch + 1) * SLOTS_PER_EPOCH - 1)
  expect(validators.nodes.length).toBeGreaterThan(40)
  for (const { index, proposals } of validators.nodes) {
    const own = turns.filter(({ proposer }) => proposer === index)
    const missed = own.filter(({ isFilled }) => !isFilled).map(({ slot }) => slot)
    expect([index, proposals]).toEqual([
      index,
      {
        proposedCount: own.length - missed.length,
        missedSlots: missed,
        missedCount: missed.length,
        missedReason: null,
      },
    ])
  }
  const all = validators.nodes.flatMap(({ proposals }) => proposals.missedSlots as readonly number[])
  expect(all.length).toBeGreaterThan(3)
})
