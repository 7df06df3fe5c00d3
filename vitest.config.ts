import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { PATIENCE } from './test/long-form.ts'
import { FAILURES_FILE } from './test/run-report.ts'

/** Tests that need a server are named *.servers.test.ts and live beside the others. */
const SERVER_TESTS = 'test/**/*.servers.test.ts'
/** For what hangs: nearly all take a second, and a minute where six other runs have the same two cores, or a slow machine. */
const TEST_TIMEOUT_MS = 180_000 * PATIENCE
const POLL_TIMEOUT_MS = 60_000
/** Begins an engine, a devnet or a server: where much else runs, the first of them has waited for minutes. */
const HOOK_TIMEOUT_MS = 300_000
/** A test of the whole program starts a devnet and waits for days of history. */
const E2E_TIMEOUT_MS = 1_200_000
const COMPILE_CACHE = join(import.meta.dirname, 'node_modules/.cache/epochline')
/** Linux keeps files of this folder in memory. */
const MEMORY_FOLDER = '/dev/shm'
/** Several times what the files of two workers take; containers often have less. */
const MEMORY_BYTES_MIN = 512 * 1024 ** 2

/** The longest files of their groups, whose lengths nobody can tell from their sizes: begun last, one worker would wait for them. */
const BEGUN_FIRST = [
  'e2e/pipeline.embedded.test.ts',
  'e2e/life.embedded.test.ts',
  'e2e/operator.embedded.test.ts',
  'e2e/exit.embedded.test.ts',
  'e2e/kills.embedded.test.ts',
  'replays/explained-histories.test.ts',
  'replays/nft-kills.test.ts',
  'replays/chain-removal.test.ts',
  'replays/several-chains.test.ts',
  'devnet/restart.test.ts',
  'devnet/erring-clients.test.ts',
  'replays/verify.test.ts',
  'unit/settlement-guard.test.ts',
  'unit/lock-days.test.ts',
  'contract/key-vault.local-keeping.test.ts',
  'contract/key-vault.web3signer.test.ts',
  'contract/job-queue.sqlite.test.ts',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isFirst = ({ moduleId }: TestSpecification) => BEGUN_FIRST.some((name) => moduleId.endsWith(name))
    return [...sorted.filter(isFirst), ...sorted.filter((file) => !isFirst(file))]
  }
}

// Before any worker starts: Node reads it once. The program is started dozens of times, and loading its code was a fifth of that work.
process.env.NODE_COMPILE_CACHE ??= COMPILE_CACHE

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // Stores write as durably as ever; but a test that inserts much waits for the disk a third of its time, and none pulls a plug.
    env: hasMemoryFolder() && process.env.TMPDIR === undefined ? { TMPDIR: MEMORY_FOLDER } : {},
    reporters: process.env[FAILURES_FILE] === undefined ? ['default'] : ['default', './test/failures-reporter.ts'],
    // Processes, not threads: the embedded ClickHouse allows one data directory per process.
    pool: 'forks',
    // One more than the cores that they are measured on: many a test waits for a lease, a queue or another process.
    maxWorkers: 3,
    // Loading the same code again was a fifth of the time of the unit and contract suites: no file changes what another one loads.
    isolate: false,
    // What is waited for comes late where much else runs; a second, as by default, is no defect.
    expect: { poll: { timeout: POLL_TIMEOUT_MS } },
    // kafkajs asks for timers in the past, and Node says so in every process.
    execArgv: ['--disable-warning=TimeoutNegativeWarning'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          testTimeout: TEST_TIMEOUT_MS,
          hookTimeout: HOOK_TIMEOUT_MS,
        },
      },
      {
        extends: true,
        test: {
          name: 'contract',
          include: ['test/contract/**/*.test.ts'],
          exclude: [SERVER_TESTS],
          testTimeout: TEST_TIMEOUT_MS,
          hookTimeout: HOOK_TIMEOUT_MS,
        },
      },
      {
        extends: true,
        test: {
          name: 'replays',
          include: ['test/replays/**/*.test.ts'],
          testTimeout: TEST_TIMEOUT_MS,
          hookTimeout: HOOK_TIMEOUT_MS,
        },
      },
      {
        extends: true,
        test: {
          name: 'devnet',
          include: ['test/devnet/**/*.test.ts'],
          testTimeout: TEST_TIMEOUT_MS,
          hookTimeout: HOOK_TIMEOUT_MS,
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          exclude: [SERVER_TESTS],
          // After the others: they would share the two cores with a devnet in time-lapse.
          sequence: { groupOrder: 1 },
          testTimeout: E2E_TIMEOUT_MS,
          hookTimeout: E2E_TIMEOUT_MS,
        },
      },
      {
        extends: true,
        test: {
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          testTimeout: TEST_TIMEOUT_MS,
          // Every fault is met before the first test.
          hookTimeout: E2E_TIMEOUT_MS,
        },
      },
      {
        extends: true,
        test: {
          name: 'servers',
          include: [SERVER_TESTS],
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
          testTimeout: E2E_TIMEOUT_MS,
          hookTimeout: E2E_TIMEOUT_MS,
        },
      },
    ],
  },
})

function hasMemoryFolder(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER)
    return bavail * bsize >= MEMORY_BYTES_MIN
  } catch {
    return false // not on this system
  }
}
