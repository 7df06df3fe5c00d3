import type { BeaconChain, BeaconHead, BeaconSource } from '../../infra/ports/beacon-source.ts'
import type { Log } from '../../infra/ports/log.ts'
import { retryWithBackoff } from '../../schemas/retry.ts'
import { pause } from '../../schemas/wait.ts'
import { Latest } from '../latest.ts'
import { refuseOtherNetwork } from '../right-nodes.ts'
import { Waker } from '../waker.ts'
import { onceAnEpoch } from './finality.ts'

export interface WatchHeadOptions {
  readonly beacon: BeaconSource
  readonly chain: string
  readonly log: Log
  /** What is done, in messages: "reading …". */
  readonly what: string
  /** Between a look that has found something and the next one. */
  readonly pauseMs?: number
  /** Unix milliseconds. */
  readonly now?: (() => number) | undefined
  /** Wait before the first repetition after an outage. */
  readonly outageWaitMs?: number | undefined
}

/** Looks at a head; false when there was nothing to do at it. */
export type LookAtHead = (head: BeaconHead, signal: AbortSignal) => Promise<boolean>

/**
 * Looks at the head whenever it moves, and once an epoch where nothing is announced. Nodes that are away are waited for. Resolves when the
 * signal aborts; throws AppError `config` for a node of another chain than configured, and what a look throws that is no fault of a node.
 */
export async function watchHead(
  options: WatchHeadOptions,
  open: (chain: BeaconChain) => LookAtHead,
  signal: AbortSignal,
): Promise<void> {
  const { beacon, log, what, pauseMs = 0 } = options
  const retry = { log, what, firstMs: options.outageWaitMs }
  const chain = await retryWithBackoff({ ...retry, signal }, () => beacon.chain())
  if (chain === undefined) return
  refuseOtherNetwork(options.chain, chain)
  const head = latestHead(options, chain)
  const look = open(chain)
  const waker = new Waker()
  const stop = new AbortController()
  const either = AbortSignal.any([signal, stop.signal])
  const watching = beacon.watch((news) => {
    if (news.kind === 'finalized') return
    if (news.kind === 'head') head.update(news)
    else head.invalidate()
    waker.wake()
  }, either)
  watching.catch(() => stop.abort()) // it is awaited below
  try {
    while (!either.aborted) {
      const hasFound = await retryWithBackoff({ ...retry, signal: either }, async () => look(await head.get(), either))
      if (hasFound === true) await pause(pauseMs, either)
      else if (hasFound === false) await waker.wait(head.freshForMs, either)
    }
  } finally {
    stop.abort()
    await watching
  }
}

function latestHead({ beacon, now = Date.now }: WatchHeadOptions, { clock }: BeaconChain): Latest<BeaconHead> {
  return new Latest({
    ask: () => beacon.head(),
    heightOf: ({ slot }) => slot,
    freshUntilMs: (since) => onceAnEpoch(clock, since),
    now,
  })
}
