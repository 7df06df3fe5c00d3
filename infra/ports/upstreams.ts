import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'

/** A request as a node gets it: nothing of the client's but what stands here. */
export interface UpstreamRequest {
  readonly verb: 'GET' | 'HEAD' | 'POST'
  /** With the query, below the upstream's own address. */
  readonly path: string
  /** Names, lower-case, and values in turn. */
  readonly headers: readonly string[]
  readonly body: Uint8Array | Readable | null
  /** Its answer is events as they happen: it may be silent for as long as it likes. */
  readonly isEndless: boolean
  /** What it asks for may be nowhere, which the node may tell by its silence or in the middle of an answer, too. */
  readonly isSearch?: boolean | undefined
  /**
   * Of a native interface, whose paths are the client's: what the client is told of where a node leads it, which the node names by a path; undefined:
   * the client is not told of it, and another node is asked. Absent: nodes lead nowhere, and who does has failed.
   */
  readonly leadTo?: ((path: string) => string | undefined) | undefined
}

/**
 * Why there is no answer, by what the caller may do then:
 * `unreached`: no node has seen the request;
 * `refused`: the node has not done it, and its answer (3xx, 401, 402, 403, 407, 429) is about us: no client sees it;
 * `lost`: it may have done it, and the connection broke;
 * `silent`: it may have done it, and did not answer in time;
 * `cut`: it died in the middle of its answer.
 */
export type UpstreamFault = 'unreached' | 'refused' | 'lost' | 'silent' | 'cut'

/** Holds the answer's bytes back while the client does not read them. */
export interface Flow {
  pause(): void
  resume(): void
}

/**
 * Hears an answer as it arrives (where it leads elsewhere, `location` is what `leadTo` has made of it): `onHeaders`, then `onData` as often as there are bytes, then `onEnd`; or, at any point, `onFault`
 * and nothing after it.
 */
export interface AnswerHandler {
  onHeaders(status: number, headers: IncomingHttpHeaders, flow: Flow): void
  onData(chunk: Buffer): void
  /** False: the node has said something, and it is no answer to what was asked. */
  onEnd(): boolean
  onFault(fault: UpstreamFault): void
}

/** A node, or a provider's, behind an HTTP address that nobody but the adapter knows. */
export interface Upstream {
  /** Tells it from others of its network, and nothing else of it. */
  readonly id: string
  /**
   * Sends it once: whether it is sent again, here or elsewhere, is for the caller to say. Returns what ends it early, when the client
   * has gone; the handler hears nothing after that.
   */
  send(request: UpstreamRequest, handler: AnswerHandler): () => void
}

/** A WebSocket to a node. */
export interface UpstreamSocket {
  /** Of its upstream. */
  readonly id: string
  /** `onOut` is called when it is on its way, or can no longer be. */
  send(text: string | Uint8Array, onOut?: () => void): void
  /** Holds messages back while the client does not read them. */
  readonly flow: Flow
  /** The handler hears nothing after that. */
  close(): void
}

/** Hears `onOpen`, then `onMessage` as often as the node sends a text, and `onLost` once, at any point, and nothing after it. */
export interface SocketHandler {
  onOpen(): void
  onMessage(text: Buffer): void
  onLost(): void
}

export interface Wanted {
  /** Ids of those that this call has failed at. */
  readonly tried: readonly string[]
  /** Calls of one key go to one upstream while it is healthy, and to the next one in its own order otherwise. */
  readonly key?: string | undefined
  /** The id of the only one that will do. */
  readonly id?: string | undefined
  /** It needs the state of an old block: goes to one that has all, where such a one is well. */
  readonly isArchival?: boolean | undefined
  /** It asks for the newest block: goes to one that has what clients were told to be the newest, where such a one is well. */
  readonly isOfHead?: boolean | undefined
  /** Another one still works on it: goes to one that is well, or to none. */
  readonly isSpare?: boolean
}

/** What a group of upstreams is for. */
export interface GroupName {
  readonly protocol: string
  readonly network: string
  /** '' but for TON. */
  readonly service?: string
  /** Id of the order whose nodes they are, and nobody else's; absent: all share them. */
  readonly order?: string | undefined
}

/** What equal reads of a network share, as it is configured. */
export interface ReadSharing {
  /** Those that are in flight at a time are asked of one node, once. */
  readonly coalesce: boolean
  /** Of answers that change no more, which are kept; 0: none are. */
  readonly keptBytes: number
}

/** The upstreams of one network; of TON, of one of its APIs. */
export interface UpstreamGroup {
  /**
   * The one that may be asked now with the shortest wait ahead. Where none is healthy, one that was: the last resort. Undefined where none
   * is left, or none has shown that it is on the right chain.
   */
  choose(wanted: Wanted): Upstream | undefined
  /** Whether one of them has this id, well or not. */
  has(id: string): boolean
  /** All that are as good as the one that would be chosen. */
  all(): readonly Upstream[]
  /** Whether some of them have the states of all blocks, and others do not. */
  readonly hasArchives: boolean
  /** Milliseconds after which a read that may be sent twice is best asked of another one, too; undefined: it is not. */
  readonly hedgeMs: number | undefined
  /** Whether there are several: blocks come to one after the other. */
  readonly isSeveral: boolean
  /** One of them says to a client which block is the newest; false: it is behind what clients were told a moment ago, or far above what any other has, and others may know better. */
  tellsHead(id: string, number: number): boolean
  /** Each of them was asked, and none has what clients were told: this is the newest block. */
  headGoesBack(number: number): void
  /** Whether any of them has a WebSocket. */
  readonly hasSockets: boolean
  /**
   * The newest block that any of two has told, and of more that two of them have: one that tells a block of another time must not have all others
   * left out. Undefined where none has told any.
   */
  readonly head: number | undefined
  /** Undefined: each read is asked by itself. */
  readonly sharing: ReadSharing | undefined
  /**
   * The newest block that is final at each of them: what one of them says of blocks up to there changes no more. Undefined where one has told
   * none, and where no answers are kept.
   */
  readonly final: number | undefined
  /** How often one of them has turned out to follow another chain: what was heard before may be of that one. */
  readonly strays: number
  /**
   * Connects to one that has a WebSocket, chosen as `choose` does among those whose WebSocket is not known not to connect; where there is no
   * such one, among all. The socket is lost when it closes, when the node does not answer pings, and when its upstream is left out while
   * another one, whose WebSocket may connect, is not.
   */
  connect(wanted: Wanted, handler: SocketHandler): UpstreamSocket | undefined
  /** Counts a call of a client, which earns a part of a retry. */
  countCall(): void
  /** Whether a call that has failed may be sent again: where all upstreams fail, little more is sent than clients ask. */
  takeRetry(): boolean
  /** A call that was sent again has failed again: what fails everywhere is not asked of everybody. */
  retryFailed(): void
  /** Whether a call may be sent to another one because it is slow; what is sent again for failures comes first. `hedgeEnded` ends it. */
  takeHedge(): boolean
  /** The other one has begun to answer, or nobody waits for it any more. */
  hedgeEnded(): void
}

/** How an upstream is, for those who watch over the program. */
export interface UpstreamStatus {
  /** Opaque. */
  readonly id: string
  /** The newest block that it had when it was asked last; undefined while it does not answer, or where the chain has none. */
  readonly head: number | undefined
  /** Whether it has answered when it was asked last: what is wrong with one that does is not over in a moment. */
  readonly answers: boolean
  /** Why it is left out; undefined: it is not. */
  readonly fault: string | undefined
  /** Why nothing is asked over its WebSocket; undefined where it connects, was not tried yet, or is not there. */
  readonly socketFault: string | undefined
}

/** The upstreams of one network, as they are now. */
export interface NetworkStatus {
  /** `ethereum/mainnet`, `ton/mainnet/v2`; behind the id of the order whose nodes they are. */
  readonly name: string
  readonly upstreams: readonly UpstreamStatus[]
}

/**
 * What the gateway forwards to. Guarantees: an upstream that lags, stands still, follows another chain or fails is left out while
 * others do not, and comes back by itself. Not promised: that two answers in turn are of one block.
 */
export interface Upstreams {
  /** Undefined: none is configured. What is sent to a group goes to its own upstreams alone. */
  groupOf(name: GroupName): UpstreamGroup | undefined
}
