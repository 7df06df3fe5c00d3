import { ForkSeq, MAX_VOLUNTARY_EXITS, SLOTS_PER_EPOCH, WHISTLEBLOWER_REWARD_QUOTIENT_ELECTRA } from '@lodestar/params'
import {
  type CachedBeaconStateFulu,
  getVoluntaryExitValidity,
  isSlashableValidator,
  VoluntaryExitValidity,
} from '@lodestar/state-transition'
import type { electra, phase0 } from '@lodestar/types'
import type { Incident } from '../scenario.ts'
import { seededBytes } from './random.ts'
import type { Signer } from './signer.ts'

/** The operations of a block that are neither attestations nor from the execution side. */
export interface Operations {
  readonly proposerSlashings: phase0.ProposerSlashing[]
  readonly attesterSlashings: electra.AttesterSlashing[]
  readonly voluntaryExits: phase0.SignedVoluntaryExit[]
}

export const noOperations: Operations = { proposerSlashings: [], attesterSlashings: [], voluntaryExits: [] }

export function isValidExit(
  state: CachedBeaconStateFulu,
  exit: phase0.SignedVoluntaryExit,
  options: { readonly verifySignature: boolean },
): boolean {
  return exitFault(state, exit, options) === undefined
}

/** Why a block with this exit would not be valid, as process_voluntary_exit finds it; undefined where it would. */
export function exitFault(
  state: CachedBeaconStateFulu,
  exit: phase0.SignedVoluntaryExit,
  { verifySignature }: { readonly verifySignature: boolean },
): string | undefined {
  const validity = getVoluntaryExitValidity(ForkSeq.fulu, state, exit, verifySignature)
  return validity === VoluntaryExitValidity.valid ? undefined : validity
}

/** What the proposer of a slashing block gets for it, in gwei (consensus-specs electra, slash_validator). */
export function slashingReward(effectiveBalanceGwei: number): number {
  return Math.floor(effectiveBalanceGwei / WHISTLEBLOWER_REWARD_QUOTIENT_ELECTRA)
}

/** Two signed headers of one slot, with different bodies. */
function proposerSlashing(seed: string, slot: number, validator: number, signer: Signer): phase0.ProposerSlashing {
  const signed = (label: string) => {
    const message: phase0.BeaconBlockHeaderBigint = {
      slot: BigInt(slot),
      proposerIndex: validator,
      parentRoot: seededBytes(seed, `slashed parent ${slot}`),
      stateRoot: seededBytes(seed, `slashed state ${slot} ${label}`),
      bodyRoot: seededBytes(seed, `slashed body ${slot} ${label}`),
    }
    return { message, signature: signer.header(message) }
  }
  return { signedHeader1: signed('first'), signedHeader2: signed('second') }
}

/** A double vote: two attestations of one validator with one target epoch and different heads. */
function attesterSlashing(seed: string, slot: number, validator: number, signer: Signer): electra.AttesterSlashing {
  const epoch = BigInt(Math.floor(slot / SLOTS_PER_EPOCH))
  const vote = (label: string): electra.IndexedAttestationBigint => ({
    attestingIndices: [validator],
    data: {
      slot: BigInt(slot),
      index: 0n,
      beaconBlockRoot: seededBytes(seed, `double vote ${slot} ${label}`),
      source: { epoch: epoch > 0n ? epoch - 1n : 0n, root: seededBytes(seed, `double vote source ${slot}`) },
      target: { epoch, root: seededBytes(seed, `double vote target ${slot} ${label}`) },
    },
    signature: signer.aggregate(`double vote ${slot} ${label}`),
  })
  return { attestation1: vote('first'), attestation2: vote('second') }
}

/** Plays the scenario's slashings and exits: each once, in the first block from its slot on that can contain it. */
export class IncidentQueue {
  readonly #seed: string
  readonly #signer: Signer
  #waiting: Incident[]

  /** `waiting`: those of the scenario that are still to be played. */
  constructor(seed: string, waiting: readonly Incident[], signer: Signer) {
    this.#seed = seed
    this.#signer = signer
    this.#waiting = [...waiting]
  }

  get waiting(): readonly Incident[] {
    return this.#waiting
  }

  /** The operations for a block of the state's slot; what is given is not given again. */
  take(state: CachedBeaconStateFulu): Operations {
    const operations: Operations = { proposerSlashings: [], attesterSlashings: [], voluntaryExits: [] }
    this.#waiting = this.#waiting.filter((incident) => !this.#play(incident, state, operations))
    return operations
  }

  #play(incident: Incident, state: CachedBeaconStateFulu, operations: Operations): boolean {
    if (!('validator' in incident) || incident.slot > state.slot) return false
    const { validator } = incident
    if (incident.kind === 'voluntary_exit') {
      const message = { epoch: state.epochCtx.epoch, validatorIndex: validator }
      const exit = { message, signature: this.#signer.voluntaryExit(message) }
      if (!isValidExit(state, exit, { verifySignature: false })) return false
      if (operations.voluntaryExits.length === MAX_VOLUNTARY_EXITS) return false
      operations.voluntaryExits.push(exit)
      return true
    }
    // One slashing per block keeps each one's effect apart.
    if (operations.proposerSlashings.length + operations.attesterSlashings.length > 0) return false
    if (!isSlashableValidator(state.validators.getReadonly(validator), state.epochCtx.epoch)) return false
    const slot = state.slot - 1
    if (incident.kind === 'proposer_slashing')
      operations.proposerSlashings.push(proposerSlashing(this.#seed, slot, validator, this.#signer))
    else operations.attesterSlashings.push(attesterSlashing(this.#seed, slot, validator, this.#signer))
    return true
  }
}
