import { hash } from 'node:crypto'

// SSZ hash tree roots of a deposit's containers, written out for their fixed shapes: no library on the way of a hundred validators.

/** consensus-specs, DOMAIN_DEPOSIT: 4 bytes. */
const DOMAIN_DEPOSIT = Uint8Array.of(0x03, 0, 0, 0)

const CHUNK_BYTES = 32
const FORK_VERSION_BYTES = 4
const PUBKEY_BYTES = 48
const SIGNATURE_BYTES = 96
const ZERO_CHUNK = new Uint8Array(CHUNK_BYTES)
const AMOUNT_GWEI_MAX = 2n ** 64n - 1n

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
  return sha256(messageFieldsRoot(message), sha256(amountChunk(message.amountGwei), ZERO_CHUNK))
}

/**
 * 32 bytes: hash tree root of `DepositData`, which the deposit contract compares with what it is called with (consensus-specs,
 * solidity_deposit_contract). Throws RangeError for a field of another length; `signature` has 96 bytes.
 */
export function depositDataRoot(message: DepositMessage, signature: Uint8Array): Uint8Array {
  requireLength('a signature', signature, SIGNATURE_BYTES)
  const signatureRoot = sha256(sha256(signature.subarray(0, 64)), sha256(signature.subarray(64), ZERO_CHUNK))
  return sha256(messageFieldsRoot(message), sha256(amountChunk(message.amountGwei), signatureRoot))
}

/**
 * 32 bytes: the domain that deposits are signed with. It is of the fork version that the chain began with (4 bytes) and of no
 * genesis validators root, so it stays the same in every fork (consensus-specs, compute_domain in process_deposit).
 */
export function depositDomain(genesisForkVersion: Uint8Array): Uint8Array {
  requireLength('a fork version', genesisForkVersion, FORK_VERSION_BYTES)
  const forkDataRoot = sha256(chunkOf(genesisForkVersion), ZERO_CHUNK)
  return joined(DOMAIN_DEPOSIT, forkDataRoot.subarray(0, CHUNK_BYTES - DOMAIN_DEPOSIT.length))
}

/** 32 bytes: what is signed for an object of this root (32 bytes) in this domain (32 bytes): root of `SigningData`. */
export function signingRoot(objectRoot: Uint8Array, domain: Uint8Array): Uint8Array {
  requireLength('an object root', objectRoot, CHUNK_BYTES)
  requireLength('a domain', domain, CHUNK_BYTES)
  return sha256(objectRoot, domain)
}

/** Root over the first two of the four leaves, which both containers have in common. */
function messageFieldsRoot({ pubkey, withdrawalCredentials }: DepositMessage): Uint8Array {
  requireLength('a public key', pubkey, PUBKEY_BYTES)
  requireLength('withdrawal credentials', withdrawalCredentials, CHUNK_BYTES)
  return sha256(sha256(pubkey, ZERO_CHUNK.subarray(0, 2 * CHUNK_BYTES - PUBKEY_BYTES)), withdrawalCredentials)
}

function amountChunk(amountGwei: bigint): Uint8Array {
  if (amountGwei < 0n || amountGwei > AMOUNT_GWEI_MAX) throw new RangeError(`${amountGwei} gwei is no uint64`)
  const chunk = new Uint8Array(CHUNK_BYTES)
  new DataView(chunk.buffer).setBigUint64(0, amountGwei, true)
  return chunk
}

function chunkOf(bytes: Uint8Array): Uint8Array {
  const chunk = new Uint8Array(CHUNK_BYTES)
  chunk.set(bytes)
  return chunk
}

function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(hash('sha256', joined(...parts), 'buffer'))
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts)
}

function requireLength(what: string, bytes: Uint8Array, length: number): void {
  if (bytes.length !== length) throw new RangeError(`${what} has ${length} bytes, not ${bytes.length}`)
}
