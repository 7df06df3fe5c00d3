import { readFile } from 'node:fs/promises'
import type { RunReport } from './run-report.ts'

/**
 * Names what failed in the reports given as arguments, prints `N passed, N failed` over all of them, and exits with 1 on any failure.
 * A report that is not there is a failure: its run never got as far.
 */
const reports = await Promise.all(process.argv.slice(2).map(readReport))
const failures = reports.flatMap((report) => report.failures)
const passed = reports.reduce((sum, report) => sum + report.passed, 0)
for (const failure of failures) process.stdout.write(`\nFAILED ${failure}\n`)
process.stdout.write(`${passed} passed, ${failures.length} failed\n`)
process.exitCode = failures.length === 0 ? 0 : 1

async function readReport(file: string): Promise<RunReport> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    return { passed: 0, failures: [`no report of a run: ${error instanceof Error ? error.message : String(error)}`] }
  }
}
