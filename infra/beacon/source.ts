import { Worker } from 'node:worker_threads'
// Loaded here because it is never unloaded here: when the last thread that has this native library ends while another one loads it, the
// process crashes, or waits for the ending thread for ever.
import '@chainsafe/swap-or-not-shuffle'
import { AppError } from '../../schemas/errors.ts'
import { parseNodeUrl } from '../nodes/nodes.ts'
import { errorOf } from '../nodes/thread-answers.ts'
import type {
  BeaconSource,
  ChainNews,
  EpochOfBranch,
  FinalChain,
  FinalizedCheckpoint,
  ValidatorSet,
} from '../ports/beacon-source.ts'
import type { Log } from '../ports/log.ts'
import type { NodeStatus } from '../ports/node-status.ts'
import { type BeaconSourceOptions, nodeName } from './options.ts'
import type { FinalQuestion, FromThread, KeptSet, Question, ThreadStart, ToThread } from './thread-messages.ts'

/** Sets of validators that the thread keeps: those of the chain's head, of epochs read side by side, and a few small ones. */
const KEPT_SETS_MAX = 8

/**
 * Opens the standard Beacon API of one or more nodes; asks them nothing. Throws AppError `config` for an address that is none.
 *
 * Answers are received and read in a thread of their own: a registry of a million validators is half a gigabyte of JSON, and
 * whoever else lives in this process - the API, the processors - would stand still for seconds at every epoch.
 */
export async function openBeaconSource(options: BeaconSourceOptions): Promise<BeaconSource> {
  options.urls.forEach((url, i) => {
    parseNodeUrl(nodeName(i), url)
  })
  return new ThreadedBeaconSource(options)
}

/** One event stream of the thread, for all who watch meanwhile. */
interface Stream {
  readonly id: number
  readonly watchers: Set<(news: ChainNews) => void>
  /** Settles when the thread no longer watches. */
  readonly ended: Promise<unknown>
}

interface Waiting {
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
  readonly onNews?: (news: ChainNews) => void
}

class ThreadedBeaconSource implements BeaconSource {
  readonly #thread: Worker
  readonly #exited: Promise<void>
  readonly #log: Log
  readonly #waiting = new Map<number, Waiting>()
  /** Numbers of the sets that the thread keeps, the one used last at the end. */
  readonly #kept = new Map<ValidatorSet, number>()
  #status: readonly NodeStatus[]
  /** Why nobody answers any more. */
  #ended: { readonly reason: unknown } | undefined
  #asked = 0
  #sets = 0
  #stream: Stream | undefined
  /** Told in this turn: they go over together, as each message wakes the thread. */
  #untold: ToThread[] = []

  constructor({ urls, limits = {}, rewardsBy = 'states', statesFolder, scheduleFreshMs, log }: BeaconSourceOptions) {
    const start: ThreadStart = { urls, limits, rewardsBy, statesFolder, scheduleFreshMs }
    this.#log = log
    this.#status = urls.map((_, i) => ({ name: nodeName(i), state: 'unknown' }))
    this.#thread = new Worker(new URL('./source-thread.ts', import.meta.url), { workerData: start })
    this.#thread.on('message', (messages: readonly FromThread[]) => {
      for (const message of messages) this.#hear(message)
    })
    this.#exited = new Promise((resolve) => this.#thread.once('exit', () => resolve()))
    this.#thread.on('error', (error) => this.#end(error))
    this.#thread.on('exit', () => this.#end(closed()))
  }

  readonly chain = () => this.#ask('chain')
  readonly head = () => this.#ask('head')
  readonly finalized = () => this.#ask('finalized')
  readonly blockAt = (slot: number) => this.#ask('blockAt', slot)
  readonly blockByRoot = (root: string) => this.#ask('blockByRoot', root)
  readonly headerByRoot = (root: string) => this.#ask('headerByRoot', root)
  readonly keepState = (epoch: EpochOfBranch) => this.#ask('keepState', epoch)
  readonly dropStatesBefore = (epoch: number, endRoot: string) => this.#ask('dropStatesBefore', epoch, endRoot)
  readonly queues = (own: readonly string[]) => this.#ask('queues', own)

  finalChain(checkpoint: FinalizedCheckpoint): FinalChain {
    const ask = <Name extends FinalQuestion>(question: Name, ...args: Parameters<FinalChain[Name]>) => {
      return this.#send(
        (id, sent) => ({ kind: 'ask final', id, checkpoint, question, args: sent }),
        args,
      ) as ReturnType<FinalChain[Name]>
    }
    return {
      blockHint: (slot) => ask('blockHint', slot),
      rootAt: (slot) => ask('rootAt', slot),
      validators: (slot, set) => ask('validators', slot, set),
      balances: (slot, set) => ask('balances', slot, set),
      identify: (slot, pubkeys) => ask('identify', slot, pubkeys),
      registered: (claims) => ask('registered', claims),
      explainedEpoch: (question, set) => ask('explainedEpoch', question, set),
      stateOffer: (slot) => ask('stateOffer', slot),
      pendingDeposits: (slot) => ask('pendingDeposits', slot),
      attestationRewards: (epoch, set) => ask('attestationRewards', epoch, set),
      proposerReward: (blockRoot) => ask('proposerReward', blockRoot),
      syncRewards: (blockRoot, set) => ask('syncRewards', blockRoot, set),
      syncCommittee: (epoch) => ask('syncCommittee', epoch),
      confirm: () => ask('confirm'),
    }
  }

  async watch(onNews: (news: ChainNews) => void, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const hear = (news: ChainNews): void => {
      if (!signal.aborted) onNews(news) // it may have been on its way
    }
    const isFirst = this.#stream === undefined
    const stream = this.#stream ?? this.#openStream()
    stream.watchers.add(hear)
    if (!isFirst) hear({ kind: 'gap' }) // what the stream has told before is not told again
    const left = Promise.withResolvers<void>()
    const leave = () => {
      stream.watchers.delete(hear)
      if (stream.watchers.size > 0) left.resolve()
      else this.#closeStream(stream)
    }
    signal.addEventListener('abort', leave, { once: true })
    try {
      await Promise.race([stream.ended, left.promise])
    } catch (error) {
      if (!signal.aborted) throw error // what ends the watching may have closed the source too
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  #openStream(): Stream {
    const id = this.#asked++
    const watchers = new Set<(news: ChainNews) => void>()
    const ended = this.#wait(id, { kind: 'watch', id }, (news) => {
      for (const hear of watchers) hear(news)
    })
    const stream = { id, watchers, ended }
    const forget = () => {
      if (this.#stream === stream) this.#stream = undefined
    }
    ended.then(forget, forget)
    this.#stream = stream
    return stream
  }

  #closeStream(stream: Stream): void {
    if (this.#stream === stream) this.#stream = undefined
    this.#tell({ kind: 'unwatch', id: stream.id })
  }

  status(): readonly NodeStatus[] {
    return this.#status
  }

  /** Ends the questions that are being asked. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end(closed())
    this.#tell({ kind: 'close' })
    await this.#exited
  }

  #ask<Name extends Question>(question: Name, ...args: Parameters<BeaconSource[Name]>): ReturnType<BeaconSource[Name]> {
    return this.#send((id, sent) => ({ kind: 'ask', id, question, args: sent }), args) as ReturnType<BeaconSource[Name]>
  }

  #send(toMessage: (id: number, args: readonly unknown[]) => ToThread, args: readonly unknown[]): Promise<unknown> {
    const id = this.#asked++
    const sent = args.map((value) => (value instanceof Uint32Array ? this.#keep(value) : value))
    return this.#wait(id, toMessage(id, sent))
  }

  /** The same array is sent once; the thread keeps what it makes of it. */
  #keep(validators: ValidatorSet): KeptSet {
    const set = this.#kept.get(validators) ?? this.#sets++
    if (!this.#kept.delete(validators)) this.#tell({ kind: 'keep', set, validators })
    this.#kept.set(validators, set)
    const [oldest] = this.#kept
    if (this.#kept.size > KEPT_SETS_MAX && oldest !== undefined) {
      this.#kept.delete(oldest[0])
      this.#tell({ kind: 'forget', set: oldest[1] })
    }
    return { set }
  }

  #wait(id: number, message: ToThread, onNews?: (news: ChainNews) => void): Promise<unknown> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended.reason)
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#waiting.set(id, { resolve, reject, ...(onNews === undefined ? {} : { onNews }) })
    this.#tell(message)
    return promise
  }

  #tell(message: ToThread): void {
    if (this.#untold.length === 0) queueMicrotask(() => this.#flush())
    this.#untold.push(message)
  }

  #flush(): void {
    const messages = this.#untold
    this.#untold = []
    this.#thread.postMessage(messages)
  }

  #hear(message: FromThread): void {
    switch (message.kind) {
      case 'answer':
        this.#take(message.id)?.resolve(message.value as never)
        return
      case 'failed':
        this.#take(message.id)?.reject(errorOf(message))
        return
      case 'news':
        this.#waiting.get(message.id)?.onNews?.(message.news)
        return
      case 'status':
        this.#status = message.status
        return
      case 'log':
        this.#log[message.level](message.fields, message.message)
    }
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    return waiting
  }

  #end(reason: unknown): void {
    this.#ended ??= { reason }
    for (const { reject } of this.#waiting.values()) reject(reason)
    this.#waiting.clear()
  }
}

function closed(): AppError {
  return new AppError('usage', 'The beacon source is closed.')
}
