import { expect, test } from 'vitest'
import type { ExplainedRows, FinalChain } from '../../infra/ports/beacon-source.ts'
import type { BuiltEpoch } from '../../ingest/epochs/epoch-events.ts'
import { EpochPipeline } from '../../ingest/epochs/epoch-pipeline.ts'
import type { TrackedValidators } from '../../ingest/epochs/tracked-validators.ts'
import { BEACON_CHAIN, chainTo } from './follow-synthetic.ts'
import { silentLog } from './silent-log.ts'
import { SLOTS_PER_EPOCH, syntheticChain } from './synthetic-chain.ts'

const EPOCHS = 4
const VALIDATORS = 8
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

test('epochs that are read side by side are computed in their order, so that each state is read once', async () => {
  const chain = chainTo((EPOCHS + 3) * SLOTS_PER_EPOCH)
  const asked: number[] = []
  const final: FinalChain = {
    ...chain.final,
    explainedEpoch: async ({ epoch }) => {
      asked.push(epoch)
      return computed
    },
  }
  const set = { pubkeys: new Map<string, number>(), indices: Uint32Array.from({ length: VALIDATORS }, (_, i) => i) }
  const tracked = { refresh: async () => set, hold: async () => true } as unknown as TrackedValidators
  const pipeline = new EpochPipeline({
    ...{ beacon: { ...chain.beacon, finalChain: () => final }, chain: syntheticChain, chainName: BEACON_CHAIN },
    ...{ log: silentLog, tracked, concurrency: EPOCHS },
  })
  const checkpoint = await chain.beacon.finalized()
  const appended: number[] = []
  const append = async ({ epoch }: BuiltEpoch) => void appended.push(epoch)
  await pipeline.run({ from: 0, to: EPOCHS - 1, checkpoint }, append, new AbortController().signal)
  expect(asked).toEqual([0, 1, 2, 3])
  expect(appended).toEqual([0, 1, 2, 3])
})
