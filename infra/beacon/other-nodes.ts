import { hexOf } from '../../schemas/eth/hex.ts'
import type { ToldOtherwise } from '../../schemas/events/beacon-epoch.ts'
import type { NodeGroup } from '../nodes/node-group.ts'
import type { ChainNode } from '../nodes/nodes.ts'
import type { Log } from '../ports/log.ts'
import { refuseOptimistic } from './answer-flags.ts'
import { clientOf, withClient } from './node-client.ts'
import { askRoute } from './route.ts'
import { BEACON } from './routes.ts'

/** An epoch is not held up for longer by nodes whose word it does not need. */
const ANSWER_MS_MAX = 2_000
/** A node that did not answer is not asked again for so long. */
const REST_MS = 60_000
/** A node that names other states does so in every epoch: it is told of so often at most. */
const TELL_AGAIN_MS = 60_000
/** Nodes, one of which has given the state, that have to name its root: then another one than that is among them. */
const NAMED_BY = 2

/** A state that figures were computed of. */
export interface UsedState {
  readonly slot: number
  /** Computed of its bytes. */
  readonly root: string
}

export interface Agreement {
  readonly isAgreed: boolean
  readonly differences: readonly ToldOtherwise[]
}

export interface OtherNodesOptions {
  readonly nodes: NodeGroup<ChainNode>
  readonly log: Log
  readonly answerMsMax?: number
}

/**
 * What nodes say of states that one of them has given: whether a second one names the same root for the slot. Each node makes its states
 * itself, so equal roots are the word of two nodes, and of two clients where they differ; the state is not read again. A root commits to
 * those of earlier states, so the word about the state after an epoch is one about the state before it, too.
 */
export class OtherNodes {
  readonly #options: OtherNodesOptions
  readonly #restsUntilMs = new Map<ChainNode, number>()
  readonly #untoldUntilMs = new Map<ChainNode, number>()

  constructor(options: OtherNodesOptions) {
    this.#options = options
  }

  /** Whether two nodes name the state's root, and which name another. No figure depends on it, and no fault of a node makes it throw. */
  async agree(state: UsedState): Promise<Agreement> {
    const nowMs = performance.now()
    const asked = this.#options.nodes.nodes.filter(
      (node) => (this.#restsUntilMs.get(node) ?? 0) <= nowMs && node.welcomeFromMs <= nowMs,
    )
    if (asked.length < NAMED_BY) return { isAgreed: false, differences: [] }
    const named = await Promise.all(asked.map((node) => this.#rootOf(node, state.slot)))
    const others = asked.filter((_, at) => named[at] !== undefined && named[at] !== state.root)
    const differences = await Promise.all(others.map((node) => this.#tell(node, state)))
    return { isAgreed: named.filter((root) => root === state.root).length >= NAMED_BY, differences }
  }

  async #rootOf(node: ChainNode, slot: number): Promise<string | undefined> {
    const { nodes, answerMsMax = ANSWER_MS_MAX } = this.#options
    // A node that fails says nothing here: whoever needs its answers for a figure tells of the fault.
    const asking = nodes.check(node).then(
      () => askStateRoot(node, slot),
      () => 'late' as const,
    )
    const answer = await withinMs(
      answerMsMax,
      asking.catch(() => 'late' as const),
      'late' as const,
    )
    if (answer !== 'late') return answer
    this.#restsUntilMs.set(node, performance.now() + REST_MS)
    return undefined
  }

  async #tell(node: ChainNode, { slot }: UsedState): Promise<ToldOtherwise> {
    const { answerMsMax = ANSWER_MS_MAX } = this.#options
    const client = await withinMs(answerMsMax, clientOf(node), '')
    const told = { node: node.name, client, what: 'state root' } as const
    this.#options.nodes.noteDifference(node, told)
    const nowMs = performance.now()
    if ((this.#untoldUntilMs.get(node) ?? 0) > nowMs) return told
    this.#untoldUntilMs.set(node, nowMs + TELL_AGAIN_MS)
    const what = `${withClient(node, client)} names another root for the state of slot ${slot} than the chain's blocks do`
    this.#options.log.warn({ slot }, `${what}: figures go by the blocks, and are not told as agreed`)
    return told
  }
}

/** What comes of it in time, or else something that stands for it. */
export async function withinMs<Answer, Late>(
  msMax: number,
  asked: Promise<Answer>,
  late: Late,
): Promise<Answer | Late> {
  const over = Promise.withResolvers<Late>()
  const timer = setTimeout(over.resolve, msMax, late)
  try {
    return await Promise.race([asked, over.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** The root that a node names for the state after a slot; undefined where it does not have the state (any more). Throws AppError of a node fault. */
export async function askStateRoot(node: ChainNode, slot: number): Promise<string | undefined> {
  const what = `the root of the state of slot ${slot}`
  const answer = await askRoute(node, BEACON.getStateRoot, { stateId: slot }, { what })
  if (answer === undefined) return undefined
  refuseOptimistic(node, what, answer.flags)
  return hexOf(answer.data.root)
}
