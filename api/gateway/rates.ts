import type { Limited } from './limited.ts'

/** Of one key at one endpoint. Who came first of more is forgotten, and begins anew. */
const BUCKETS_MAX = 50_000
const SECOND_MS = 1_000

interface Bucket {
  /** Below zero after a batch of more calls than a second has. */
  left: number
  atMs: number
}

/** Lets each key ask so many times a second at each endpoint, and as many at once when it has asked nothing for a second. */
export class Rates {
  readonly #buckets = new Map<string, Bucket>()

  /** Takes the units, or says why not. A batch larger than a second's units passes when none of them are used, and is waited for. */
  take(name: string, units: number, perSecond: number, nowMs: number): Limited | undefined {
    const bucket = this.#buckets.get(name) ?? this.#add(name, { left: perSecond, atMs: nowMs })
    bucket.left = Math.min(perSecond, bucket.left + ((nowMs - bucket.atMs) / SECOND_MS) * perSecond)
    bucket.atMs = nowMs
    const wanted = Math.min(units, perSecond)
    if (bucket.left >= wanted) {
      bucket.left -= units
      return undefined
    }
    return {
      status: 'limited',
      reason: 'rate_limit',
      units,
      limit: perSecond,
      remaining: Math.max(0, Math.floor(bucket.left)),
      resetSec: Math.max(1, Math.ceil((perSecond - bucket.left) / perSecond)),
      retryAfterSec: Math.max(1, Math.ceil((wanted - bucket.left) / perSecond)),
    }
  }

  #add(name: string, bucket: Bucket): Bucket {
    this.#buckets.set(name, bucket)
    if (this.#buckets.size > BUCKETS_MAX) this.#buckets.delete(this.#buckets.keys().next().value as string)
    return bucket
  }
}
