import { expect, test } from 'vitest'
import type { BeaconBlock, FinalChain } from '../../infra/ports/beacon-source.ts'
import { FinalWalk } from '../../ingest/epochs/final-walk.ts'
import { ToldCheckpoints } from '../../ingest/epochs/told-checkpoints.ts'

const SLOTS_PER_EPOCH = 4
const CLOCK = { genesisTimeSec: 0, secondsPerSlot: 12, slotsPerEpoch: SLOTS_PER_EPOCH }
const NEVER = new AbortController().signal

const rootOf = (slot: number, fork = 'a') => `0x${fork}${slot.toString(16).padStart(63, '0')}`

function blockAt(slot: number): BeaconBlock {
  return {
    slot,
    root: rootOf(slot),
    parentRoot: rootOf(slot - 1),
    proposerIndex: 0,
    executionBlockHash: rootOf(slot, 'e'),
    executionBlockNumber: slot,
    feeRecipient: `0x${'0'.repeat(40)}`,
    withdrawals: [],
    syncBits: new Uint8Array(0),
    accusedIndices: [],
  }
}

const unasked = (): Promise<never> => Promise.reject(new Error('a walk does not ask this'))
/** A chain with a block in each slot. */
const FINAL: FinalChain = {
  blockHint: async (slot) => blockAt(slot),
  rootAt: async (slot) => rootOf(slot),
  validators: unasked,
  balances: unasked,
  identify: unasked,
  registered: unasked,
  explainedEpoch: async () => undefined,
  stateOffer: async () => undefined,
  pendingDeposits: unasked,
  attestationRewards: unasked,
  proposerReward: unasked,
  syncRewards: unasked,
  syncCommittee: unasked,
  confirm: unasked,
}

const checkpointAt = (epoch: number, toldBy: number) => ({ epoch, root: rootOf(epoch * SLOTS_PER_EPOCH), toldBy })

/** Walks epochs 2 and 3, from a checkpoint that the second node has told. */
async function walk(told: ToldCheckpoints, checkpointEpoch: number): Promise<readonly number[]> {
  const byRoot = async (root: string) => blockAt(Number.parseInt(root.slice(3), 16))
  const beacon = { blockByRoot: byRoot, headerByRoot: byRoot }
  const options = {
    beacon,
    final: FINAL,
    clock: CLOCK,
    checkpoint: checkpointAt(checkpointEpoch, 1),
    told,
    from: 2,
    to: 3,
  }
  const walk = new FinalWalk(options, NEVER)
  const epochs = [await walk.blocksOf(3), await walk.blocksOf(2)]
  return epochs.flatMap(({ blocks }) => blocks.map(({ slot }) => slot)).sort((a, b) => a - b)
}

test('a stretch that ends far before the checkpoint is not measured by checkpoints behind it', async () => {
  const told = new ToldCheckpoints()
  told.note(checkpointAt(9, 0)) // of the same chain, by a node that is gone
  expect(await walk(told, 10)).toEqual([8, 9, 10, 11, 12, 13, 14, 15])
  expect(() => told.note({ ...checkpointAt(9, 1), root: rootOf(36, 'b') })).toThrow(/another fork/)
})

test.each([4, 10])(
  'what an earlier node has told to be final holds against a checkpoint of epoch %i',
  async (epoch) => {
    const told = new ToldCheckpoints()
    told.note({ ...checkpointAt(3, 0), root: rootOf(12, 'b') })
    await expect(walk(told, epoch)).rejects.toThrow(/another fork than beacon node 1/)
  },
)

/** A walk over epochs 2 and 3 by a node that has blocks of some slots only; how many roots it is asked for. */
async function walkFar(has: (slot: number) => boolean, signal = NEVER) {
  let asked = 0
  const final: FinalChain = {
    ...FINAL,
    rootAt: async (slot) => {
      asked++
      return has(slot) ? rootOf(slot) : undefined
    },
  }
  const byRoot = async (root: string) => blockAt(Number.parseInt(root.slice(3), 16))
  const beacon = { blockByRoot: byRoot, headerByRoot: byRoot }
  const checkpoint = checkpointAt(1_000_000, 0)
  const options = { beacon, final, clock: CLOCK, checkpoint, told: new ToldCheckpoints(), from: 2, to: 3 }
  const outcome = await new FinalWalk(options, signal).blocksOf(3).catch((error: unknown) => error)
  return { outcome, asked }
}

test('a node without blocks from so long ago is named after some questions, not asked slot by slot for ever', async () => {
  const { outcome, asked } = await walkFar((slot) => slot > 3_000_000)
  expect(outcome).toMatchObject({
    code: 'node_lagging',
    message: expect.stringContaining('has no block from slot 0 to 47'),
  })
  expect(asked).toBeLessThan(100)
})

test('a long time without blocks is passed over where the node has those before it', async () => {
  const { outcome } = await walkFar((slot) => slot < 16 || slot > 200)
  expect(outcome).toMatchObject({ blocks: [{ slot: 12 }, { slot: 13 }, { slot: 14 }, { slot: 15 }] })
})

test('looking for where a walk begins ends with its signal', async () => {
  const stop = new AbortController()
  const { outcome, asked } = await walkFar((slot) => {
    if (slot > 20) stop.abort()
    return false
  }, stop.signal)
  expect(outcome).toBe(stop.signal.reason)
  expect(asked).toBeLessThan(10)
})
