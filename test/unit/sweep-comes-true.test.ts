import { ForkSeq, SLOTS_PER_EPOCH } from '@lodestar/params'
import {
  type CachedBeaconStateElectra,
  type CachedBeaconStateFulu,
  getExpectedWithdrawals,
} from '@lodestar/state-transition'
import { processWithdrawals } from '@lodestar/state-transition/block'
import { ssz } from '@lodestar/types'
import { beforeAll, expect, test } from 'vitest'
import { createGenesis } from '../../infra/devnet/consensus/genesis.ts'
import { seededRandom } from '../../infra/devnet/consensus/random.ts'
import { estimateSweep, type SweepEstimate, sweepCycleSlots } from '../../schemas/eth/withdrawal-sweep.ts'
import { openSyntheticEngine } from '../devnet/synthetic-engine.ts'

// When validators are swept that leave, compared with the library's process_withdrawals, slot by slot over several cycles.

const VALIDATORS = 4_000
const LEAVING = 100
const FIRST_EPOCH = 1_000
const EPOCHS = 24
/** Withdrawable epochs of those who leave lie in so many epochs from the first one on. */
const EPOCHS_LEAVING = 14
/** A stretch of the registry that has no withdrawal address: the sweep hurries over it. */
const WITHOUT_ADDRESS = { from: 1_000, to: 1_600 }
const GWEI_32_ETH = 32_000_000_000
const EPOCH_REWARD_GWEI = 10_000
const MISSED = 0.01
const FAR = Number.POSITIVE_INFINITY
const RULES = { perBlockMax: 16, partialsPerBlockMax: 8, examinedPerBlockMax: 16_384 }

let state: CachedBeaconStateFulu
const random = seededRandom('sweep', 'registry')
/** Withdrawable epochs by index. */
const leaving = new Map<number, number>()

beforeAll(async () => {
  const genesisTimeSec = 1_700_000_000
  const engine = await openSyntheticEngine({ genesisTimeSec })
  const { chainId, depositContractAddress } = engine
  const facts = { genesisTimeSec, chainId, depositContractAddress, validators: 64 }
  state = createGenesis({ seed: 'sweep', facts, engine }).state.clone()
  const members = Array.from({ length: VALIDATORS }, (_, index) => makeValidator(index))
  state.validators = ssz.phase0.Validators.toViewDU(members.map(({ validator }) => validator))
  state.balances = ssz.phase0.Balances.toViewDU(members.map(({ balance }) => balance))
  state.nextWithdrawalValidatorIndex = 3_000
  moveTo(FIRST_EPOCH * SLOTS_PER_EPOCH)
})

function makeValidator(index: number) {
  const { from, to } = WITHOUT_ADDRESS
  const hasAddress = index < from || index >= to
  const isLeaving = hasAddress && leaving.size < LEAVING && random() < (1.5 * LEAVING) / VALIDATORS
  const withdrawableEpoch = isLeaving ? FIRST_EPOCH + Math.floor(random() * EPOCHS_LEAVING) : FAR
  if (isLeaving) leaving.set(index, withdrawableEpoch)
  const isFull = random() < 0.8
  return {
    balance: isFull ? GWEI_32_ETH + Math.floor(random() * 1e7) : GWEI_32_ETH - 5e8,
    validator: {
      ...ssz.phase0.Validator.defaultValue(),
      pubkey: new Uint8Array(48),
      withdrawalCredentials: new Uint8Array(32).fill(hasAddress ? 1 : 0, 0, 1),
      effectiveBalance: GWEI_32_ETH,
      exitEpoch: isLeaving ? withdrawableEpoch - 256 : FAR,
      withdrawableEpoch,
    },
  }
}

function moveTo(slot: number): void {
  state.slot = slot
  state.epochCtx.epoch = Math.floor(slot / SLOTS_PER_EPOCH)
}

/** Whom the sweep would pay now. */
function eligible(): number {
  const balances = state.balances.getAll()
  return state.validators.getAllReadonlyValues().filter(({ withdrawableEpoch, withdrawalCredentials }, index) => {
    const balance = balances[index] as number
    const isDue = withdrawableEpoch <= state.epochCtx.epoch ? balance > 0 : balance > GWEI_32_ETH
    return withdrawalCredentials[0] === 1 && isDue
  }).length
}

test('validators that leave are swept when they were estimated to be, within half a cycle', () => {
  const registrySize = VALIDATORS
  const now = { registrySize, eligible: eligible(), partials: 0, slot: state.slot, position: 3_000 }
  const cycleSlots = sweepCycleSlots(RULES, now)
  const estimates = new Map<number, SweepEstimate>()
  for (const [validatorIndex, withdrawableEpoch] of leaving) {
    const fromSlot = withdrawableEpoch * SLOTS_PER_EPOCH
    estimates.set(validatorIndex, estimateSweep(RULES, now, { validatorIndex, fromSlot }))
  }
  const swept = playSweep()
  expect(swept.size).toBe(LEAVING)
  const errors = [...swept].map(([index, slot]) => {
    const { slot: estimated, errorSlots } = estimates.get(index) as SweepEstimate
    return { error: Math.abs(estimated - slot), errorSlots }
  })
  const mean = errors.reduce((sum, { error }) => sum + error, 0) / errors.length
  const within = errors.filter(({ error }) => error <= cycleSlots / 2).length
  process.stdout.write(
    `sweeps: a cycle has ${cycleSlots} slots, mean error ${mean.toFixed(1)}, ${within} of ${errors.length} within half a cycle\n`,
  )
  expect(within / errors.length).toBeGreaterThanOrEqual(0.95)
  const inBand = errors.filter(({ error, errorSlots }) => error <= errorSlots).length
  expect(inBand / errors.length).toBeGreaterThanOrEqual(0.9)
})

/** Slots in which those who leave are paid all that they have, by index. */
function playSweep(): Map<number, number> {
  const missing = seededRandom('sweep', 'missed slots')
  const swept = new Map<number, number>()
  // The library's types do not know that a state of Fulu has all that one of Electra has.
  const asElectra = state as unknown as CachedBeaconStateElectra
  for (let slot = state.slot + 1; slot < (FIRST_EPOCH + EPOCHS) * SLOTS_PER_EPOCH; slot++) {
    moveTo(slot)
    if (slot % SLOTS_PER_EPOCH === 0) payRewards()
    if (missing() < MISSED) continue
    const { expectedWithdrawals } = getExpectedWithdrawals(ForkSeq.fulu, asElectra)
    const payload = { ...ssz.deneb.ExecutionPayload.defaultValue(), withdrawals: expectedWithdrawals }
    processWithdrawals(ForkSeq.fulu, asElectra, payload)
    for (const { validatorIndex } of expectedWithdrawals) {
      const isLeft = (leaving.get(validatorIndex) ?? FAR) <= state.epochCtx.epoch
      if (isLeft && !swept.has(validatorIndex)) swept.set(validatorIndex, slot)
    }
  }
  return swept
}

function payRewards(): void {
  const balances = state.balances.getAll().map((balance) => (balance === 0 ? 0 : balance + EPOCH_REWARD_GWEI))
  state.balances = ssz.phase0.Balances.toViewDU(balances)
}
