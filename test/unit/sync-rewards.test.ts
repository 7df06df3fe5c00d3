import { BitArray } from '@chainsafe/ssz'
import { SYNC_COMMITTEE_SIZE } from '@lodestar/params'
import type { CachedBeaconStateFulu } from '@lodestar/state-transition'
import { processSyncAggregate } from '@lodestar/state-transition/block'
import { ssz } from '@lodestar/types'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { createGenesis } from '../../infra/devnet/consensus/genesis.ts'
import type { BeaconBlock, SyncRewards, ValidatorStates } from '../../infra/ports/beacon-source.ts'
import { PubkeyBook } from '../../ingest/epochs/pubkey-book.ts'
import { syncColumns, type TrackedMembers, trackedMembers } from '../../ingest/epochs/sync-rewards.ts'
import type { FinalizedBlock } from '../../schemas/events/beacon-epoch.ts'
import { openSyntheticEngine } from '../devnet/synthetic-engine.ts'
import { tries } from '../long-form.ts'
import { SyntheticChain, syntheticChain } from './synthetic-chain.ts'

const VALIDATORS = 64 // some eight seats each
const GENESIS_TIME_SEC = 1_700_000_000
const SLOTS = 4

let genesis: CachedBeaconStateFulu
let committee: Uint32Array
beforeAll(async () => {
  const engine = await openSyntheticEngine({ genesisTimeSec: GENESIS_TIME_SEC })
  const { chainId, depositContractAddress } = engine
  const facts = { genesisTimeSec: GENESIS_TIME_SEC, chainId, depositContractAddress, validators: VALIDATORS }
  genesis = createGenesis({ seed: 'sync', facts, engine }).state
  committee = Uint32Array.from(genesis.epochCtx.currentSyncCommitteeIndexed.validatorIndices)
})

/** What happens before and in a block: who has signed, who withdraws all, what the proposer earns besides. */
interface Step {
  readonly bits: Uint8Array
  readonly withdrawn: readonly number[]
  readonly proposedGwei: number
}

interface Epoch {
  readonly blocks: readonly BeaconBlock[]
  readonly rewarded: readonly FinalizedBlock[]
  /** What the state transition has given each member, by block. */
  readonly rewards: readonly ReadonlyMap<number, bigint>[]
  readonly balances: readonly number[]
}

const hash = (slot: number) => `0x${slot.toString(16).padStart(64, '0')}`

function blockOf(slot: number, proposerIndex: number, syncBits: Uint8Array): BeaconBlock {
  const named = { slot, root: hash(slot), parentRoot: hash(slot - 1), proposerIndex, syncBits }
  const execution = { executionBlockHash: hash(0), executionBlockNumber: 0, feeRecipient: `0x${'00'.repeat(20)}` }
  return { ...named, ...execution, withdrawals: [], accusedIndices: [] }
}

/** Runs the library's process_sync_aggregate over the blocks of an epoch. */
function play(balances: readonly number[], steps: readonly Step[]): Epoch {
  const state = genesis.clone()
  balances.forEach((gwei, index) => {
    state.balances.set(index, gwei)
  })
  const played = steps.map(({ bits, withdrawn, proposedGwei }, i) => {
    const slot = i + 1
    state.slot = slot
    const proposer = state.epochCtx.getBeaconProposer(slot)
    for (const index of withdrawn) state.balances.set(index, 0)
    const before = state.balances.getAll()
    const body = { ...ssz.fulu.BeaconBlockBody.defaultValue() }
    body.syncAggregate.syncCommitteeBits = new BitArray(bits, SYNC_COMMITTEE_SIZE)
    processSyncAggregate(state, { ...ssz.fulu.BeaconBlock.defaultValue(), slot, body }, false)
    const signed = bits.reduce((sum, byte) => sum + byte.toString(2).replaceAll('0', '').length, 0)
    const ofProposer = signed * state.epochCtx.syncProposerReward
    const rewards = new Map(
      state.balances.getAll().map((gwei, index) => {
        return [index, BigInt(gwei - (before[index] as number) - (index === proposer ? ofProposer : 0))]
      }),
    )
    state.balances.set(proposer, state.balances.get(proposer) + proposedGwei)
    const block = blockOf(slot, proposer, bits)
    const { syncBits: _, withdrawals: __, accusedIndices: ___, ...named } = block
    const gwei = { attestationsGwei: String(proposedGwei), syncAggregateGwei: String(ofProposer) }
    return { block, rewards, rewarded: { ...named, ...gwei, proposerSlashingsGwei: '0', attesterSlashingsGwei: '0' } }
  })
  return {
    blocks: played.map(({ block }) => block),
    rewarded: played.map(({ rewarded }) => rewarded),
    rewards: played.map(({ rewards }) => rewards),
    balances: state.balances.getAll(),
  }
}

function statesOf({ balances }: Epoch): ValidatorStates {
  const rows = balances.length
  return {
    validatorIndex: Uint32Array.from(balances.keys()),
    balanceGwei: BigInt64Array.from(balances, BigInt),
    effectiveBalanceEth: new Uint32Array(rows),
    status: new Uint8Array(rows),
    slashed: new Uint8Array(rows),
    activationEligibilityEpoch: new BigUint64Array(0),
    activationEpoch: new BigUint64Array(rows),
    exitEpoch: new BigUint64Array(rows),
    withdrawableEpoch: new BigUint64Array(rows),
  }
}

/** Asks for the epoch's sync rewards of a node that answers as the state transition has it, but for `change`. */
async function read(
  epoch: Epoch,
  members: TrackedMembers,
  change: (rows: SyncRewards) => SyncRewards = (rows) => rows,
) {
  const asked: string[] = []
  const final = {
    ...new SyntheticChain().final,
    syncRewards: async (root: string, set: Uint32Array) => {
      asked.push(root)
      const rewards = epoch.rewards[Number(root) - 1]
      const validatorIndex = Uint32Array.from(set)
      return change({ validatorIndex, syncGwei: BigInt64Array.from(set, (index) => rewards?.get(index) ?? 0n) })
    },
  }
  const columns = await syncColumns({
    final,
    chain: syntheticChain,
    epoch: 0,
    tracked: { pubkeys: new PubkeyBook(), indices: members.indices },
    blocks: epoch.blocks,
    members,
    states: Promise.resolve(statesOf(epoch)),
    rewarded: Promise.resolve(epoch.rewarded),
  })
  return { asked, columns }
}

function expectedRows(epoch: Epoch, { indices }: TrackedMembers) {
  return epoch.blocks.flatMap(({ slot }, i) => {
    return Array.from(indices, (index) => [slot, index, epoch.rewards[i]?.get(index)])
  })
}

function rowsOf({ columns }: Awaited<ReturnType<typeof read>>) {
  return Array.from(columns.validatorIndex, (index, i) => [columns.slotOffset[i], index, columns.syncGwei[i]])
}

const bits = fc.uint8Array({ minLength: SYNC_COMMITTEE_SIZE / 8, maxLength: SYNC_COMMITTEE_SIZE / 8 })
const member = fc.integer({ min: 0, max: VALIDATORS - 1 })
const healthy = fc.constant(32_000_000_000)
const low = fc.integer({ min: 0, max: 30_000_000 })
const stepOf = (withdrawn: fc.Arbitrary<number[]>) =>
  fc.record({ bits, withdrawn, proposedGwei: fc.integer({ min: 0, max: 50_000_000 }) })
const epochOf = (balance: fc.Arbitrary<number>, withdrawn: fc.Arbitrary<number[]>) =>
  fc.record({
    balances: fc.array(balance, { minLength: VALIDATORS, maxLength: VALIDATORS }),
    steps: fc.array(stepOf(withdrawn), { minLength: 1, maxLength: SLOTS }),
    tracked: fc.uniqueArray(member, { minLength: 1, maxLength: 6 }),
  })

test('rewards computed from the bits are those of the state transition, from one answer', async () => {
  await fc.assert(
    fc.asyncProperty(epochOf(healthy, fc.constant([])), async ({ balances, steps, tracked }) => {
      const epoch = play(balances, steps)
      const members = trackedMembers(committee, new Set(tracked))
      const answer = await read(epoch, members)
      expect(rowsOf(answer)).toEqual(expectedRows(epoch, members))
      expect(answer.asked.length).toBeLessThanOrEqual(1)
    }),
    { numRuns: tries(40, 2_000) },
  )
})

test('rewards are those of the state transition also where balances are empty, or are emptied on the way', async () => {
  const balance = fc.oneof({ weight: 2, arbitrary: healthy }, { weight: 1, arbitrary: low })
  const withdrawn = fc.array(member, { maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(epochOf(balance, withdrawn), async ({ balances, steps, tracked }) => {
      const epoch = play(balances, steps)
      const members = trackedMembers(committee, new Set(tracked))
      expect(rowsOf(await read(epoch, members))).toEqual(expectedRows(epoch, members))
    }),
    { numRuns: tries(60, 3_000) },
  )
})

const everybody = { bits: new Uint8Array(SYNC_COMMITTEE_SIZE / 8).fill(0xff), withdrawn: [], proposedGwei: 0 }
const healthyBalances = new Array<number>(VALIDATORS).fill(32_000_000_000)

test('a member whose balance is nearly gone has every block asked about', async () => {
  const balances = healthyBalances.with(3, 1_000)
  const epoch = play(balances, [everybody, everybody])
  const members = trackedMembers(committee, new Set([3, 4]))
  expect((await read(epoch, members)).asked).toEqual([hash(1), hash(2)])
  expect((await read(epoch, trackedMembers(committee, new Set([4])))).asked).toEqual([hash(1)])
})

test('nobody asks where no tracked validator is in the committee', async () => {
  const answer = await read(play(healthyBalances, [everybody]), trackedMembers(committee, new Set([1_000])))
  expect(answer).toMatchObject({ asked: [], columns: { slotOffset: new Uint8Array(0) } })
})

test.each<[string, (rows: SyncRewards) => SyncRewards, string]>([
  [
    'a reward that does not follow from the bits',
    ({ validatorIndex, syncGwei }) => ({
      validatorIndex,
      syncGwei: syncGwei.map((gwei, i) => (i === 2 ? gwei + 1n : gwei)),
    }),
    'does not follow from its seats',
  ],
  [
    'rewards of the wrong sign',
    ({ validatorIndex, syncGwei }) => ({ validatorIndex, syncGwei: syncGwei.map((gwei) => -gwei) }),
    'does not follow from its seats',
  ],
  [
    'a balance in the place of a reward',
    ({ validatorIndex, syncGwei }) => ({ validatorIndex, syncGwei: syncGwei.map((gwei) => 32_000_000_000n + gwei) }),
    'does not follow from its seats',
  ],
  [
    'a member that is left out',
    ({ validatorIndex, syncGwei }) => ({ validatorIndex: validatorIndex.subarray(1), syncGwei: syncGwei.subarray(1) }),
    'lack validator',
  ],
])('%s is malformed', async (_, change, message) => {
  const epoch = play(healthyBalances, [everybody, everybody])
  await expect(read(epoch, trackedMembers(committee, new Set([3, 4, 5])), change)).rejects.toThrow(
    expect.objectContaining({ code: 'node_malformed', message: expect.stringContaining(message) }),
  )
})

test('a balance is not taken for a reward where nobody else’s reward contradicts it', async () => {
  const epoch = play(healthyBalances, [everybody, everybody])
  const members = trackedMembers(committee, new Set([3]))
  const seats = BigInt(members.seats.get(3)?.length ?? 0)
  // Some 32 ETH, which are as many times the same as it has seats.
  const balances = ({ validatorIndex }: SyncRewards) => ({
    validatorIndex,
    syncGwei: BigInt64Array.of(seats * 4_000_000_000n),
  })
  await expect(read(epoch, members, balances)).rejects.toThrow(
    expect.objectContaining({ code: 'node_malformed', message: expect.stringContaining('validator 3') }),
  )
})

test('a block with fewer bits than the committee has seats is inconsistent', async () => {
  const epoch = play(healthyBalances, [everybody])
  const blocks = epoch.blocks.map((block) => ({ ...block, syncBits: block.syncBits.subarray(0, 4) }))
  await expect(read({ ...epoch, blocks }, trackedMembers(committee, new Set([3])))).rejects.toThrow(
    expect.objectContaining({ code: 'node_inconsistent' }),
  )
})
