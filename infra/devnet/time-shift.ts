import { join } from 'node:path'
import { replaceFile } from '../replace-file.ts'
import { damaged, readState } from './state-file.ts'

const SHIFT_FILE = 'devnet-clock.json'

/**
 * How far the chain's clock is ahead of this machine's, because it was led through time-lapse. Kept with the chain, so that it goes on
 * where it was. Only whole epochs: who works by the slots of an epoch finds them at the same moments as before.
 */
export interface TimeShift {
  /** Seconds; never less than before. */
  readonly aheadSec: number
  /** Makes it so late on the chain, at least. `sec` is how far that is ahead of the chain's own clock; not above 0 changes nothing. */
  advance(sec: number): void
}

/** Of a directory; without one it is forgotten with the process. */
export function openTimeShift(directory: string | undefined, epochSec: number): TimeShift {
  const path = directory === undefined ? undefined : join(directory, SHIFT_FILE)
  let aheadSec = path === undefined ? 0 : read(path)
  return {
    get aheadSec() {
      return aheadSec
    },
    advance(sec) {
      if (sec <= 0) return
      aheadSec += Math.ceil(sec / epochSec) * epochSec
      if (path !== undefined) replaceFile(path, JSON.stringify({ ahead_sec: aheadSec }))
    },
  }
}

function read(path: string): number {
  const state = readState(path)
  if (state === undefined) return 0
  if (typeof state.ahead_sec !== 'number') throw damaged(path)
  return state.ahead_sec
}
