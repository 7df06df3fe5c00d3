// Times of calls are counted by buckets, two for each power of two: of a thousand calls as of one there is a time that 99 of a hundred have not
// exceeded, which is at most half more than the true one.

/** The first takes what is below half a millisecond, the last whatever is longer than the longest time-out. */
export const TIME_BUCKETS = 36
/** Bounds of buckets are whole numbers of it. */
const QUARTER_MS = 0.25
/** What 32-bit arithmetic takes. */
const QUARTERS_MAX = 2 ** 30

export function timeBucketOf(ms: number): number {
  const quarters = Math.min(ms / QUARTER_MS, QUARTERS_MAX) | 0
  if (quarters < 2) return 0
  const power = 31 - Math.clz32(quarters)
  const isUpperHalf = (quarters >> (power - 1)) & 1
  return Math.min(2 * power - 1 + isUpperHalf, TIME_BUCKETS - 1)
}

/** Milliseconds that no call of a bucket has exceeded; of the last one, which has no end, where it begins. */
export function timeBoundMs(bucket: number): number {
  const power = Math.ceil(Math.min(bucket, TIME_BUCKETS - 2) / 2)
  const isUpperHalf = bucket % 2 === 0 || bucket === TIME_BUCKETS - 1
  return 2 ** power * QUARTER_MS * (isUpperHalf ? 2 : 1.5)
}

/** The shortest bound that this share of the calls has not exceeded, in milliseconds; undefined where there are none. */
export function quantileMs(times: readonly number[], share: number): number | undefined {
  let left = times.reduce((sum, calls) => sum + calls, 0) * share
  if (left === 0) return undefined
  const bucket = times.findIndex((calls) => {
    left -= calls
    return calls > 0 && left <= 0
  })
  return timeBoundMs(bucket)
}
