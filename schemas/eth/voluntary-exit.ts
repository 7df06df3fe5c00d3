import { computeDomain, sha256, uint64Chunk } from './signing-root.ts'

/** consensus-specs, DOMAIN_VOLUNTARY_EXIT: 4 bytes. */
const DOMAIN_VOLUNTARY_EXIT = Uint8Array.of(0x04, 0, 0, 0)

/** What a validator signs to leave: `VoluntaryExit` of the consensus specification. */
export interface VoluntaryExit {
  /** The exit counts from this epoch on. */
  readonly epoch: number
  readonly validatorIndex: number
}

/** A voluntary exit as a node takes it. */
export interface SignedVoluntaryExit extends VoluntaryExit {
  /** 96 bytes, lower-case hex. */
  readonly signature: string
}

/** The body of `POST /eth/v1/beacon/pool/voluntary_exits` (Beacon API). */
export function voluntaryExitBody({ epoch, validatorIndex, signature }: SignedVoluntaryExit): string {
  return JSON.stringify({ message: { epoch: String(epoch), validator_index: String(validatorIndex) }, signature })
}

/** 32 bytes: hash tree root of `VoluntaryExit` (consensus-specs, phase0). Throws RangeError for a number that is no uint64. */
export function voluntaryExitRoot({ epoch, validatorIndex }: VoluntaryExit): Uint8Array {
  return sha256(uint64Chunk(BigInt(epoch)), uint64Chunk(BigInt(validatorIndex)))
}

/**
 * 32 bytes: the domain that exits are signed with. From Deneb on it is of Capella's fork version (4 bytes) in every fork, so that an
 * exit is good for ever (EIP-7044; consensus-specs, deneb process_voluntary_exit).
 */
export function voluntaryExitDomain(capellaForkVersion: Uint8Array, genesisValidatorsRoot: Uint8Array): Uint8Array {
  return computeDomain(DOMAIN_VOLUNTARY_EXIT, capellaForkVersion, genesisValidatorsRoot)
}

/**
 * The exit that a validator signs, always the same one: it is dated with the first epoch in which it may leave, which has passed when it
 * is signed. The epoch of the moment would be refused where a node is an epoch behind.
 */
export function voluntaryExitOf(
  { index, activationEpoch }: { readonly index: number; readonly activationEpoch: number },
  shardCommitteePeriodEpochs: number,
): VoluntaryExit {
  return { epoch: activationEpoch + shardCommitteePeriodEpochs, validatorIndex: index }
}
