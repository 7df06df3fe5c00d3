import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, SerializedError, TestModule } from 'vitest/node'
import { FAILURES_FILE, type RunReport } from './run-report.ts'

/** Of a stack: what the runner itself does around a test. */
const FOREIGN_FRAME = /\n +at [^\n]*\/node_modules\/[^\n]*/g

/**
 * Writes how a run ended to the file that `EPOCHLINE_TEST_REPORT` names. Vitest's own JSON says nothing of why a hook failed, and all
 * tests behind it count there as skipped.
 */
export default class FailuresReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const file = process.env[FAILURES_FILE]
    if (file === undefined) throw new Error(`${FAILURES_FILE} names no file`)
    const report: RunReport = {
      passed: modules.flatMap((module) => [...module.children.allTests('passed')]).length,
      failures: [...modules.flatMap(failuresOf), ...failureOf('outside of any test', unhandled)],
    }
    writeFileSync(file, JSON.stringify(report))
  }
}

/** One text for the file itself, each of its suites whose hooks failed, and each of its tests. */
function failuresOf(module: TestModule): string[] {
  const path = relative(process.cwd(), module.moduleId)
  const suites = [...module.children.allSuites()].flatMap((suite) =>
    failureOf(`${path}: ${suite.fullName}, not all of which was asked`, suite.errors()),
  )
  const tests = [...module.children.allTests('failed')].flatMap((test) =>
    failureOf(`${path}: ${test.fullName}`, test.result().errors ?? []),
  )
  return [...failureOf(path, module.errors()), ...suites, ...tests]
}

function failureOf(what: string, errors: readonly SerializedError[]): string[] {
  return errors.length === 0
    ? []
    : [[what, ...errors.map(({ stack, message }) => stack?.replaceAll(FOREIGN_FRAME, '') ?? message)].join('\n')]
}
