import { computeDomain, requireLength, sha256, uint64Chunk } from './signing-root.ts'

// SSZ hash tree roots of a deposit's containers, written out for their fixed shapes: no library on the way of a hundred validators.

/** consensus-specs, DOMAIN_DEPOSIT: 4 bytes. */
const DOMAIN_DEPOSIT = Uint8Array.of(0x03, 0, 0, 0)

const CHUNK_BYTES = 32
const PUBKEY_BYTES = 48
const SIGNATURE_BYTES = 96
const ZERO_CHUNK = new Uint8Array(CHUNK_BYTES)

/** What a depositor signs: `DepositMessage` of the consensus specification. */
export interface DepositMessage {
  /** 48 bytes: compressed BLS public key. */
  readonly pubkey: Uint8Array
  /** 32 bytes. */
  readonly withdrawalCredentials: Uint8Array
  /** uint64. */
  readonly amountGwei: bigint
}

/** 32 bytes: hash tree root of `DepositMessage` (consensus-specs, phase0). Throws RangeError for a field of another length. */
export function depositMessageRoot(message: DepositMessage): Uint8Array {
  return sha256(messageFieldsRoot(message), sha256(uint64Chunk(message.amountGwei), ZERO_CHUNK))
}

/**
 * 32 bytes: hash tree root of `DepositData`, which the deposit contract compares with what it is called with (consensus-specs,
 * solidity_deposit_contract). Throws RangeError for a field of another length; `signature` has 96 bytes.
 */
export function depositDataRoot(message: DepositMessage, signature: Uint8Array): Uint8Array {
  requireLength('a signature', signature, SIGNATURE_BYTES)
  const signatureRoot = sha256(sha256(signature.subarray(0, 64)), sha256(signature.subarray(64), ZERO_CHUNK))
  return sha256(messageFieldsRoot(message), sha256(uint64Chunk(message.amountGwei), signatureRoot))
}

/**
 * 32 bytes: the domain that deposits are signed with. It is of the fork version that the chain began with (4 bytes) and of no
 * genesis validators root, so it stays the same in every fork (consensus-specs, compute_domain in process_deposit).
 */
export function depositDomain(genesisForkVersion: Uint8Array): Uint8Array {
  return computeDomain(DOMAIN_DEPOSIT, genesisForkVersion, ZERO_CHUNK)
}

/** Root over the first two of the four leaves, which both containers have in common. */
function messageFieldsRoot({ pubkey, withdrawalCredentials }: DepositMessage): Uint8Array {
  requireLength('a public key', pubkey, PUBKEY_BYTES)
  requireLength('withdrawal credentials', withdrawalCredentials, CHUNK_BYTES)
  return sha256(sha256(pubkey, ZERO_CHUNK.subarray(0, 2 * CHUNK_BYTES - PUBKEY_BYTES)), withdrawalCredentials)
}
