import type { Hex } from '../../../schemas/eth/hex.ts'
import { openJsonLines } from '../json-lines.ts'

/** A transaction from outside, and when it came: after which operation (block or rollback) since genesis. */
export interface JournalEntry {
  readonly step: number
  /** Slot of the head at that time, for people who read the file. */
  readonly slot: number
  readonly raw: Hex
}

export interface Journal {
  /** What came after this step in the run that wrote the file. */
  recorded(step: number): readonly JournalEntry[]
  /** Durable when it returns; a transaction that was read from the file is not written again. */
  append(entry: JournalEntry): void
}

/** Opens a file, which need not exist; without one nothing is recorded, nothing is remembered. */
export function openJournal(path: string | undefined): Journal {
  const { lines, append } = openJsonLines<JournalEntry>(path, isEntry)
  const byStep = Map.groupBy(lines, ({ step }) => step)
  return { recorded: (step) => byStep.get(step) ?? [], append }
}

function isEntry({ step, slot, raw }: Partial<JournalEntry>): boolean {
  return typeof step === 'number' && typeof slot === 'number' && typeof raw === 'string'
}
