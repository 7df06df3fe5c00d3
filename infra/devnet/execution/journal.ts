import { appendFileSync, readFileSync } from 'node:fs'
import { AppError } from '../../../schemas/errors.ts'
import type { Hex } from '../../../schemas/eth/hex.ts'

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

/** No file: nothing is recorded, nothing is remembered. */
export const emptyJournal: Journal = { recorded: () => [], append: () => {} }

/** Opens a JSONL file, which need not exist. A last line that a crash cut short is left out. */
export function openJournal(path: string): Journal {
  const byStep = new Map<number, JournalEntry[]>()
  for (const entry of readEntries(path)) byStep.set(entry.step, [...(byStep.get(entry.step) ?? []), entry])
  return {
    recorded: (step) => byStep.get(step) ?? [],
    append: (entry) => appendFileSync(path, `${JSON.stringify(entry)}\n`),
  }
}

function readEntries(path: string): JournalEntry[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  const complete = text.slice(0, text.lastIndexOf('\n') + 1)
  return complete.split('\n').filter(Boolean).map(parseEntry)
}

function parseEntry(line: string): JournalEntry {
  const refuse = (cause?: unknown) =>
    new AppError('config', "the devnet's transaction journal has a line that is not one of its own; delete the file", {
      cause,
    })
  let entry: Partial<JournalEntry>
  try {
    entry = JSON.parse(line) as Partial<JournalEntry>
  } catch (cause) {
    throw refuse(cause)
  }
  const { step, slot, raw } = entry
  if (typeof step !== 'number' || typeof slot !== 'number' || typeof raw !== 'string') throw refuse()
  return { step, slot, raw }
}
