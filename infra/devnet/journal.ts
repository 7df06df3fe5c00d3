import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type phase0, ssz } from '@lodestar/types'
import { AppError } from '../../schemas/errors.ts'

/** What a devnet is made from: with these and the journal the same chain comes out, block for block. */
export interface DevnetIdentity {
  readonly seed: string
  readonly genesisTimeSec: number
  readonly validators: number
  readonly scenarioVersion: string
}

/** Inputs from outside, by the slot of the block that contains them. */
export interface Journal {
  /** Slots up to this one repeat what the journal says; -1 when it is empty. */
  readonly lastSlot: number
  exitsAt(slot: number): readonly phase0.SignedVoluntaryExit[]
  /** Durable before it returns; slots only grow. */
  append(slot: number, exits: readonly phase0.SignedVoluntaryExit[]): void
}

const IDENTITY_FILE = 'devnet.json'
const JOURNAL_FILE = 'devnet-journal.jsonl'

/** The identity that a directory was started with, or undefined when it is new. */
export function readIdentity(directory: string): DevnetIdentity | undefined {
  const path = join(directory, IDENTITY_FILE)
  if (!existsSync(path)) return undefined
  return JSON.parse(readFileSync(path, 'utf8')) as DevnetIdentity
}

/** Writes the identity into a new directory; a directory of another devnet is refused. */
export function claimDirectory(directory: string, identity: DevnetIdentity): void {
  const known = readIdentity(directory)
  if (known === undefined) {
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, IDENTITY_FILE), `${JSON.stringify(identity, null, 2)}\n`)
    return
  }
  for (const key of ['seed', 'genesisTimeSec', 'validators', 'scenarioVersion'] as const) {
    if (known[key] === identity[key]) continue
    throw new AppError(
      'config',
      `The devnet's directory holds another chain: its ${key} is ${known[key]}, asked for is ${identity[key]}. Use the same, or an empty directory.`,
    )
  }
}

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
  const lastSlot = Math.max(-1, ...known.keys())
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
