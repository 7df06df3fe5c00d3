/** Whether `npm run test:long` runs the tests. */
export const isLong = process.env.EPOCHLINE_TEST_LONG === '1'

/**
 * How often a test of random or killed runs tries: some times with the other tests, many times with `npm run test:long`. A seed
 * that failed there once belongs into the short form.
 */
export function tries(short: number, long: number): number {
  return isLong ? long : short
}

/** So much longer such a test may take. */
export const PATIENCE = isLong ? 30 : 1
