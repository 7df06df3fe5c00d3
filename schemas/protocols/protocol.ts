/** JSON-RPC calls are told apart by `method` of their body (of XRP over WebSocket by `command`), others by their route. */
export type CallForm = 'json-rpc' | 'rest'

export type Verb = 'GET' | 'HEAD' | 'POST'

/** A way into a node that is open to whoever has a token. What is no route does not exist (404). */
export interface Route {
  readonly verbs: readonly Verb[]
  /** Behind the token, as users write it. `*` is one segment; `**`, at the end alone, whatever follows, or nothing. */
  readonly path: string
  /** Where nodes have it, if not at `path`; its `*`s stand for those of `path`, in order. */
  readonly nodePath?: string
  readonly form: CallForm
  /** Changes something (REST): is never sent twice. GET and HEAD never do. */
  readonly isWrite?: true
  /** An answer without end: server-sent events. */
  readonly isStream?: true
  /** The segment of `path`, from 1, that names the block whose state is asked for. */
  readonly blockAt?: number
}

/** One question to a node, and where in the JSON of its answer what it asks for stands. */
export interface Probe {
  readonly verb: 'GET' | 'POST'
  /** A route of the same service. */
  readonly path: string
  /** JSON-RPC bodies in full. */
  readonly body?: object
  /** Names and indices from the outside in; none: the answer as a whole. */
  readonly at: readonly (string | number)[]
  /** A whole number as a JSON number or decimal text; a number as hex text with 0x; text as it is. */
  readonly as: 'number' | 'hex' | 'text'
}

/**
 * What is known of JSON-RPC methods. A name is a pattern: `*` at its end is any rest. No name is in two of these lists, but for `closed`. What
 * is in none is passed on, and sent once, unless `others` says which are.
 */
export interface Methods {
  /** May be asked again, and of another upstream. */
  readonly reads: readonly string[]
  /**
   * Signed transactions: to all upstreams. However many nodes get one, it is applied once; nodes that have it already may say so
   * as an error, so one that took it is the answer.
   */
  readonly broadcasts: readonly string[]
  /** Finds what was broadcast by the Keccak-256 of its bytes, which are the first parameter there as hex. Absent: its name does not follow from its bytes so simply. */
  readonly findsBroadcast?: string
  /** Makes a filter whose id only its upstream knows. */
  readonly makesFilter: readonly string[]
  /** Takes such an id as its first parameter. */
  readonly takesFilter: readonly string[]
  /** Administers the node, or uses keys that lie on it: never passed on, whoever asks. */
  readonly refused: readonly string[]
  /** Of these, what no other list names is refused likewise; absent: there are none. They are patterns around names of other lists. */
  readonly closed?: readonly string[]
  /** What else is passed on, and sent once; absent: whatever is in none of these lists. */
  readonly others?: readonly string[]
  /** Members of the first parameter, or beside it, that hold a secret or administer the node: a call of the method with one is refused, whoever asks. */
  readonly refusedWith?: Readonly<Record<string, readonly string[]>>
  /** Of those that need the state of a block: which parameter names it, from 0. */
  readonly blockAt?: Readonly<Record<string, number>>
  /** Subscribe methods and what ends them, over WebSocket. */
  readonly subscribes: Readonly<Record<string, string>>
  /** Of these, what changes something, or begins with what only its own beginning has: each client's is one of its own at the node. */
  readonly ownSubscriptions?: readonly string[]
  /** Of these, what begins with how things are: who joins others is told that too. */
  readonly latestFirst?: readonly string[]
  /** Of reads, those whose answers may be kept; absent: none. */
  readonly kept?: KeptReads
  /** Which of them name a contract of an EVM chain; absent: none does. */
  readonly contracts?: ContractMethods
}

/** Reads that are answered alike for ever. Names are whole, not patterns. */
export interface KeptReads {
  /** Whenever they are asked. */
  readonly always: readonly string[]
  /**
   * Once the block is final that the result is of. Of the result's members, `block` is that block's number in hex, and `named` what the
   * first parameter asks for: where they differ, a tag was asked for, or a node has answered something else.
   */
  readonly ofFinal: Readonly<Record<string, FinalResult>>
}

export interface FinalResult {
  readonly block: string
  readonly named: string
}

/**
 * Methods by where they name a contract. A name is a pattern, as of `Methods`; none is in two of these lists. What is in none of them may name
 * any, and is for keys without a list of contracts: several calls at a time, tracers that are programs, parts of storage, and what nobody here knows.
 */
export interface ContractMethods {
  /** `to` of the transaction that is the first parameter. One without it runs code of its own, which may call whatever it likes. */
  readonly transaction: readonly string[]
  /** The first parameter. */
  readonly address: readonly string[]
  /** `address` of the filter that is the first parameter, one or a list. One without it is for the logs of all contracts. */
  readonly logs: readonly string[]
  /** Such a filter is the second parameter, where the first one is `logs`. */
  readonly subscription: readonly string[]
  /** `to` of the signed transaction whose bytes are the first parameter as hex. */
  readonly rawTransaction: readonly string[]
  /** They name none. */
  readonly none: readonly string[]
}

export interface Network {
  /**
   * What the identity probe answers: a number in the spelling that its chain prints, or text; by the service's name where services
   * answer differently. Absent: not known, not compared.
   */
  readonly identity?: string | Readonly<Record<string, string>>
  /** Was shut down, or is about to be: answers as one without upstreams unless some are configured. */
  readonly isRetired?: true
}

/** What one set of upstreams serves; only TON has two. */
export interface Service {
  /** '' but for TON: `v2`, `v3`. */
  readonly name: string
  readonly routes: readonly Route[]
  /** The height of the newest block. Absent: there are no blocks. */
  readonly head?: Probe
  readonly identity?: Probe
  /** The height of the newest block that changes no more, as far as the node knows. Absent: nobody tells. */
  readonly final?: Probe
  /** Blocks behind the best upstream at which one is left out. Where they come from: decision 41. */
  readonly lagMax: number
  /** Its nodes look at others for what is asked for, and it may be nowhere: that nothing is found in time says nothing of the node. */
  readonly searchesPeers?: true
}

export interface Protocol {
  /** First segment of the gateway's paths. */
  readonly name: string
  readonly networks: Readonly<Record<string, Network>>
  readonly services: readonly Service[]
  /** Newest blocks whose states every node has; older ones are asked of archives. Undefined: it is not known which calls need them. */
  readonly statesKept?: number
  /** Operators may give its networks host names of their own, which are followed by the token at once. */
  readonly hasOwnHost?: true
  /** Undefined: no JSON-RPC. */
  readonly methods?: Methods
  /**
   * Undefined: the protocol has no WebSocket. `path` is where upstreams have it; `isBridged`: they have none, calls go over HTTP;
   * `methodKey`: the member that names the method, if it is not `method`.
   */
  readonly webSocket?: { readonly path: string; readonly isBridged?: true; readonly methodKey?: 'command' }
}
