import { expect, test } from 'vitest'
import { toExplainedRows } from '../../infra/beacon/explained-rows.ts'
import type { FinalChain } from '../../infra/ports/beacon-source.ts'
import { followEpochs } from '../../ingest/epochs/epoch-follower.ts'
import { AppError } from '../../schemas/errors.ts'
import { noDeltas } from '../../schemas/eth/transition/attestation-deltas.ts'
import type { ExplainedEpoch } from '../../schemas/eth/transition/explain-epoch.ts'
import { type StateColumns, UNSET_EPOCH } from '../../schemas/eth/transition/state-columns.ts'
import { dayBalances, epochBlocks } from '../../schemas/events/beacon-epoch.ts'
import { decodeEvent, type EncodedEvent } from '../../schemas/events/codec.ts'
import { eventLogOfEachTest } from './event-log-of-each-test.ts'
import { BEACON_CHAIN, eventsIn, ofChain, trackValidators } from './follow-synthetic.ts'
import { SLOTS_PER_EPOCH, SyntheticChain } from './synthetic-chain.ts'

// An epoch that is computed from states, in which a day begins and a balance is left unexplained.

const EPOCH = 266
/** The last slot before the day: it begins in slot 1067, as 2020-09-13 12:26:40 UTC is 20:26:40 in UTC+8. */
const CUT = 1_066
const VALIDATORS = 8
const TRACKED = [2, 5]
const UNEXPLAINED = 5
const QUESTIONS_MAX = 3

const eventLog = eventLogOfEachTest()

const balances = (gwei: number) => Float64Array.from({ length: VALIDATORS }, (_, index) => gwei + index)

const after: StateColumns = {
  ...{ slot: EPOCH * SLOTS_PER_EPOCH + SLOTS_PER_EPOCH - 1, fork: 'fulu', validators: VALIDATORS },
  balancesGwei: balances(32_000_000_200),
  effectiveIncrements: new Uint16Array(VALIDATORS).fill(32),
  ...{ slashed: new Uint8Array(VALIDATORS), eligibilityEpochs: new Uint32Array(VALIDATORS) },
  activationEpochs: new Uint32Array(VALIDATORS),
  exitEpochs: new Uint32Array(VALIDATORS).fill(UNSET_EPOCH),
  withdrawableEpochs: new Uint32Array(VALIDATORS).fill(UNSET_EPOCH),
  ...{ credentialPrefixes: new Uint8Array(VALIDATORS), previousParticipation: new Uint8Array(VALIDATORS) },
  ...{ currentParticipation: new Uint8Array(VALIDATORS), inactivityScores: new Uint32Array(VALIDATORS) },
  ...{ slashingsGwei: 0n, blockRoots: new Uint8Array(0), randaoMixes: new Uint8Array(0) },
  checkpoints: { justificationBits: 0, previousJustifiedEpoch: 0, currentJustifiedEpoch: 0, finalizedEpoch: 0 },
  ...{ proposerLookahead: undefined, syncSeats: new Uint32Array(0), queues: undefined },
  indexOf: () => undefined,
  credentialsOf: () => new Uint8Array(32),
}

const explained: ExplainedEpoch = {
  ...noDeltas(VALIDATORS),
  ...{ epoch: EPOCH, effects: [], committees: [], proposers: undefined, isParticipationReplayed: true },
  active: { validators: VALIDATORS, increments: 32 * VALIDATORS },
  seats: { slots: new Uint32Array(0), validators: new Uint32Array(0), gwei: new Float64Array(0) },
  residuals: new Map([[UNEXPLAINED, 1]]),
  cuts: [{ slot: CUT, gwei: balances(32_000_000_100) }],
}

/** Has the epoch told; with what a node says when it is asked for the balances at the cut. */
async function tellEpoch(answerCut: () => void): Promise<readonly EncodedEvent[]> {
  await trackValidators(eventLog(), TRACKED, BEACON_CHAIN)
  const chain = new SyntheticChain()
  chain.extend('b1060', 1_060, 'genesis')
  chain.extendRange(1_061, 1_090, 'b1060')
  chain.finalizedEpoch = EPOCH + 1
  const stop = new AbortController()
  let asked = 0
  chain.before = (question) => {
    if (question !== `balances ${CUT}`) return
    // A follower that asks on and on is not waited for.
    if (++asked === QUESTIONS_MAX) stop.abort()
    answerCut()
  }
  const final: FinalChain = {
    ...chain.final,
    explainedEpoch: async (_, set) => ({
      ...toExplainedRows(explained, { after, set, slots: [] }),
      proof: { formulas: 1, stateRoot: `0x${'01'.repeat(32)}`, level: 'consistent' },
      differences: [],
    }),
  }
  await followEpochs(
    {
      ...ofChain(BEACON_CHAIN, eventLog()),
      beacon: { ...chain.beacon, finalChain: () => final },
      startEpoch: EPOCH,
      onProgress: ({ nextEpoch }) => nextEpoch > EPOCH && stop.abort(),
    },
    stop.signal,
  )
  return await eventsIn(eventLog(), 'beacon.epochs')
}

/** What the log says of the day's beginning, and of what is left. */
function toldOf(events: readonly EncodedEvent[]) {
  const cuts = events.filter(({ type }) => type === dayBalances.name).map((event) => decodeEvent(dayBalances, event))
  const blocks = events.filter(({ type }) => type === epochBlocks.name).map((event) => decodeEvent(epochBlocks, event))
  return {
    cuts: cuts.map(({ header: { slot }, columns }) => [slot, ...columns.balanceGwei]),
    residuals: blocks.map(({ header }) => header.residuals),
  }
}

const residuals = [[{ validatorIndex: UNEXPLAINED, gwei: '1' }]]

test('where no node has the state any more, a day begins with the balances that were replayed', async () => {
  const events = await tellEpoch(() => {
    throw new AppError('node_lagging', `no node has the state of slot ${CUT}`, { retryable: true })
  })
  expect(toldOf(events)).toEqual({ cuts: [[CUT, 32_000_000_102n, 32_000_000_105n]], residuals })
  expect([explained.sourceGwei.length, explained.inactivityGwei.length], 'given back').toEqual([0, 0])
})

test('a node that has the state is believed, as the replayed balance may already lack what is unexplained', async () => {
  const events = await tellEpoch(() => {})
  expect(toldOf(events)).toEqual({ cuts: [[CUT, 32_000_000_002n, 32_000_000_005n]], residuals })
})

test('nodes that are away do not stand for a state that is gone: they are asked again', async () => {
  let asked = 0
  const events = await tellEpoch(() => {
    if (++asked === 1) throw new AppError('node_unreachable', 'no node answers', { retryable: true })
  })
  expect(toldOf(events)).toEqual({ cuts: [[CUT, 32_000_000_002n, 32_000_000_005n]], residuals })
})
