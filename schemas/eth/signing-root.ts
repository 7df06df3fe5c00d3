import { hash } from 'node:crypto'

// What validators sign: SSZ hash tree roots of fixed shapes, written out, without a library.

const CHUNK_BYTES = 32
const DOMAIN_TYPE_BYTES = 4
const FORK_VERSION_BYTES = 4

/**
 * 32 bytes: the domain of a kind of message (4 bytes), a fork version (4) and a genesis validators root (32): consensus-specs,
 * compute_domain. Throws RangeError for another length.
 */
export function computeDomain(
  domainType: Uint8Array,
  forkVersion: Uint8Array,
  genesisValidatorsRoot: Uint8Array,
): Uint8Array {
  requireLength('a domain type', domainType, DOMAIN_TYPE_BYTES)
  requireLength('a fork version', forkVersion, FORK_VERSION_BYTES)
  requireLength('a genesis validators root', genesisValidatorsRoot, CHUNK_BYTES)
  const forkDataRoot = sha256(chunkOf(forkVersion), genesisValidatorsRoot)
  return Buffer.concat([domainType, forkDataRoot.subarray(0, CHUNK_BYTES - DOMAIN_TYPE_BYTES)])
}

/** 32 bytes: what is signed for an object of this root (32 bytes) in this domain (32 bytes): root of `SigningData`. */
export function signingRoot(objectRoot: Uint8Array, domain: Uint8Array): Uint8Array {
  requireLength('an object root', objectRoot, CHUNK_BYTES)
  requireLength('a domain', domain, CHUNK_BYTES)
  return sha256(objectRoot, domain)
}

const UINT64_MAX = 2n ** 64n - 1n

/** 32 bytes: a uint64 as a leaf. Throws RangeError for a number that is none. */
export function uint64Chunk(value: bigint): Uint8Array {
  if (value < 0n || value > UINT64_MAX) throw new RangeError(`${value} is no uint64`)
  const chunk = new Uint8Array(CHUNK_BYTES)
  new DataView(chunk.buffer).setBigUint64(0, value, true)
  return chunk
}

/** 32 bytes: fewer ones as a leaf. */
export function chunkOf(bytes: Uint8Array): Uint8Array {
  const chunk = new Uint8Array(CHUNK_BYTES)
  chunk.set(bytes)
  return chunk
}

export function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(hash('sha256', Buffer.concat(parts), 'buffer'))
}

export function requireLength(what: string, bytes: Uint8Array, length: number): void {
  if (bytes.length !== length) throw new RangeError(`${what} has ${length} bytes, not ${bytes.length}`)
}
