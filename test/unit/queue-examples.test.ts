import { expect, test } from 'vitest'
import { type ChurnRules, churnLimits, joinChurnQueue } from '../../schemas/eth/churn.ts'
import { FAR_FUTURE_EPOCH } from '../../schemas/eth/far-future.ts'
import { activationEpochAfter, clearEpochs } from '../../schemas/eth/pending-deposits.ts'
import { estimateSweep, sweepCycleSlots } from '../../schemas/eth/withdrawal-sweep.ts'

const SLOTS_PER_EPOCH = 32
const GWEI_PER_ETH = 1_000_000_000n
const EPOCH = 420_000

const RULES: ChurnRules = {
  incrementGwei: GWEI_PER_ETH,
  churnMinGwei: 128n * GWEI_PER_ETH,
  quotient: 65_536n,
  activationExitMaxGwei: 256n * GWEI_PER_ETH,
  gloas: undefined,
}
const GLOAS = {
  quotient: 32_768n,
  consolidationQuotient: 65_536n,
  activationMaxGwei: 256n * GWEI_PER_ETH,
}

/** Mainnet's limit is 256 ETH with that; the transition is that at the end of epoch 420000. */
const ACTIVE_GWEI = 36_000_000n * GWEI_PER_ETH

function clearOf(amountsEth: readonly number[], depositSlot = 1): number[] {
  const columns = {
    amountsGwei: BigUint64Array.from(amountsEth, (eth) => BigInt(eth) * GWEI_PER_ETH),
    slots: new BigUint64Array(amountsEth.length).fill(BigInt(depositSlot)),
    withdrawableEpochs: new BigUint64Array(amountsEth.length).fill(FAR_FUTURE_EPOCH),
  }
  const finalizedAtEndOf = (epoch: number) => epoch - 1
  const rules = { churn: RULES, slotsPerEpoch: 32, perEpochMax: 16, finalizedAtEndOf }
  return [...clearEpochs(columns, { epoch: EPOCH, carriedGwei: 0n, totalActiveGwei: ACTIVE_GWEI }, rules)]
}

test.each([
  { what: 'the first of 100', amounts: Array<number>(100).fill(32), nth: 1, clear: 420_001, active: 420_008 },
  { what: 'the eighth of 100', amounts: Array<number>(100).fill(32), nth: 8, clear: 420_001, active: 420_008 },
  { what: 'the ninth of 100', amounts: Array<number>(100).fill(32), nth: 9, clear: 420_002, active: 420_009 },
  { what: 'the last of 100', amounts: Array<number>(100).fill(32), nth: 100, clear: 420_013, active: 420_020 },
  { what: 'the 17th of 1 ETH', amounts: Array<number>(17).fill(1), nth: 17, clear: 420_002, active: 420_009 },
  { what: 'one of 2048 ETH', amounts: [2_048], nth: 1, clear: 420_008, active: 420_015 },
  {
    what: 'one of this epoch',
    amounts: [32],
    nth: 1,
    clear: 420_003,
    active: 420_010,
    slot: EPOCH * SLOTS_PER_EPOCH + 16,
  },
])('$what is cleared in $clear and active in $active', ({ amounts: queued, nth, clear, active, slot }) => {
  const cleared = clearOf(queued, slot)[nth - 1] as number
  expect(cleared).toBe(clear)
  expect(activationEpochAfter(cleared, { finalityLag: 1, seedLookahead: 4 })).toBe(active)
})

test.each([
  { what: 'nobody waits', earliest: 0, leftEth: 0n, eth: 32n, gloas: false, exit: 420_005 },
  { what: 'what is left suffices', earliest: 425_000, leftEth: 32n, eth: 32n, gloas: false, exit: 425_000 },
  { what: 'one less is left', earliest: 425_000, leftEth: 31n, eth: 32n, gloas: false, exit: 425_001 },
  { what: 'the largest, Fulu', earliest: 425_000, leftEth: 0n, eth: 2_048n, gloas: false, exit: 425_008 },
  { what: 'the largest, Gloas', earliest: 425_000, leftEth: 0n, eth: 2_048n, gloas: true, exit: 425_002 },
])('an exit when $what gets epoch $exit', ({ earliest, leftEth, eth, gloas, exit }) => {
  const { exitGwei } = churnLimits(gloas ? { ...RULES, gloas: { ...GLOAS, fromEpoch: 0 } } : RULES, EPOCH, ACTIVE_GWEI)
  const queue = { earliestEpoch: earliest, leftGwei: leftEth * GWEI_PER_ETH }
  const at = { currentEpoch: EPOCH, limitGwei: exitGwei, seedLookahead: 4 }
  expect(joinChurnQueue(queue, eth * GWEI_PER_ETH, at).earliestEpoch).toBe(exit)
})

const SWEEP = { perBlockMax: 16, partialsPerBlockMax: 8, examinedPerBlockMax: 16_384 }

test.each([
  { what: 'few are eligible', state: { registrySize: 1_000_000, eligible: 100, partials: 0 }, slots: 62 },
  { what: 'all are eligible', state: { registrySize: 1_000_000, eligible: 960_000, partials: 0 }, slots: 60_000 },
  { what: 'partial withdrawals crowd', state: { registrySize: 1_000, eligible: 960, partials: 9_000 }, slots: 120 },
  { what: 'nobody is eligible', state: { registrySize: 500, eligible: 0, partials: 0 }, slots: 1 },
])('the sweep takes $slots slots when $what', ({ state, slots }) => {
  expect(sweepCycleSlots(SWEEP, { slot: 0, position: 0, ...state })).toBe(slots)
})

test.each([
  { what: 'ahead of the sweep', validatorIndex: 300, fromSlot: 0, slot: 1_020, errorSlots: 5 },
  { what: 'just behind it', validatorIndex: 199, fromSlot: 0, slot: 1_100, errorSlots: 25 },
  { what: 'at it when it may be paid', validatorIndex: 350, fromSlot: 1_030, slot: 1_030, errorSlots: 8 },
  { what: 'more than a cycle away', validatorIndex: 350, fromSlot: 1_500, slot: 1_550, errorSlots: 50 },
])('tells the slot of a validator $what', ({ validatorIndex, fromSlot, slot, errorSlots }) => {
  const state = { slot: 1_000, position: 200, registrySize: 500, eligible: 1_600, partials: 0 }
  expect(estimateSweep(SWEEP, state, { validatorIndex, fromSlot })).toEqual({ slot, errorSlots })
})
