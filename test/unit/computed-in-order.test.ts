import { setImmediate } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import type { ExplainedRows, FinalChain } from '../../infra/ports/beacon-source.ts'
import type { BuiltEpoch } from '../../ingest/epochs/epoch-events.ts'
import { EpochPipeline } from '../../ingest/epochs/epoch-pipeline.ts'
import type { TrackedValidators } from '../../ingest/epochs/tracked-validators.ts'
import { BEACON_CHAIN, chainTo } from './follow-synthetic.ts'
import { silentLog } from './silent-log.ts'
import { SLOTS_PER_EPOCH, syntheticChain } from './synthetic-chain.ts'

const EPOCHS = 8
/** Behind the one that a day begins in, for which everybody is asked for once more. */
const FIRST = 1
const LAST = FIRST + EPOCHS - 1
const ALL = Array.from({ length: EPOCHS }, (_, i) => FIRST + i)
const VALIDATORS = 8
/** Their JSON would fill the memory if endpoints told several epochs at once. */
const VERY_MANY = 1_000_000
const NONE = { validatorIndex: new Uint32Array(0) }
const none = () => new BigInt64Array(0)

const computed: ExplainedRows = {
  states: {
    ...{ ...NONE, balanceGwei: none(), effectiveBalanceEth: new Uint32Array(0) },
    ...{ status: new Uint8Array(0), slashed: new Uint8Array(0), activationEligibilityEpoch: new BigUint64Array(0) },
    ...{ activationEpoch: new BigUint64Array(0), exitEpoch: new BigUint64Array(0) },
    withdrawableEpoch: new BigUint64Array(0),
  },
  credentialTypes: new Uint8Array(0),
  attestations: { ...NONE, sourceGwei: none(), targetGwei: none(), headGwei: none(), inactivityGwei: none() },
  sync: { ...NONE, slot: new Uint32Array(0), syncGwei: none() },
  ...{ proposals: [], effects: [], residuals: [], proposers: undefined, network: undefined, differences: [] },
  proof: { formulas: 1, stateRoot: `0x${'01'.repeat(32)}`, level: 'anchored' },
  cuts: [],
}

/** A pipeline that tells the first epochs of a chain for so many validators, and the epochs that states were asked for. */
async function pipelineFor(validators: number, explained: ExplainedRows | undefined, endpoints = {}) {
  const chain = chainTo((EPOCHS + 3) * SLOTS_PER_EPOCH)
  const asked: number[] = []
  const final: FinalChain = {
    ...chain.final,
    explainedEpoch: async ({ epoch }) => {
      asked.push(epoch)
      return explained
    },
    ...endpoints,
  }
  const set = { pubkeys: new Map<string, number>(), indices: Uint32Array.from({ length: validators }, (_, i) => i) }
  const tracked = { refresh: async () => set, hold: async () => true } as unknown as TrackedValidators
  const pipeline = new EpochPipeline({
    ...{ beacon: { ...chain.beacon, finalChain: () => final }, chain: syntheticChain, chainName: BEACON_CHAIN },
    ...{ log: silentLog, tracked, concurrency: EPOCHS },
  })
  const checkpoint = await chain.beacon.finalized()
  const run = (append: (built: BuiltEpoch) => Promise<void>) =>
    pipeline.run({ from: FIRST, to: LAST, checkpoint }, append, new AbortController().signal)
  return { asked, run }
}

test('epochs that are read side by side are computed in their order, so that each state is read once', async () => {
  const { asked, run } = await pipelineFor(VALIDATORS, computed)
  const appended: number[] = []
  await run(async ({ epoch }) => void appended.push(epoch))
  expect(asked).toEqual(ALL)
  expect(appended).toEqual(ALL)
})

test('while an epoch of very many validators is written, states of the two behind it have been asked for', async () => {
  const { asked, run } = await pipelineFor(VERY_MANY, computed)
  await run(async ({ epoch }) => {
    const behind = Math.min(LAST, epoch + 2)
    await vi.waitFor(() => expect(asked.at(-1)).toBe(behind), { timeout: 30_000 })
    await setImmediate() // whoever might be asked for by then
    expect(asked.at(-1)).toBe(behind)
  })
  expect(asked).toEqual(ALL)
})

test('of very many validators endpoints tell one epoch at a time, however many were asked for', async () => {
  const told: number[] = []
  const validators = async (slot: number) => {
    // The checkpoint's state tells who was there before; that of an epoch's last slot is the epoch's.
    if (slot % SLOTS_PER_EPOCH === SLOTS_PER_EPOCH - 1) told.push(Math.floor(slot / SLOTS_PER_EPOCH))
    throw new Error('endpoints are asked')
  }
  const { asked, run } = await pipelineFor(VERY_MANY, undefined, { validators })
  await expect(run(async () => {})).rejects.toThrow('endpoints are asked')
  expect(asked).toEqual([1, 2, 3])
  expect(told).toEqual([1])
})
