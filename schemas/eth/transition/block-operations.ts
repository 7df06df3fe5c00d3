import type { StateDeposit } from './state-columns.ts'

/** An attestation in a block's body; one of before Electra names its committee in its data. */
export interface BlockAttestation {
  readonly slot: number
  /** Committees that the bits are of, one after the other. */
  readonly committees: readonly number[]
  /** Little-endian bits, a seat each. */
  readonly aggregationBits: Uint8Array
  readonly beaconBlockRoot: Uint8Array
  readonly targetEpoch: number
  readonly targetRoot: Uint8Array
}

export interface BlockWithdrawal {
  readonly index: number
  readonly validatorIndex: number
  readonly amountGwei: number
}

export interface ConsolidationRequest {
  /** 20 bytes. */
  readonly sourceAddress: Uint8Array
  readonly sourcePubkey: Uint8Array
  readonly targetPubkey: Uint8Array
}

/** What a block does to balances, in the order in which it does it. */
export interface BlockOperations {
  readonly slot: number
  readonly proposerIndex: number
  /** Of its execution payload; none before Capella. */
  readonly withdrawals: readonly BlockWithdrawal[]
  /** Whom proposer slashings accuse. */
  readonly proposerSlashings: readonly number[]
  /** Whom each attester slashing accuses, ascending. */
  readonly attesterSlashings: readonly (readonly number[])[]
  readonly attestations: readonly BlockAttestation[]
  /** Bridge deposits; in Electra and Fulu they join the queue instead of a balance. */
  readonly deposits: readonly StateDeposit[]
  /** Validators whose credentials the block changes to an address. */
  readonly credentialChanges: readonly number[]
  readonly consolidationRequests: readonly ConsolidationRequest[]
  /** A bit per seat. */
  readonly syncBits: Uint8Array
}

/** Public keys that a block names: whoever reads the state behind it asks for their validators. */
export function pubkeysIn({ deposits, consolidationRequests }: BlockOperations): readonly Uint8Array[] {
  return [...deposits.map(({ pubkey }) => pubkey), ...consolidationRequests.map(({ sourcePubkey }) => sourcePubkey)]
}
