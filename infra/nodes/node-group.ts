import { AppError, type ErrorCode, isNodeFault } from '../../schemas/errors.ts'
import { pause } from '../../schemas/wait.ts'
import type { Log } from '../ports/log.ts'
import type { NodeDifference, NodeStatus } from '../ports/node-status.ts'
import type { NodeLimits } from './nodes.ts'

/**
 * A question that failed is asked again within half a minute, and may take another one to fail: the fault of a kind of question
 * that nobody has asked for so long says nothing about the node any more.
 */
const FAULT_STANDS_MS = 180_000
/** Of what one node has told otherwise: it may name its client anew each time. */
const DIFFERENCES_MAX = 16
/** A node behind the others fails many a question: it is told so often at most. */
const TELL_BEHIND_MS = 60_000

/** A node that a group asks; its name is the one in messages. */
export interface Askable extends AsyncDisposable {
  readonly name: string
  /** Time by `performance.now()` before which the node does not want to be asked again. */
  readonly welcomeFromMs: number
}

interface Member<Node> {
  readonly node: Node
  restsUntilMs: number
  /** Resolves when the node is known to be on the group's chain; undefined while nobody has asked. */
  identified: Promise<void> | undefined
  status: NodeStatus
  /** Kinds of questions that it failed in all tries and has not answered since, with the time until when that counts. */
  readonly failing: Map<string, { readonly code: ErrorCode; readonly untilMs: number }>
  toldBehindMs: number
  toldPauseUntilMs: number
  /** By what and client. */
  readonly differences: Map<string, NodeDifference>
}

/**
 * The main node and its fallbacks. A question is tried on the main node with growing waits, then on the next one. A node that
 * failed rests: others are asked first for a while, so that a dead main node does not cost its timeout on every question.
 * Nothing is asked before the first question; which chain a node is on is found out when it answers for the first time.
 *
 * A node counts as away while any kind of question is failing: one that answers for its head and hangs over its states would
 * pass for sound otherwise. Disposing of the group ends the questions that are being asked.
 */
export class NodeGroup<Node extends Askable> implements AsyncDisposable {
  readonly #members: readonly Member<Node>[]
  readonly #limits: NodeLimits
  readonly #log: Log
  readonly #identify: (node: Node) => Promise<string>
  readonly #onStatus: ((status: readonly NodeStatus[]) => void) | undefined
  readonly #closing = new AbortController()
  #identity: string | undefined

  constructor(options: {
    readonly nodes: readonly Node[]
    readonly limits: NodeLimits
    readonly log: Log
    /** Text that is equal for all nodes of one chain. */
    readonly identify: (node: Node) => Promise<string>
    /** Hears how the nodes are whenever that has changed. */
    readonly onStatus?: ((status: readonly NodeStatus[]) => void) | undefined
  }) {
    this.#members = options.nodes.map((node) => ({
      node,
      restsUntilMs: 0,
      identified: undefined,
      status: { name: node.name, state: 'unknown' },
      failing: new Map(),
      toldBehindMs: Number.NEGATIVE_INFINITY,
      toldPauseUntilMs: 0,
      differences: new Map(),
    }))
    this.#limits = options.limits
    this.#log = options.log
    this.#identify = options.identify
    this.#onStatus = options.onStatus
  }

  get nodes(): readonly Node[] {
    return this.#members.map(({ node }) => node)
  }

  /** What is known of each node from the questions so far; asks nothing. */
  status(): readonly NodeStatus[] {
    return this.#members.map(({ status, differences }) =>
      differences.size === 0 ? status : { ...status, differences: [...differences.values()] },
    )
  }

  /**
   * Asks in turn until one answers. `kind` names questions that a node answers in one way: "head", "states". The question throws
   * AppErrors of a node fault; others end it at once. Throws AppError `usage` when the group is closed meanwhile.
   */
  async ask<Answer>(kind: string, question: (node: Node) => Promise<Answer>): Promise<Answer> {
    let last: AppError | undefined
    for (const member of this.#inOrder()) {
      try {
        const answer = await this.#askOne(member, question)
        this.#noteAnswer(member, kind)
        return answer
      } catch (error) {
        this.#refuseIfClosed()
        if (!isNodeFault(error)) throw error
        last = named(member.node.name, error)
        this.#noteFault(member, kind, last)
      }
    }
    throw last ?? new AppError('config', 'no node is configured')
  }

  #refuseIfClosed(): void {
    if (this.#closing.signal.aborted) throw new AppError('usage', 'The nodes are not asked any more.')
  }

  #noteAnswer(member: Member<Node>, kind: string): void {
    const { failing } = member
    if (failing.size > 0) {
      failing.delete(kind)
      for (const [other, { untilMs }] of failing) if (untilMs < performance.now()) failing.delete(other)
    }
    const { status } = member
    if (failing.size > 0 || status.state === 'up') return
    const { state, since = Date.now() } = status
    if (state === 'away') {
      const awayMs = Date.now() - since
      this.#log.info({ awayMs }, `${status.name} is back after ${Math.round(awayMs / 1_000)} s`)
    }
    this.#setStatus(member, { name: status.name, state: 'up', since: Date.now() })
  }

  #noteFault(member: Member<Node>, kind: string, error: AppError): void {
    const { code } = error
    if (code === 'node_lagging') {
      // Being behind is no reason to be passed over for everything else: the node is there.
      this.#noteAnswer(member, kind)
      if (this.#members.length > 1) this.#tellBehind(member, error)
      return
    }
    const nowMs = performance.now()
    member.restsUntilMs = nowMs + this.#limits.restMs
    member.failing.set(kind, { code, untilMs: nowMs + FAULT_STANDS_MS })
    const { name, state, since, fault } = member.status
    if (state === 'away') {
      if (fault !== code) this.#setStatus(member, { name, state, since: since ?? Date.now(), fault: code })
      return
    }
    this.#log.warn({ code }, `${name} is lost: ${withoutName(name, error.message)}`)
    this.#setStatus(member, { name, state: 'away', since: Date.now(), fault: code })
  }

  /** Where there is another node, its answer would hide that this one does not have it. */
  #tellBehind(member: Member<Node>, { code, message }: AppError): void {
    const nowMs = performance.now()
    if (nowMs - member.toldBehindMs < TELL_BEHIND_MS) return
    member.toldBehindMs = nowMs
    this.#log.info({ code }, `${message}: another node is asked`)
  }

  /** Notes that a node has told otherwise than figures go by, which says nothing about whether it answers. */
  noteDifference(node: Node, { what, client }: Omit<NodeDifference, 'times'>): void {
    const differences = this.#members.find((member) => member.node === node)?.differences
    if (differences === undefined) return
    const key = `${what} ${client}`
    const times = (differences.get(key)?.times ?? 0) + 1
    if (times === 1 && differences.size >= DIFFERENCES_MAX) return
    differences.set(key, { what, client, times })
    this.#onStatus?.(this.status())
  }

  #setStatus(member: Member<Node>, status: NodeStatus): void {
    member.status = status
    this.#onStatus?.(this.status())
  }

  #inOrder(): readonly Member<Node>[] {
    if (this.#members.length === 1) return this.#members
    const now = performance.now()
    const isReady = ({ restsUntilMs, node }: Member<Node>) => restsUntilMs <= now && node.welcomeFromMs <= now
    const resting = this.#members.filter((member) => !isReady(member))
    return [...this.#members.filter(isReady), ...resting.sort((a, b) => a.node.welcomeFromMs - b.node.welcomeFromMs)]
  }

  async #askOne<Answer>(member: Member<Node>, question: (node: Node) => Promise<Answer>): Promise<Answer> {
    const { attemptsPerNode, retryDelayMs, retryWithinMs } = this.#limits
    for (let attempt = 1; ; attempt++) {
      await this.#untilWelcome(member)
      const askedMs = performance.now()
      try {
        await this.#identified(member)
        return await question(member.node)
      } catch (error) {
        const isLast = attempt >= attemptsPerNode || performance.now() - askedMs > retryWithinMs
        if (isLast || !isNodeFault(error) || !error.retryable) throw error
        this.#log.debug({ code: error.code, attempt }, `${named(member.node.name, error).message}: asked again`)
        // Another node may answer while this one has its pause.
        if (this.#members.length > 1 && member.node.welcomeFromMs > performance.now()) throw error
      }
      const jitter = 1 + Math.random()
      await pause(retryDelayMs * 2 ** (attempt - 1) * jitter, this.#closing.signal)
    }
  }

  async #untilWelcome(member: Member<Node>): Promise<void> {
    const { name, welcomeFromMs } = member.node
    const nowMs = performance.now()
    const waitMs = welcomeFromMs - nowMs
    if (waitMs > 0) {
      if (member.toldPauseUntilMs <= nowMs) {
        member.toldPauseUntilMs = welcomeFromMs
        this.#log.warn({ waitMs: Math.round(waitMs) }, `${name} asked for a pause of ${Math.ceil(waitMs / 1_000)} s`)
      }
      await pause(waitMs, this.#closing.signal)
    }
    this.#refuseIfClosed()
  }

  /** Resolves when the node is on the group's chain; throws `node_inconsistent` when it is on another one. */
  async check(node: Node): Promise<void> {
    const member = this.#members.find((one) => one.node === node)
    if (member !== undefined) await this.#identified(member)
  }

  /** Questions that come while the node is being identified wait for that one answer. */
  #identified(member: Member<Node>): Promise<void> {
    member.identified ??= this.#learnChain(member.node).catch((error: unknown) => {
      member.identified = undefined
      throw error
    })
    return member.identified
  }

  async #learnChain(node: Node): Promise<void> {
    const identity = await this.#identify(node)
    this.#identity ??= identity
    if (identity === this.#identity) return
    throw new AppError('node_inconsistent', `${node.name} is on another chain (${identity}) than ${this.#identity}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#members.map(({ node }) => node[Symbol.asyncDispose]()))
  }
}

/** What reads an answer does not know whose it is. */
function named(name: string, error: AppError): AppError {
  if (error.message.startsWith(name)) return error
  return new AppError(error.code, `${name}: ${error.message}`, { retryable: error.retryable, cause: error.cause })
}

function withoutName(name: string, message: string): string {
  return message.slice(name.length).replace(/^:? /, '')
}
