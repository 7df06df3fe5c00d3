import { openJsonLines } from '../json-lines.ts'

/**
 * When each block comes. While the devnet does not run, its sequencer is halted: the chain goes on later where it was, and does not
 * have to be made for all the time in between. Whoever has the file makes the same blocks again.
 */
export interface Schedule {
  /** Unix seconds of a block. */
  timeSec(number: number): number
  /** The newest block whose time has come. */
  numberAt(unixSec: number): number
  /** To be called before a block is made, so that the next run makes it at the same time; durable when it returns. */
  reserve(number: number): void
  /** How many blocks are orphaned after this one was the head, because somebody has asked for it; mostly 0. */
  orphansAfter(number: number): number
  /** Remembers that. */
  orphan(after: number, depth: number): void
}

/** Blocks at one pace, up to the next span. */
type Span = Readonly<{ firstNumber: number; startSec: number }>
type Line = Span | Readonly<{ reservedTo: number }> | Readonly<{ orphanAfter: number; depth: number }>

/** One line in the file for as many blocks; up to as many come after a halt as if there had been none. */
const RESERVED_BLOCKS = 100

export interface ScheduleOptions {
  readonly genesisTimeSec: number
  readonly blockTimeSec: number
  /** JSONL, which need not exist; without one nothing is remembered, and no halt known. */
  readonly path: string | undefined
  /** Unix seconds; undefined on a manual clock, which knows no halt. */
  readonly nowSec: number | undefined
}

/** Reads what earlier runs have made, and begins a new span when none of it is for now. */
export function openSchedule({ genesisTimeSec, blockTimeSec, path, nowSec }: ScheduleOptions): Schedule {
  const { lines, append } = openJsonLines<Line>(path)
  const firstSpan: Span = { firstNumber: 0, startSec: genesisTimeSec }
  const spans = [firstSpan]
  const orphans = new Map<number, number>()
  let reservedTo = 0
  for (const line of lines) {
    if ('reservedTo' in line) reservedTo = line.reservedTo
    else if ('orphanAfter' in line) orphans.set(line.orphanAfter, line.depth)
    else spans.push(line)
  }

  function timeSec(number: number): number {
    const { firstNumber, startSec } = spans.findLast((span) => span.firstNumber <= number) ?? firstSpan
    return startSec + (number - firstNumber) * blockTimeSec
  }

  if (lines.length > 0 && nowSec !== undefined && timeSec(reservedTo + 2) <= nowSec) {
    const span = { firstNumber: reservedTo + 1, startSec: Math.floor(nowSec) }
    spans.push(span)
    append(span)
  }
  return {
    timeSec,
    numberAt(unixSec) {
      const { firstNumber, startSec } = spans.findLast((span) => span.startSec <= unixSec) ?? firstSpan
      const next = spans.find((span) => span.startSec > unixSec)
      const number = firstNumber + Math.floor((unixSec - startSec) / blockTimeSec)
      return next === undefined ? number : Math.min(number, next.firstNumber - 1)
    },
    reserve(number) {
      if (number <= reservedTo) return
      reservedTo = number + RESERVED_BLOCKS
      append({ reservedTo })
    },
    orphansAfter: (number) => orphans.get(number) ?? 0,
    orphan(after, depth) {
      orphans.set(after, depth)
      append({ orphanAfter: after, depth })
    },
  }
}
