/** What nobody but its owner may see: bytes, or a text. */
export interface Secret {
  readonly name: string
  readonly value: Uint8Array | string
}

/** A place where no secret may stand. */
export interface Place {
  readonly name: string
  readonly content: Buffer
}

/** Every way in which a secret may stand somewhere without being meant to: sealed or hashed ones are none of them. */
export function formsOf(value: Uint8Array | string): readonly Buffer[] {
  const bytes = Buffer.from(value)
  const texts = typeof value === 'string' ? [value, encodeURIComponent(value)] : textsOf(bytes)
  const spelled = [...texts, ...hexOf(bytes), ...base64Of(bytes)]
  return [bytes, ...spelled.flatMap((text) => [Buffer.from(text), Buffer.from(text, 'utf16le')])]
}

/** Numbers of either order of bytes, and lists of bytes as JSON has them: arrays, and what it makes of a Uint8Array. */
function textsOf(bytes: Buffer): readonly string[] {
  const orders = [bytes, Buffer.from(bytes).reverse()]
  return orders.flatMap((order) => [
    BigInt(`0x${order.toString('hex')}`).toString(),
    order.toString('latin1'),
    ...hexOf(order),
    [...order].join(),
    [...order].join(', '),
    [...order].map((byte, at) => `"${at}":${byte}`).join(),
  ])
}

function hexOf(bytes: Buffer): readonly string[] {
  const hex = bytes.toString('hex')
  return [hex, hex.toUpperCase()]
}

/** As it is, and inside of something longer: three characters are three bytes, whichever of them the secret begins with. */
function base64Of(bytes: Buffer): readonly string[] {
  const inner = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const from = before === 0 ? 0 : 4
    return text.slice(from, 4 * Math.floor((before + bytes.length) / 3))
  })
  return inner.flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')])
}

/** Which secrets stand where, by their names. */
export function secretsIn(places: readonly Place[], secrets: readonly Secret[]): readonly string[] {
  return secrets.flatMap(({ name, value }) => {
    const forms = formsOf(value)
    const found = places.filter(({ content }) => forms.some((form) => content.includes(form)))
    return found.map((place) => `${name} in ${place.name}`)
  })
}
