import { createKeccak } from 'hash-wasm'

const hasher = await createKeccak(256)

/** Keccak-256 of bytes, 32 bytes (yellow paper, appendix B). A compiled one: ten times faster than one in JavaScript. */
export function keccak256(bytes: Uint8Array): Uint8Array {
  return hasher.init().update(bytes).digest('binary')
}
