/** A repeatable number in [0, 1) for a validator and a variant, without a pattern that would compress (murmur3's finalizer). */
export function noise(index: number, variant: number): number {
  let mixed = Math.imul(index + 1, 0x9e3779b1) ^ Math.imul(variant + 1, 0x85ebca77)
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32
}
