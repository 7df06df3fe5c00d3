import { hash } from 'node:crypto'

const UINT32_RANGE = 2 ** 32

/** A stream of numbers in [0, 1). */
export type Random = () => number

/**
 * The stream that belongs to a label under a seed (sfc32 over a SHA-256 state). Every slot has streams of its own, so what happens
 * in one slot does not shift the chance of another: leaving something out of a scenario leaves the rest as it was.
 */
export function seededRandom(seed: string, label: string): Random {
  const state = hash('sha256', `${seed}/${label}`, 'buffer')
  let a = state.readInt32LE(0)
  let b = state.readInt32LE(4)
  let c = state.readInt32LE(8)
  let counter = state.readInt32LE(12)
  return () => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    return (sum >>> 0) / UINT32_RANGE
  }
}

/** 32 bytes that belong to a label under a seed. */
export function seededBytes(seed: string, label: string): Uint8Array {
  return new Uint8Array(hash('sha256', `${seed}/${label}`, 'buffer'))
}
