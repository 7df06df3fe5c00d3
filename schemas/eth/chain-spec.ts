import { AppError } from '../errors.ts'

/** `GET /eth/v1/config/spec`: preset and configuration of a chain by name, as text. */
export type Spec = Readonly<Record<string, string>>

/** An integer that the node's config/spec must have. Throws AppError `node_malformed`. */
export function specInteger(spec: Spec, name: string): bigint {
  const text = spec[name]
  if (text !== undefined && /^\d+$/.test(text)) return BigInt(text)
  throw new AppError('node_malformed', `the beacon node's config/spec has no number ${name}`, { retryable: true })
}
