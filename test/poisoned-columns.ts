// Loaded before all else (node --import), memory that is given back is not taken but filled: what is still read of it shows in every figure,
// where an empty column would count as 0 and one that is refused would hide what else is read.

const FILLER = 0xff
const { transfer } = ArrayBuffer.prototype

ArrayBuffer.prototype.transfer = function poison(this: ArrayBuffer, bytes?: number): ArrayBuffer {
  if (bytes !== 0) return transfer.call(this, bytes)
  new Uint8Array(this).fill(FILLER)
  return new ArrayBuffer(0)
}
