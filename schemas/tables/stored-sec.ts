const STORED_SEC_MAX = 2 ** 32 - 1

/**
 * Unix seconds as DateTime holds them. "From the beginning" and "never" are often said by dates outside of 1970 to 2106; wrapped
 * around, the first would never begin and the second would have begun long ago.
 */
export function storedSec(unixSec: number): number {
  return Math.min(Math.max(0, Math.floor(unixSec)), STORED_SEC_MAX)
}
