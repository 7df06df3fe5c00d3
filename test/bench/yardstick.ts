import { fstatSync } from 'node:fs'
import { loadavg } from 'node:os'
import type { Report } from './report.ts'

const ROUNDS = 9
const NUMBERS = 2_000_000
const PAGES = 2_048
const PAGE_BYTES = 4_096
const SYSTEM_CALLS = 5_000
const NS_PER_MS = 1e6
const US_PER_MS = 1e3

/**
 * Prints what three fixed pieces of work take here: machines of one kind have differed by three in all of them, and a figure is to be read by
 * those that it was taken beside. Each is the least of some rounds, which other work disturbs least; the load tells of that.
 */
export function measureMachine(report: Report): void {
  const [load = 0] = loadavg()
  report.heading('this machine')
  report.info('load before', load, 2)
  report.info('a step of arithmetic', (leastMs(mixNumbers) / NUMBERS) * NS_PER_MS, 2, 'ns')
  report.info('a page of fresh memory', (leastMs(touchPages) / PAGES) * US_PER_MS, 2, 'us')
  report.info('a system call', (leastMs(callSystem) / SYSTEM_CALLS) * US_PER_MS, 2, 'us')
}

function leastMs(work: () => number): number {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const startMs = performance.now()
    // What comes of it is looked at: work that nobody looks at may be left out.
    if (Number.isNaN(work())) throw new Error('a piece of work has no result')
    least = Math.min(least, performance.now() - startMs)
  }
  return least
}

/** Each step needs the one before it. */
function mixNumbers(): number {
  let mixed = 1
  for (let step = 0; step < NUMBERS; step++) mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d) + step
  return mixed
}

function touchPages(): number {
  const bytes = Buffer.allocUnsafeSlow(PAGES * PAGE_BYTES)
  for (let at = 0; at < bytes.length; at += PAGE_BYTES) bytes[at] = 1
  return bytes.length
}

function callSystem(): number {
  let size = 0
  for (let call = 0; call < SYSTEM_CALLS; call++) size += fstatSync(1).size
  return size
}
