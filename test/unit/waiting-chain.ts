import { ForkSeq, SLOTS_PER_EPOCH } from '@lodestar/params'
import {
  beforeProcessEpoch,
  type CachedBeaconStateElectra,
  type CachedBeaconStateFulu,
  computeConsolidationEpochAndUpdateChurn,
  computeExitEpochAndUpdateChurn,
  createCachedBeaconState,
  createPubkeyCache,
} from '@lodestar/state-transition'
import { initiateValidatorExit } from '@lodestar/state-transition/block'
import {
  processEffectiveBalanceUpdates,
  processPendingDeposits,
  processRegistryUpdates,
} from '@lodestar/state-transition/epoch'
import { ssz } from '@lodestar/types'
import { createGenesis } from '../../infra/devnet/consensus/genesis.ts'
import { pubkeyOf } from '../../infra/devnet/consensus/keys.ts'
import type { Random } from '../../infra/devnet/consensus/random.ts'
import { openSyntheticEngine } from '../devnet/synthetic-engine.ts'

/** A chain of a few hundred validators whose queues are as long as they are made, run by the library's own epoch transitions. */

const GENESIS_VALIDATORS = 64
const ETH = 1_000_000_000
const FAR = Number.POSITIVE_INFINITY
export const GENESIS_TIME_SEC = 1_700_000_000
/** The epoch in which all is looked at. */
export const LOOK_EPOCH = 5_000
const EXIT_DELAY = 256

/** Ranges of the registry, [first, end); all before them stay. */
export const LEAVING = [260, 300] as const
/** They have 1 ETH each. */
export const COMING = [300, 400] as const

export type WaitingState = CachedBeaconStateFulu

/** Everybody is active in it but those who come; those who leave have no epochs yet. */
export async function baseState(): Promise<WaitingState> {
  const engine = await openSyntheticEngine({ genesisTimeSec: GENESIS_TIME_SEC })
  const { chainId, depositContractAddress } = engine
  const facts = { genesisTimeSec: GENESIS_TIME_SEC, chainId, depositContractAddress, validators: GENESIS_VALIDATORS }
  const { config, state: genesis } = createGenesis({ seed: 'waiting', facts, engine })
  const view = ssz.fulu.BeaconState.deserializeToViewDU(genesis.serialize())
  for (let index = GENESIS_VALIDATORS; index < COMING[1]; index++) {
    const eth = index < COMING[0] ? 32 : 1
    const epoch = index < COMING[0] ? 0 : FAR
    const epochs = { activationEligibilityEpoch: epoch, activationEpoch: epoch, exitEpoch: FAR, withdrawableEpoch: FAR }
    const withdrawalCredentials = new Uint8Array(32).fill(1, 0, 1)
    const rest = { withdrawalCredentials, effectiveBalance: eth * ETH, slashed: false }
    view.validators.push(ssz.phase0.Validator.toViewDU({ pubkey: pubkeyOf(index), ...rest, ...epochs }))
    view.balances.push(eth * ETH)
    view.previousEpochParticipation.push(0)
    view.currentEpochParticipation.push(0)
    view.inactivityScores.push(0)
  }
  view.commit()
  return createCachedBeaconState(view, { config, pubkeyCache: createPubkeyCache() }) as WaitingState
}

/** The library's types do not know that a state of Fulu has all that one of Electra has. */
function asElectra(state: WaitingState): CachedBeaconStateElectra {
  return state as unknown as CachedBeaconStateElectra
}

/** Within its last slot, where its transition begins. */
export function moveTo(state: WaitingState, epoch: number): void {
  state.slot = epoch * SLOTS_PER_EPOCH + SLOTS_PER_EPOCH - 1
  state.epochCtx.epoch = epoch
}

export function finalize(state: WaitingState, epoch: number): void {
  state.finalizedCheckpoint = ssz.phase0.Checkpoint.toViewDU({ epoch, root: new Uint8Array(32) })
}

/** What an epoch does to the queues at its end, in the order of process_epoch. */
export function endEpoch(state: WaitingState): void {
  state.commit()
  const cache = beforeProcessEpoch(state)
  processRegistryUpdates(ForkSeq.fulu, state, cache)
  processPendingDeposits(asElectra(state), cache)
  processEffectiveBalanceUpdates(ForkSeq.fulu, state, cache)
  state.commit()
}

/** An exit of a validator; `eth`: its effective balance. */
export function exit(state: WaitingState, index: number, eth: number): void {
  const validator = state.validators.get(index)
  validator.effectiveBalance = eth * ETH
  initiateValidatorExit(ForkSeq.fulu, state, validator)
}

/** A requested partial withdrawal of a compounding validator, as process_withdrawal_request queues it: it takes the limit of exits. */
export function withdrawPart(state: WaitingState, index: number, eth: number): void {
  const amount = BigInt(eth) * BigInt(ETH)
  const withdrawableEpoch = computeExitEpochAndUpdateChurn(asElectra(state), amount) + EXIT_DELAY
  state.pendingPartialWithdrawals.push(
    ssz.electra.PendingPartialWithdrawal.toViewDU({ validatorIndex: index, amount, withdrawableEpoch }),
  )
}

/** As process_consolidation_request does it: the source leaves by a limit of its own. */
export function consolidate(state: WaitingState, sourceIndex: number, targetIndex: number): void {
  const validator = state.validators.get(sourceIndex)
  const exitEpoch = computeConsolidationEpochAndUpdateChurn(asElectra(state), BigInt(validator.effectiveBalance))
  validator.exitEpoch = exitEpoch
  validator.withdrawableEpoch = exitEpoch + EXIT_DELAY
  state.pendingConsolidations.push(ssz.electra.PendingConsolidation.toViewDU({ sourceIndex, targetIndex }))
}

/** A validator that is on its way out, or is out already, by an epoch. */
export function leaveBy(state: WaitingState, index: number, withdrawableEpoch: number): void {
  const validator = state.validators.get(index)
  validator.exitEpoch = withdrawableEpoch - EXIT_DELAY
  validator.withdrawableEpoch = withdrawableEpoch
}

/** `index`: of a validator of the registry; undefined for a key that nobody knows, whose signature is nobody's. */
export function deposit(
  state: WaitingState,
  { index, eth, slot }: { readonly index: number | undefined; readonly eth: number; readonly slot: number },
  random: Random,
): void {
  const stranger = () => Uint8Array.from({ length: 48 }, () => Math.floor(random() * 256))
  const pubkey = index === undefined ? stranger() : pubkeyOf(index)
  state.pendingDeposits.push(
    ssz.electra.PendingDeposit.toViewDU({
      ...{ pubkey, amount: eth * ETH, slot },
      ...{ withdrawalCredentials: new Uint8Array(32).fill(1, 0, 1), signature: new Uint8Array(96) },
    }),
  )
}
