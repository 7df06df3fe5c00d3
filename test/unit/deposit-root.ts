import { createHash } from 'node:crypto'

const TREE_DEPTH = 32

/**
 * What `get_deposit_root` has to say after deposits with these data roots, in this order: hash tree root of the list of at most
 * 2^32 of them (consensus-specs, deposit-contract.md). Taken level by level over all leaves, as the contract does not.
 */
export function depositRootOf(dataRoots: readonly Uint8Array[]): Uint8Array {
  let level = [...dataRoots]
  let empty: Uint8Array = new Uint8Array(32)
  for (let depth = 0; depth < TREE_DEPTH; depth++) {
    const padding = empty
    const parents = Array.from({ length: Math.ceil(level.length / 2) }, (_, index) =>
      sha256(level[2 * index] ?? padding, level[2 * index + 1] ?? padding),
    )
    level = parents
    empty = sha256(empty, empty)
  }
  return sha256(level[0] ?? empty, littleEndian64(dataRoots.length), new Uint8Array(24))
}

/** The contract's way to write numbers: 8 bytes. */
export function littleEndian64(value: number | bigint): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value), true)
  return bytes
}

function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return new Uint8Array(hash.digest())
}
