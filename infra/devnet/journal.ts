import { join } from 'node:path'
import { type phase0, ssz } from '@lodestar/types'
import { openJsonLines } from './json-lines.ts'

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

/** Opens the journal of a directory; without one, a journal in memory. */
export function openJournal(directory: string | undefined): Journal {
  const { lines, append } = openJsonLines<Line>(directory === undefined ? undefined : join(directory, JOURNAL_FILE))
  const known = new Map(
    lines.map(({ slot, voluntary_exits: exits }) => [
      slot,
      exits.map((exit) => ssz.phase0.SignedVoluntaryExit.fromJson(exit)),
    ]),
  )
  const lastSlot = known.keys().reduce((last, slot) => Math.max(last, slot), -1)
  return {
    lastSlot,
    exitsAt: (slot) => known.get(slot) ?? [],
    append: (slot, exits) =>
      append({ slot, voluntary_exits: exits.map((exit) => ssz.phase0.SignedVoluntaryExit.toJson(exit)) }),
  }
}
