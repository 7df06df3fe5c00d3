import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'

/**
 * Names what failed in vitest's JSON reports given as arguments, prints `N passed, N failed` over all of them, and exits with 1
 * on any failure. A report that is not there is a failure: its run never got as far.
 */
interface Report {
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly success: boolean
  readonly testResults: readonly TestFile[]
}

interface TestFile {
  /** Absolute path. */
  readonly name: string
  readonly status: string
  /** Of a file that failed before its first test. */
  readonly message: string
  readonly assertionResults: readonly {
    readonly status: string
    readonly fullName: string
    readonly failureMessages?: readonly string[]
  }[]
}

let [passed, failed] = [0, 0]
for (const path of process.argv.slice(2)) {
  const report = await readReport(path)
  passed += report?.numPassedTests ?? 0
  const failures = report === undefined ? [] : failuresOf(report)
  for (const failure of failures) process.stdout.write(`\nFAILED ${failure}\n`)
  failed += report === undefined ? 1 : failures.length
}
process.stdout.write(`${passed} passed, ${failed} failed\n`)
process.exitCode = failed === 0 ? 0 : 1

/** One text per failure; also of files that fail before their first test, and of errors outside of any test. */
function failuresOf({ success, testResults }: Report): string[] {
  const failures = testResults.flatMap((file) => {
    const path = relative(process.cwd(), file.name)
    const tests = file.assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages = [] }) => [`${path}: ${fullName}`, ...failureMessages].join('\n'))
    return file.status === 'failed' && tests.length === 0 ? [`${path}\n${file.message}`] : tests
  })
  return failures.length === 0 && !success ? ['an error outside of any test: see above'] : failures
}

async function readReport(file: string): Promise<Report | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    process.stdout.write(`no report of a test run: ${error instanceof Error ? error.message : String(error)}\n`)
    return undefined
  }
}
