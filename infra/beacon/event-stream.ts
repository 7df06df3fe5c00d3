import { createParser } from 'eventsource-parser'
import { isNodeFault } from '../../schemas/errors.ts'
import { type ChainNode, waitMs } from '../nodes/nodes.ts'
import type { ChainNews } from '../ports/beacon-source.ts'
import type { Log } from '../ports/log.ts'

const EVENTS_PATH = '/eth/v1/events?topics=head,finalized_checkpoint,chain_reorg'
const FINALITY_EVENT = 'finalized_checkpoint'
/** Heads come every slot: a stream that is silent for so long is dead, whatever the connection says. */
const SILENCE_MS = 60_000
const RECONNECT_FIRST_MS = 500
const RECONNECT_MAX_MS = 30_000

/**
 * Calls `onNews` at each event of the first node whose stream works; reconnects with growing waits, to the next node each
 * time, until the signal aborts. Losing the stream loses nothing but speed: followers also look on their own.
 */
export async function watchEvents(options: {
  readonly nodes: readonly ChainNode[]
  readonly log: Log
  readonly onNews: (news: ChainNews) => void
  readonly signal: AbortSignal
}): Promise<void> {
  const { nodes, log, onNews, signal } = options
  let waitNextMs = RECONNECT_FIRST_MS
  for (let turn = 0; !signal.aborted; turn++) {
    const node = nodes[turn % nodes.length] as ChainNode
    const parser = createParser({
      onEvent: ({ event }) => {
        waitNextMs = RECONNECT_FIRST_MS
        onNews(event === FINALITY_EVENT ? 'finality' : 'head')
      },
    })
    const decoder = new TextDecoder()
    try {
      for await (const piece of node.stream(EVENTS_PATH, SILENCE_MS, signal)) {
        parser.feed(decoder.decode(piece, { stream: true }))
      }
      log.debug({}, `${node.name} closed its event stream`)
    } catch (error) {
      if (signal.aborted) return
      if (!isNodeFault(error)) throw error
      log.debug({ code: error.code }, error.message)
    }
    onNews('head')
    onNews('finality') // something may have happened while nobody listened
    await waitMs(waitNextMs, signal)
    waitNextMs = Math.min(waitNextMs * 2, RECONNECT_MAX_MS)
  }
}
