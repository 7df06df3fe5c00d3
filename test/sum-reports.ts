import { readFile } from 'node:fs/promises'

/**
 * Prints `N passed, N failed` over vitest's JSON reports given as arguments, and exits with 1 on any failure. A report that
 * is not there is a failure: its run never got as far.
 */
interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly success: boolean
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly assertionResults: readonly { readonly status: string }[]
  }[]
}

let [passed, failed] = [0, 0]
for (const file of process.argv.slice(2)) {
  const report = await readReport(file)
  passed += report?.numPassedTests ?? 0
  failed += report === undefined ? 1 : failuresOf(report)
}
process.stdout.write(`${passed} passed, ${failed} failed\n`)
process.exitCode = failed === 0 ? 0 : 1

/** Also files that fail before their first test, and errors outside of any test. */
function failuresOf({ numFailedTests, success, testResults }: Report): number {
  const brokenFiles = testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((assertion) => assertion.status === 'failed'),
  )
  const failures = numFailedTests + brokenFiles.length
  return failures === 0 && !success ? 1 : failures
}

async function readReport(file: string): Promise<Report | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    process.stdout.write(`no report of a test run: ${error instanceof Error ? error.message : String(error)}\n`)
    return undefined
  }
}
