// Loaded before all else (node --import), memory that is given back is not taken but filled: what is still read of it shows in every figure,
// where an empty column would count as 0 and one that is refused would hide what else is read.

const FILLER = 0xff
const { transfer } = ArrayBuffer.prototype

ArrayBuffer.prototype.transfer = function poison(this: ArrayBuffer, bytes?: number): ArrayBuffer {
  if (bytes !== 0 && bytes !== undefined) return transfer.call(this, bytes)
  new Uint8Array(this).fill(FILLER)
  if (bytes === 0) return new ArrayBuffer(0)
  // Moved as a whole, it is to be lent again: its next owner finds the filler, too.
  return this.slice(0)
}
