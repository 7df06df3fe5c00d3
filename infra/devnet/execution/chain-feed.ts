import type { Hex } from '../../../schemas/eth/hex.ts'
import type { StoredBlock } from './block-store.ts'
import { createExclusive } from './exclusive.ts'
import { type LogJson, type LogSelection, logsOf, selects } from './logs.ts'

/** What happens that somebody may have subscribed to. */
export type ChainChange =
  | { readonly kind: 'appended'; readonly block: StoredBlock }
  /** They are no longer canonical; in the order that they had, in which geth takes their logs back. */
  | { readonly kind: 'reverted'; readonly blocks: readonly StoredBlock[] }
  /** Somebody's transaction waits for a block, for the first time or again. */
  | { readonly kind: 'pending'; readonly transactionHash: Hex }

export type Topic =
  | { readonly kind: 'newHeads' }
  | { readonly kind: 'logs'; readonly selection: LogSelection }
  | { readonly kind: 'newPendingTransactions' }

export interface Subscriber {
  readonly topic: Topic
  /** JSON text of one thing of its topic. */
  tell(result: string): void
  /** What came next cannot be known any more: nothing true is left to tell. */
  end(): void
}

/** Tells what happens on the chain, as geth does: https://geth.ethereum.org/docs/interacting-with-geth/rpc/pubsub */
export interface ChainFeed {
  publish(change: ChainChange): void
  /** Tells of what happens from now on, in its order; returns the function that ends it. */
  subscribe(subscriber: Subscriber): () => void
  /** How many subscribers there are. */
  readonly size: number
}

/** Fields of a block's JSON that are not its header's. */
const BODY_FIELDS: ReadonlySet<string> = new Set(['size', 'uncles', 'withdrawals'])

export function createChainFeed(): ChainFeed {
  const subscribers = new Set<Subscriber>()
  const inOrder = createExclusive()

  async function tellOfBlock(block: StoredBlock, kind: 'appended' | 'reverted', hearing: readonly Subscriber[]) {
    // A block whose receipts anvil does not tell is the engine's failure, and it ends with it.
    const texts = await block.texts().catch(() => undefined)
    if (texts === undefined) {
      for (const subscriber of hearing) subscriber.end()
      return
    }
    const head = kind === 'appended' ? headText(texts.header) : undefined
    const isAskedForLogs = hearing.some(({ topic }) => topic.kind === 'logs')
    const logs = isAskedForLogs ? (await logsOf(block)).map((log) => toTold(log, kind)) : []
    for (const { topic, tell } of hearing.filter((each) => subscribers.has(each))) {
      if (topic.kind === 'newHeads' && head !== undefined) tell(head)
      if (topic.kind !== 'logs') continue
      for (const { log, text } of logs) if (selects(topic.selection, log)) tell(text)
    }
  }

  async function tellOf(change: ChainChange, hearing: readonly Subscriber[]): Promise<void> {
    switch (change.kind) {
      case 'appended':
        return tellOfBlock(change.block, change.kind, hearing)
      case 'reverted':
        for (const block of change.blocks) await tellOfBlock(block, change.kind, hearing)
        return
      case 'pending':
        for (const { topic, tell } of hearing.filter((each) => subscribers.has(each))) {
          if (topic.kind === 'newPendingTransactions') tell(JSON.stringify(change.transactionHash))
        }
    }
  }

  return {
    publish(change) {
      if (subscribers.size === 0) return
      // Who subscribes while a change is still being read has been told of it by whatever else it asked.
      const hearing = [...subscribers]
      void inOrder(() => tellOf(change, hearing))
    },
    subscribe(subscriber) {
      subscribers.add(subscriber)
      return () => {
        subscribers.delete(subscriber)
      }
    },
    get size() {
      return subscribers.size
    },
  }
}

function headText(header: string): string {
  const fields = Object.entries(JSON.parse(`${header}}`) as Readonly<Record<string, unknown>>)
  return JSON.stringify(Object.fromEntries(fields.filter(([name]) => !BODY_FIELDS.has(name))))
}

function toTold(log: LogJson, kind: 'appended' | 'reverted'): { readonly log: LogJson; readonly text: string } {
  return { log, text: JSON.stringify(kind === 'reverted' ? { ...log, removed: true } : log) }
}
