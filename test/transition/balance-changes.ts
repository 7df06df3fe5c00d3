import assert from 'node:assert/strict'
import type { CachedBeaconStateAllForks } from '@lodestar/state-transition'

/**
 * Where a balance changes. Steps of the transition into an epoch: `source` to `upgrade_fulu`; steps of a block: the others.
 * `slashings` is the correlation penalty; `proposer_slashing` and `attester_slashing` are the initial ones, `slashing_report` is
 * what the block's proposer gets for them; `sync_aggregate` is what the committee's seats get and pay, `sync_proposer` what the
 * block's proposer gets for them. Each attestation, slashing, deposit and request of a block is recorded alone.
 */
export type Step =
  | 'source'
  | 'target'
  | 'head'
  | 'inactivity'
  | 'slashings'
  | 'pending_deposits'
  | 'pending_consolidations'
  | 'upgrade_bellatrix'
  | 'upgrade_capella'
  | 'upgrade_deneb'
  | 'upgrade_electra'
  | 'upgrade_fulu'
  | 'withdrawals'
  | 'proposer_slashing'
  | 'attester_slashing'
  | 'slashing_report'
  | 'attestation'
  | 'deposit'
  | 'consolidation_request'
  | 'sync_aggregate'
  | 'sync_proposer'

export interface BalanceChange {
  /** First slot of the epoch for steps of the transition, the block's for the others. */
  readonly slot: number
  readonly step: Step
  readonly validatorIndex: number
  /** Never 0. */
  readonly gwei: bigint
}

/** The balances of a state as they were when last looked at, and the changes that were recorded since they were last taken. */
export class BalanceChanges {
  #balances: number[]
  #changes: BalanceChange[] = []

  constructor(state: CachedBeaconStateAllForks) {
    this.#balances = state.balances.getAll()
  }

  /** As last looked at. */
  balance(validatorIndex: number): number {
    return this.#balances[validatorIndex] ?? 0
  }

  /** What has changed since the last look. */
  record(state: CachedBeaconStateAllForks, step: Step, slot = state.slot): void {
    const balances = state.balances.getAll()
    for (const [validatorIndex, balance] of balances.entries()) {
      const gwei = balance - this.balance(validatorIndex)
      if (gwei !== 0) this.#changes.push({ slot, step, validatorIndex, gwei: BigInt(gwei) })
    }
    this.#balances = balances
  }

  /** A part of what the next look is going to find. */
  recordPart({
    slot,
    step,
    validatorIndex,
    gwei,
  }: {
    slot: number
    step: Step
    validatorIndex: number
    gwei: number
  }): void {
    if (gwei !== 0) this.#changes.push({ slot, step, validatorIndex, gwei: BigInt(gwei) })
    this.#balances[validatorIndex] = this.balance(validatorIndex) + gwei
  }

  /** Throws where something has changed since the last look that no step accounts for. */
  assertComplete(state: CachedBeaconStateAllForks): void {
    for (const [index, balance] of state.balances.getAll().entries()) {
      assert.equal(balance, this.balance(index), `the balance of validator ${index} at slot ${state.slot}`)
    }
  }

  take(): BalanceChange[] {
    const taken = this.#changes
    this.#changes = []
    return taken
  }
}
