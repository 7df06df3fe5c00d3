type Column = Uint8Array | Uint16Array | Uint32Array | Float64Array

/**
 * Gives back the memory of columns, which are empty afterwards: to be called by their only owner, behind the last that is read of them.
 * Those of several epochs would lie there until the garbage is collected. A column that is a part of another memory stays.
 */
export function giveBack(columns: readonly Column[]): void {
  for (const { buffer, byteLength } of columns)
    if (byteLength > 0 && byteLength === buffer.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0)
}
