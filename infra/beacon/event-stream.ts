import { setTimeout as wait } from 'node:timers/promises'
import { createParser } from 'eventsource-parser'
import { isNodeFault } from '../../schemas/errors.ts'
import { parseJson } from '../nodes/json.ts'
import type { NodeGroup } from '../nodes/node-group.ts'
import type { ChainNode } from '../nodes/nodes.ts'
import type { ChainNews } from '../ports/beacon-source.ts'
import type { Log } from '../ports/log.ts'
import { flagsOfJson } from './answer-flags.ts'
import { documented, FLAGS_UNSAID, type JsonCodec, readJson } from './route.ts'
import { EVENT_CODECS, EVENTS, EventType } from './routes.ts'

/** Heads come every slot: a stream that is silent for so long is dead, whatever the connection says. */
const SILENCE_MS = 60_000
const RECONNECT_FIRST_MS = 500
const RECONNECT_MAX_MS = 30_000
const ROOT = /^0x[0-9a-f]{64}$/

interface Watch {
  readonly nodes: NodeGroup<ChainNode>
  readonly log: Log
  readonly onNews: (news: ChainNews) => void
  readonly signal: AbortSignal
}

/**
 * Hands on what the first node announces whose stream works, after a gap; reconnects with growing waits, to the next node each
 * time, until the signal aborts. Losing the stream loses nothing but speed: followers also look on their own.
 */
export async function watchEvents({ nodes, log, onNews, signal }: Watch): Promise<void> {
  let waitNextMs = RECONNECT_FIRST_MS
  const heard = (news: ChainNews): void => {
    waitNextMs = RECONNECT_FIRST_MS
    onNews(news)
  }
  for (let turn = 0; !signal.aborted; turn++) {
    const place = turn % nodes.nodes.length
    const node = nodes.nodes[place] as ChainNode
    try {
      await nodes.check(node) // the roots of another chain would be asked for in vain
      await readStream(node, { place, onNews, heard, signal })
      log.debug({}, `${node.name} closed its event stream`)
    } catch (error) {
      if (signal.aborted) return
      if (!isNodeFault(error)) throw error
      log.debug({ code: error.code }, error.message)
    }
    try {
      await wait(waitNextMs, undefined, { signal })
    } catch {
      return
    }
    waitNextMs = Math.min(waitNextMs * 2, RECONNECT_MAX_MS)
  }
}

interface Reading extends Pick<Watch, 'onNews' | 'signal'> {
  /** Of the node among its group's. */
  readonly place: number
  readonly heard: (news: ChainNews) => void
}

async function readStream(node: ChainNode, { place, onNews, heard, signal }: Reading): Promise<void> {
  const parser = createParser({
    onEvent: ({ event, data }) => {
      const news = toNews(event, data, place)
      if (news !== undefined) heard(news)
    },
  })
  const decoder = new TextDecoder()
  const path = `${EVENTS.eventstream.url}?topics=${EventType.head},${EventType.finalizedCheckpoint}`
  const pieces = await node.stream(path, SILENCE_MS, signal)
  onNews({ kind: 'gap' })
  for await (const piece of pieces) parser.feed(decoder.decode(piece, { stream: true }))
}

function toNews(event: string | undefined, data: string, toldBy: number): ChainNews | undefined {
  const what = `the event ${event}`
  if (event === EventType.head) {
    const { slot, block } = read(EVENT_CODECS.head, what, data).value
    return { kind: 'head', slot, root: toRoot(what, block) }
  }
  if (event === EventType.finalizedCheckpoint) {
    const { value, flags } = read(EVENT_CODECS.finalized_checkpoint, what, data)
    // A node whose execution node is behind believes what it could not verify.
    if (flags.executionOptimistic === true) return undefined
    // Some releases of Prysm do not say whether they have: their answer to the question does.
    if (flags.executionOptimistic === undefined) return { kind: 'gap' }
    return { kind: 'finalized', epoch: value.epoch, root: toRoot(what, value.block), toldBy }
  }
  return undefined
}

function read<Value>(codec: JsonCodec<Value>, what: string, data: string) {
  const json = parseJson(what, new TextEncoder().encode(data))
  const value = documented(what, () => readJson(codec, { ...FLAGS_UNSAID, ...(json as object) }))
  return { value, flags: flagsOfJson(json) }
}

function toRoot(what: string, text: string): string {
  const root = text.toLowerCase()
  return documented(what, () => {
    if (!ROOT.test(root)) throw new Error('no root')
    return root
  })
}
