import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openJournal as openTransactions } from '../../infra/devnet/execution/journal.ts'
import { openJournal as openExits } from '../../infra/devnet/journal.ts'
import { openSchedule } from '../../infra/devnet/second/schedule.ts'
import { openClientFiles } from '../../infra/devnet/validator-client/client-files.ts'

/** Opens a journal of the folder, and says how it is written to and what is known of that once it is opened again. */
interface Journal {
  readonly file: string
  open(directory: string): { append(number: number): void; knows(number: number): boolean }
}

const PUBKEY = `0x${'ab'.repeat(48)}` as const

const JOURNALS: Readonly<Record<string, Journal>> = {
  transactions: {
    file: 'transactions.jsonl',
    open(directory) {
      const journal = openTransactions(join(directory, 'transactions.jsonl'))
      return {
        append: (step) => journal.append({ step, slot: step, raw: '0x02' }),
        knows: (step) => journal.recorded(step).length === 1,
      }
    },
  },
  exits: {
    file: 'devnet-journal.jsonl',
    open(directory) {
      const journal = openExits(directory)
      return { append: (slot) => journal.append(slot, []), knows: (slot) => journal.lastSlot >= slot }
    },
  },
  schedule: {
    file: 'schedule.jsonl',
    open(directory) {
      const path = join(directory, 'schedule.jsonl')
      const schedule = openSchedule({ genesisTimeSec: 0, blockTimeSec: 3, path, nowSec: undefined })
      return { append: (number) => schedule.orphan(number, 1), knows: (number) => schedule.orphansAfter(number) === 1 }
    },
  },
  validators: {
    file: 'devnet-validators.jsonl',
    open(directory) {
      const { append, entries } = openClientFiles(directory)
      return {
        append: (slot) => append({ kind: 'taken', slot, pubkey: PUBKEY }),
        knows: (slot) => entries.some((entry) => 'slot' in entry && entry.slot === slot),
      }
    },
  },
}

describe.each(Object.entries(JOURNALS))("the devnet's journal of %s", (_, { file, open }) => {
  function givenFolder(): string {
    const directory = mkdtempSync(join(tmpdir(), 'epochline-journal-'))
    onTestFinished(() => rmSync(directory, { recursive: true }))
    return directory
  }

  it('goes on behind a last line that was cut short', () => {
    const directory = givenFolder()
    open(directory).append(1)
    appendFileSync(join(directory, file), readFileSync(join(directory, file), 'utf8').slice(0, 9))
    open(directory).append(2)
    const { knows } = open(directory)
    expect([1, 2, 3].map(knows)).toEqual([true, true, false])
  })

  it('is named where a line of it is none of its own', () => {
    const directory = givenFolder()
    for (const line of ['{ "slot": 1', '1']) {
      writeFileSync(join(directory, file), `${line}\n`)
      expect(() => open(directory)).toThrow(
        expect.objectContaining({ code: 'config', message: expect.stringContaining(join(directory, file)) }),
      )
    }
  })
})
