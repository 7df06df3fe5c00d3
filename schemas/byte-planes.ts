// Numbers by planes of their bytes, the lowest bytes of all first: of amounts the lower ones are chance and the upper ones alike, which packs well.

export function toPlanes(bytes: Uint8Array, width: number): Uint8Array {
  if (width === 1) return bytes
  const planes = new Uint8Array(bytes.length)
  for (let plane = 0, to = 0; plane < width; plane++)
    for (let from = plane; from < bytes.length; from += width) planes[to++] = bytes[from] as number
  return planes
}

/** The bytes that such planes are made of, at the beginning of a buffer of their own. */
export function fromPlanes(planes: Uint8Array, width: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(planes.length)
  for (let plane = 0, from = 0; plane < width; plane++)
    for (let to = plane; to < bytes.length; to += width) bytes[to] = planes[from++] as number
  return bytes
}
