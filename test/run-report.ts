/** The variable that names the file to write a report to. */
export const FAILURES_FILE = 'EPOCHLINE_TEST_REPORT'

/** How one run of vitest ended. */
export interface RunReport {
  /** Tests. */
  readonly passed: number
  /** A text each: what failed, and why. */
  readonly failures: readonly string[]
}
