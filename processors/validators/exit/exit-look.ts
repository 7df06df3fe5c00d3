import type { ExitFacts } from '../../../infra/ports/exit-node.ts'
import { type ExitEnded, exitEnded } from '../../../schemas/events/exits.ts'
import { durably } from '../durable-steps.ts'
import type { ExitTries } from './decide-exit.ts'
import type { OpenExit } from './exit-book.ts'
import { type ExitChain, type ExitCustody, exitEvent } from './exit-custody.ts'

/** What this process remembers of a chain's exits, beside the log. */
export class ExitMemory {
  readonly tries = new Map<string, ExitTries>()
  /** Epoch in which somebody was last told that the exit is overdue. */
  readonly told = new Map<string, number>()
  /** Those that the vault could not sign when it was last asked to. */
  readonly unsigned = new Set<string>()

  forget(pubkey: string): void {
    this.tries.delete(pubkey)
    this.told.delete(pubkey)
    this.unsigned.delete(pubkey)
  }
}

/** One look at a chain's open exits. */
export interface Look {
  readonly chain: ExitChain
  readonly facts: ExitFacts
  /** The chain's. */
  readonly epoch: number
  readonly memory: ExitMemory
}

export interface EndedExit {
  readonly exit: OpenExit
  readonly end: ExitEnded['end']
}

/** Tells the log of exits that are over. Only in a turn: an exit that was cancelled before it stays so. */
export async function endExits(
  custody: ExitCustody,
  { chain: { name: chain }, memory }: Look,
  ended: readonly EndedExit[],
): Promise<void> {
  const { book, writer, log } = custody
  // Whoever cancelled meanwhile wins nothing by it, but has been told so.
  const still = ended.filter(({ exit }) => book.exits.of(chain, exit.pubkey)?.status === 'open')
  const events = still.map(({ exit: { pubkey }, end }) =>
    exitEvent(custody, exitEnded, { id: `${chain}:${pubkey}:${end.status}`, data: { chain, pubkey, end } }),
  )
  if (events.length > 0) await durably('exit-ended', () => book.tell(writer, events))
  for (const { exit, end } of ended) {
    const { pubkey, account } = exit
    memory.forget(pubkey)
    if (end.status === 'on_chain') log.info({ chain, account, pubkey, exitEpoch: end.exitEpoch }, 'an exit is final')
    else log.error({ chain, account, pubkey, reason: end.reason }, 'an exit has failed: it will not be tried again')
  }
}
