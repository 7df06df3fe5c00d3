import type { Probe } from './protocol.ts'

/** As the table of protocols writes it: numbers, `hex` too, as decimal text. Undefined: nothing of that form. */
export function readValue(value: unknown, as: Probe['as']): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const text = String(value)
  if (as === 'text') return text
  const pattern = as === 'hex' ? /^0x[0-9a-f]{1,64}$/i : /^-?\d{1,20}$/
  return pattern.test(text) ? BigInt(text).toString() : undefined
}

/** What an answer to the probe, as parsed from JSON, has where the probe looks for it. */
export function probedValue(answer: unknown, { at, as }: Probe): string | undefined {
  let value = answer
  for (const name of at) value = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
  return readValue(value, as)
}
