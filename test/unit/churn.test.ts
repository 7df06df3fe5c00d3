import { type BeaconConfig, createBeaconConfig } from '@lodestar/config'
import { MAX_PENDING_DEPOSITS_PER_EPOCH, MAX_SEED_LOOKAHEAD, SLOTS_PER_EPOCH } from '@lodestar/params'
import {
  type CachedBeaconStateElectra,
  type CachedBeaconStateFulu,
  computeConsolidationEpochAndUpdateChurn,
  computeExitEpochAndUpdateChurn,
  createCachedBeaconState,
  createPubkeyCache,
} from '@lodestar/state-transition'
import { initiateValidatorExit } from '@lodestar/state-transition/block'
import { processPendingDeposits } from '@lodestar/state-transition/epoch'
import { ssz } from '@lodestar/types'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { createGenesis } from '../../infra/devnet/consensus/genesis.ts'
import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import { approximateExitQueue, type ChurnRules, churnLimits, joinChurnQueue } from '../../schemas/eth/churn.ts'
import { FAR_FUTURE_EPOCH } from '../../schemas/eth/far-future.ts'
import { clearEpochs } from '../../schemas/eth/pending-deposits.ts'
import { openSyntheticEngine } from '../devnet/synthetic-engine.ts'
import { tries } from '../long-form.ts'

const VALIDATORS = 64
const GENESIS_TIME_SEC = 1_700_000_000
const GWEI_PER_ETH = 1_000_000_000n
/** The epoch that every random state is of; Gloas begins around it or never. */
const EPOCH = 420_000
const CASES = 10_000

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

function rulesWithGloas(fromEpoch: number | undefined): ChurnRules {
  return fromEpoch === undefined ? RULES : { ...RULES, gloas: { ...GLOAS, fromEpoch } }
}

let config: BeaconConfig
let genesis: CachedBeaconStateFulu
beforeAll(async () => {
  const engine = await openSyntheticEngine({ genesisTimeSec: GENESIS_TIME_SEC })
  const { chainId, depositContractAddress } = engine
  const facts = { genesisTimeSec: GENESIS_TIME_SEC, chainId, depositContractAddress, validators: VALIDATORS }
  const made = createGenesis({ seed: 'churn', facts, engine })
  config = made.config
  genesis = made.state
})

const states = new Map<number | undefined, CachedBeaconStateFulu>()

/** A state of its own at the start of `EPOCH`, of a chain with so much active balance that forks at this epoch. */
function stateWith({ gloasEpoch, activeEth }: { gloasEpoch: number | undefined; activeEth: number }) {
  let cached = states.get(gloasEpoch)
  if (cached === undefined) {
    const forking = { ...config, GLOAS_FORK_EPOCH: gloasEpoch ?? Number.POSITIVE_INFINITY }
    const view = ssz.fulu.BeaconState.deserializeToViewDU(genesis.serialize())
    const immutable = {
      config: createBeaconConfig(forking, genesis.genesisValidatorsRoot),
      pubkeyCache: createPubkeyCache(),
    }
    cached = createCachedBeaconState(view, immutable) as CachedBeaconStateFulu
    states.set(gloasEpoch, cached)
  }
  const state = cached.clone()
  moveTo(state, EPOCH)
  state.epochCtx.totalActiveBalanceIncrements = activeEth
  return state
}

/** The library's types do not know that a state of Fulu has all that one of Electra has. */
function asElectra(state: CachedBeaconStateFulu): CachedBeaconStateElectra {
  return state as unknown as CachedBeaconStateElectra
}

/** The last slot of the epoch: transitions of the epoch begin there. */
function moveTo(state: CachedBeaconStateFulu, epoch: number): void {
  state.slot = epoch * SLOTS_PER_EPOCH + SLOTS_PER_EPOCH - 1
  state.epochCtx.epoch = epoch
}

const gloasEpochs = fc.constantFrom(undefined, EPOCH - 7, EPOCH + 2)
const activeEths = fc.oneof(
  fc.integer({ min: 32, max: 9_000_000 }),
  fc.integer({ min: 8_300_000, max: 17_000_000 }), // where the limit grows with what is staked
  fc.integer({ min: 16_777_215, max: 60_000_000 }),
)
const amounts = fc.oneof(
  fc.constantFrom(1n, 32n, 256n, 2_048n).map((eth) => eth * GWEI_PER_ETH),
  fc.bigInt({ min: GWEI_PER_ETH, max: 2_048n * GWEI_PER_ETH }),
)

const exitCases = fc.record({
  gloasEpoch: gloasEpochs,
  activeEth: activeEths,
  earliest: fc.oneof(
    fc.integer({ min: 0, max: 9 }).map((ahead) => EPOCH + ahead),
    fc.integer({ min: 0, max: EPOCH * 2 }),
  ),
  leftGwei: fc.bigInt({ min: 0n, max: 300n * GWEI_PER_ETH }),
  asked: fc.array(
    fc.record({
      kind: fc.constantFrom('exit', 'exit', 'part', 'consolidation'),
      eth: fc.integer({ min: 1, max: 2_048 }),
    }),
    { minLength: 1, maxLength: 12 },
  ),
})

test('gives every exit and partial withdrawal the epoch that the state transition gives it, whatever is consolidated beside', () => {
  fc.assert(
    fc.property(exitCases, (given) => {
      const state = stateWith(given)
      state.earliestExitEpoch = given.earliest
      state.exitBalanceToConsume = given.leftGwei
      const limits = churnLimits(rulesWithGloas(given.gloasEpoch), EPOCH, BigInt(given.activeEth) * GWEI_PER_ETH)
      let queue = { earliestEpoch: given.earliest, leftGwei: given.leftGwei }
      given.asked.forEach(({ kind, eth }, index) => {
        const balance = BigInt(eth) * GWEI_PER_ETH
        if (kind === 'consolidation') {
          // The chain passes over it where the limit is below a validator's 32 ETH.
          if (limits.consolidationGwei > 0n) computeConsolidationEpochAndUpdateChurn(asElectra(state), balance)
          return
        }
        const at = { currentEpoch: EPOCH, limitGwei: limits.exitGwei, seedLookahead: MAX_SEED_LOOKAHEAD }
        queue = joinChurnQueue(queue, balance, at)
        expect(queue.earliestEpoch, `${kind} ${index}`).toBe(leaveInState(state, { kind, index, eth }))
      })
      expect(queue).toEqual({ earliestEpoch: state.earliestExitEpoch, leftGwei: state.exitBalanceToConsume })
    }),
    { numRuns: CASES },
  )
})

/** The epoch that a whole exit gets, or what process_withdrawal_request takes of the same limit for a part of a balance. */
function leaveInState(
  state: CachedBeaconStateFulu,
  { kind, index, eth }: { readonly kind: string; readonly index: number; readonly eth: number },
): number {
  if (kind === 'part') return computeExitEpochAndUpdateChurn(asElectra(state), BigInt(eth) * GWEI_PER_ETH)
  const validator = state.validators.get(index)
  validator.effectiveBalance = eth * Number(GWEI_PER_ETH)
  initiateValidatorExit(state.config.getForkSeq(state.slot), state, validator)
  return state.validators.getReadonly(index).exitEpoch
}

test('consolidations wait in a queue of their own', () => {
  const consolidationCases = fc.record({
    gloasEpoch: gloasEpochs,
    activeEth: fc.integer({ min: 16_900_000, max: 60_000_000 }), // below it the Electra limit is 0
    earliest: fc.integer({ min: EPOCH - 5, max: EPOCH + 20 }),
    leftGwei: fc.bigInt({ min: 0n, max: 300n * GWEI_PER_ETH }),
    balances: fc.array(amounts, { minLength: 1, maxLength: 6 }),
  })
  fc.assert(
    fc.property(consolidationCases, (given) => {
      const state = stateWith(given)
      state.earliestConsolidationEpoch = given.earliest
      state.consolidationBalanceToConsume = given.leftGwei
      const activeGwei = BigInt(given.activeEth) * GWEI_PER_ETH
      const limits = churnLimits(rulesWithGloas(given.gloasEpoch), EPOCH, activeGwei)
      let queue = { earliestEpoch: given.earliest, leftGwei: given.leftGwei }
      for (const balance of given.balances) {
        const epoch = computeConsolidationEpochAndUpdateChurn(asElectra(state), balance)
        const at = { currentEpoch: EPOCH, limitGwei: limits.consolidationGwei, seedLookahead: MAX_SEED_LOOKAHEAD }
        queue = joinChurnQueue(queue, balance, at)
        expect(queue.earliestEpoch).toBe(epoch)
      }
      expect(queue.leftGwei).toBe(state.consolidationBalanceToConsume)
    }),
    { numRuns: tries(CASES / 10, CASES) },
  )
})

const EXIT_DELAY = 256

/** Whose deposit it is: of a validator as it is, of one that leaves or has left (first epochs without it, from EPOCH), or of an unknown key. */
const owners = fc.oneof(
  { weight: 6, arbitrary: fc.constant('active' as const) },
  { weight: 1, arbitrary: fc.constant('unknown' as const) },
  { weight: 2, arbitrary: fc.integer({ min: -3, max: 12 }) },
)
const depositCases = fc.record({
  gloasEpoch: gloasEpochs,
  activeEth: activeEths,
  carriedGwei: fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 2_000n * GWEI_PER_ETH })),
  finalityLag: fc.integer({ min: 1, max: 4 }),
  deposits: fc.array(
    fc.record({
      amountGwei: amounts,
      owner: owners,
      /** Slots after the previous one; the first is final already. */
      later: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 40 })),
    }),
    { minLength: 1, maxLength: 60 },
  ),
})
/** After so many transitions the rest is still waiting, which is compared as well. */
const EPOCHS_PLAYED = 15

type DepositCase = typeof depositCases extends fc.Arbitrary<infer Case> ? Case : never

/** Runs the library's process_pending_deposits epoch by epoch: first epoch without the deposit in the queue, by position. */
function playDeposits(given: DepositCase, slots: readonly number[]): readonly (number | undefined)[] {
  const state = stateWith(given)
  state.depositBalanceToConsume = given.carriedGwei
  given.deposits.forEach(({ amountGwei, owner }, position) => {
    if (typeof owner === 'number') {
      const validator = state.validators.get(position)
      validator.withdrawableEpoch = EPOCH + owner
      validator.exitEpoch = EPOCH + owner - EXIT_DELAY
    }
    const deposit = ssz.electra.PendingDeposit.defaultViewDU()
    deposit.pubkey = owner === 'unknown' ? new Uint8Array(48).fill(position + 1) : pubkeyOf(position)
    deposit.amount = Number(amountGwei)
    deposit.slot = slots[position] as number
    deposit.signature = new Uint8Array(96).fill(position + 1) // names the deposit; nobody's signature
    state.pendingDeposits.push(deposit)
  })
  state.commit()
  const cleared = given.deposits.map((): number | undefined => undefined)
  for (let epoch = EPOCH; epoch < EPOCH + EPOCHS_PLAYED; epoch++) {
    moveTo(state, epoch)
    state.finalizedCheckpoint = ssz.phase0.Checkpoint.toViewDU({
      epoch: epoch - given.finalityLag,
      root: new Uint8Array(32),
    })
    processPendingDeposits(asElectra(state), { isCompoundingValidatorArr: [] } as unknown as Parameters<
      typeof processPendingDeposits
    >[1])
    state.commit()
    const waiting = new Set(state.pendingDeposits.getAllReadonly().map(({ signature }) => (signature[0] as number) - 1))
    cleared.forEach((known, position) => {
      if (known === undefined && !waiting.has(position)) cleared[position] = epoch + 1
    })
  }
  return cleared
}

test('clears every pending deposit in the epoch in which the state transition clears it', () => {
  fc.assert(
    fc.property(depositCases, (given) => {
      let slot = (EPOCH - 2) * SLOTS_PER_EPOCH
      const slots = given.deposits.map(({ later }) => {
        slot += later
        return slot
      })
      const withdrawable = given.deposits.map(({ owner }) =>
        typeof owner === 'number' ? BigInt(EPOCH + owner) : FAR_FUTURE_EPOCH,
      )
      const cleared = clearEpochs(
        {
          amountsGwei: BigUint64Array.from(given.deposits, ({ amountGwei }) => amountGwei),
          slots: BigUint64Array.from(slots, BigInt),
          withdrawableEpochs: BigUint64Array.from(withdrawable),
        },
        { epoch: EPOCH, carriedGwei: given.carriedGwei, totalActiveGwei: BigInt(given.activeEth) * GWEI_PER_ETH },
        {
          churn: rulesWithGloas(given.gloasEpoch),
          slotsPerEpoch: SLOTS_PER_EPOCH,
          perEpochMax: MAX_PENDING_DEPOSITS_PER_EPOCH,
          finalizedAtEndOf: (epoch) => epoch - given.finalityLag,
        },
      )
      const within = Array.from(cleared, (epoch) => (epoch > EPOCH + EPOCHS_PLAYED ? undefined : epoch))
      expect(within).toEqual(playDeposits(given, slots))
    }),
    { numRuns: tries(2_000, CASES) },
  )
})

test('tells the exit queue from what is scheduled within an epoch of the true one', () => {
  const exits = fc.array(fc.integer({ min: 1, max: 2_048 }), { minLength: 1, maxLength: 40 })
  fc.assert(
    fc.property(fc.record({ balancesEth: exits, activeEth: activeEths }), ({ balancesEth, activeEth }) => {
      const { exitGwei } = churnLimits(RULES, EPOCH, BigInt(activeEth) * GWEI_PER_ETH)
      const at = { currentEpoch: EPOCH, limitGwei: exitGwei, seedLookahead: 4 }
      let queue = { earliestEpoch: 0, leftGwei: 0n }
      const scheduled = balancesEth.map((eth) => {
        const balanceGwei = BigInt(eth) * GWEI_PER_ETH
        queue = joinChurnQueue(queue, balanceGwei, at)
        return { epoch: queue.earliestEpoch, balanceGwei }
      })
      const approximate = joinChurnQueue(approximateExitQueue(scheduled, exitGwei), 32n * GWEI_PER_ETH, at)
      const exact = joinChurnQueue(queue, 32n * GWEI_PER_ETH, at)
      expect(Math.abs(approximate.earliestEpoch - exact.earliestEpoch)).toBeLessThanOrEqual(1)
    }),
    { numRuns: 1_000 },
  )
})
