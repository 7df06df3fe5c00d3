import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { type phase0, ssz } from '@lodestar/types'

/** Inputs from outside, by the slot of the block that contains them. */
export interface Journal {
  /** Slots up to this one repeat what the journal says; -1 when it is empty. */
  readonly lastSlot: number
  exitsAt(slot: number): readonly phase0.SignedVoluntaryExit[]
  /** Durable before it returns; slots only grow. */
  append(slot: number, exits: readonly phase0.SignedVoluntaryExit[]): void
}

const JOURNAL_FILE = 'devnet-journal.jsonl'

interface Line {
  readonly slot: number
  readonly voluntary_exits: readonly unknown[]
}

function parseLines(text: string): Map<number, phase0.SignedVoluntaryExit[]> {
  const lines = text.split('\n').filter((line) => line !== '')
  return new Map(
    lines.map((line) => {
      const { slot, voluntary_exits: exits } = JSON.parse(line) as Line
      return [slot, exits.map((exit) => ssz.phase0.SignedVoluntaryExit.fromJson(exit))]
    }),
  )
}

/** Opens the journal of a directory; without one, a journal in memory. */
export function openJournal(directory: string | undefined): Journal {
  const path = directory === undefined ? undefined : join(directory, JOURNAL_FILE)
  let known = new Map<number, phase0.SignedVoluntaryExit[]>()
  if (path !== undefined && existsSync(path)) {
    const text = readFileSync(path, 'utf8')
    // A line without its end was being written when the process died; its block was never made.
    const complete = text.slice(0, text.lastIndexOf('\n') + 1)
    if (complete.length < text.length) truncateSync(path, Buffer.byteLength(complete))
    known = parseLines(complete)
  }
  const lastSlot = known.keys().reduce((last, slot) => Math.max(last, slot), -1)
  return {
    lastSlot,
    exitsAt: (slot) => known.get(slot) ?? [],
    append(slot, exits) {
      if (path === undefined) return
      const json = exits.map((exit) => ssz.phase0.SignedVoluntaryExit.toJson(exit))
      appendFileSync(path, `${JSON.stringify({ slot, voluntary_exits: json } satisfies Line)}\n`, { flush: true })
    },
  }
}
