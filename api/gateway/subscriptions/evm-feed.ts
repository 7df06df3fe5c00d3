import { setImmediate as breathe, setTimeout as wait } from 'node:timers/promises'
import { type BlockRef, ChainView, type KnownBlock, REPLAYED_BLOCKS_MAX, readBlock } from './chain-view.ts'
import type { NodeLink } from './node-link.ts'
import type { Notification } from './rpc-link.ts'
import type { SharedSubscription } from './shared-subscription.ts'
import type { LogFilter } from './subscribe-call.ts'
import { ToldLogs } from './told-logs.ts'

/** Logs of heads that were told lately may have been on their way when the node was lost: of so many blocks at least, */
const CHECKED_BLOCKS = 8
/** and of all that became known within so long of the newest one. Nodes take several blocks at once, and tell their logs behind. */
const CHECKED_MS = 10_000
/** Of all subscriptions to logs of one chain, in equal parts: what can be told to be removed. */
const KEPT_BYTES_MAX = 64 * 1024 * 1024
/** Of one of them. */
const KEPT_BYTES_OF_ONE_MAX = 2 * 1024 * 1024
/** Of what nodes tell while something before it is looked up. */
const HELD_MAX = 10_000
/** A node that is behind what was told is asked again. */
const BEHIND_MS = 100
/** What blocks have besides their heads. */
const BODY_MEMBERS: ReadonlySet<string> = new Set([
  ...['transactions', 'uncles', 'withdrawals', 'size', 'totalDifficulty'],
])

type Members = Readonly<Record<string, unknown>>

/** A block as a node tells it when asked. */
interface LookedUp {
  readonly ref: BlockRef
  readonly json: Members
}

/** Logs of one subscription in a block that is known. */
interface LogsOfBlock {
  readonly hash: string
  readonly logs: readonly unknown[]
}

/** Whether nothing is missing any more; `failed`: this node does not say what is; `impossible`: it is more than is looked up. */
export type CaughtUp = 'whole' | 'failed' | 'impossible'

interface Held {
  readonly shared: SharedSubscription
  readonly notification: Notification
}

/**
 * Heads and logs of one EVM chain, told so that nothing is missing and nothing is told twice, whichever node tells. A head that does not
 * follow what was told, and all that happened while there was no node, is looked up at the node that tells from then on.
 */
export class EvmFeed {
  readonly #view = new ChainView()
  readonly #logs = new Map<SharedSubscription, ToldLogs>()
  readonly #onStuck: (shared?: SharedSubscription) => void
  #heads: SharedSubscription | undefined
  #link: NodeLink | undefined
  /** What waits until something before it is told; undefined: nothing has to wait. */
  #held: Held[] | undefined

  /** `onStuck` is called when something is missing and cannot be looked up, of one subscription or of all. */
  constructor(onStuck: (shared?: SharedSubscription) => void) {
    this.#onStuck = onStuck
  }

  /** The subscription is known from here on, the first time or again; `base` is the head before it. */
  begin(shared: SharedSubscription, base: unknown): void {
    if (shared.call.replayed !== 'heads') {
      if (!this.#logs.has(shared)) this.#logs.set(shared, new ToldLogs(this.#view))
      this.#shareRoom()
      return
    }
    this.#heads = shared
    const block = readBlock(base)
    if (this.#view.tip === undefined && block !== undefined) this.#view.extend(block)
  }

  end(shared: SharedSubscription): void {
    if (this.#logs.delete(shared)) this.#shareRoom()
    if (shared !== this.#heads) return
    this.#heads = undefined
    this.#view.clear()
  }

  #shareRoom(): void {
    const bytesMax = Math.min(KEPT_BYTES_OF_ONE_MAX, KEPT_BYTES_MAX / this.#logs.size)
    for (const told of this.#logs.values()) told.keepAtMost(bytesMax)
  }

  /** Holds back what the node tells until `release`. */
  hold(link: NodeLink): void {
    this.#link = link
    this.#held = []
  }

  release(): void {
    const held = this.#held ?? []
    while (held.length > 0) {
      const { shared, notification } = held.shift() as Held
      if (this.#take(shared, notification)) continue
      // What is left waits on, behind what is looked up now.
      this.#held = held
      return
    }
    this.#held = undefined
  }

  take(shared: SharedSubscription, notification: Notification): void {
    if (this.#held === undefined) {
      if (!this.#take(shared, notification)) this.#held = []
    } else if (this.#held.length < HELD_MAX) this.#held.push({ shared, notification })
    else {
      this.#held.length = 0
      this.#onStuck()
    }
  }

  /** Tells what has happened between what was told last and what the link's node has now. To be called while held. */
  async catchUp(link: NodeLink, untilMs: number): Promise<CaughtUp> {
    const missing = await this.#findMissing(link, untilMs)
    if (typeof missing === 'string') return missing
    const following = missing[0]?.ref.parentHash ?? this.#view.tip?.hash
    const { blocks } = this.#view
    const kept = blocks.slice(0, blocks.findIndex(({ hash }) => hash === following) + 1)
    const logs = new Map<SharedSubscription, readonly LogsOfBlock[]>()
    for (const [shared, told] of this.#logs) {
      if (told.forgottenTo > (kept.at(-1)?.number ?? 0)) {
        this.#onStuck(shared)
        continue
      }
      // Of what is forgotten nobody knows what was told: it would be told again.
      const checked = checkedOf(kept).filter(({ turn, number }) => turn > told.sinceTurn && number > told.forgottenTo)
      const hashes = [...checked.map(({ hash }) => hash), ...missing.map(({ ref }) => ref.hash)]
      const found = await findLogs(link, shared.call.replayed as LogFilter, hashes)
      if (found === undefined) return 'failed'
      logs.set(shared, found)
    }
    // Who hears them may have gone meanwhile, and with them what they were told.
    if (this.#heads !== undefined) await this.#replay(missing, logs)
    return 'whole'
  }

  /** What the node has beyond what was told, once it is not behind it; oldest first. */
  async #findMissing(link: NodeLink, untilMs: number): Promise<readonly LookedUp[] | Exclude<CaughtUp, 'whole'>> {
    const { tip } = this.#view
    if (tip === undefined) return 'impossible'
    // Whoever tells of logs over another socket has told those of its newest block to nobody here, if it was before they were asked for.
    const further = await link.callFurther('eth_blockNumber')
    const newestTold = Math.max(
      ...[tip.number, ...[...this.#logs.values()].map(({ newest }) => newest)],
      ...further.map(({ result }) => (typeof result === 'string' ? Number(result) : 0)),
    )
    for (;;) {
      const latest = await lookUp(link, 'eth_getBlockByNumber', 'latest', () => this.#forgetHeldHeads())
      if (latest === undefined) return 'failed'
      if (latest.ref.number >= newestTold) {
        if (this.#view.has(latest.ref.hash)) return []
        const before = await this.#walkBack(link, latest.ref)
        return typeof before === 'string' ? before : [...before, latest]
      }
      if (performance.now() > untilMs) return 'failed'
      await wait(BEHIND_MS)
    }
  }

  /** What the node has told of heads before it names its newest block says less than that: it may have left some of them since. */
  #forgetHeldHeads(): void {
    this.#held = this.#held?.filter(({ shared }) => shared !== this.#heads)
  }

  /** Blocks that lie between what was told and this one, oldest first; none of height `lowest` or below has to be found. */
  async #walkBack(
    link: NodeLink,
    from: BlockRef,
    lowest = 0,
  ): Promise<readonly LookedUp[] | Exclude<CaughtUp, 'whole'>> {
    const found: LookedUp[] = []
    // Not asked for one by one only to find that they are too many.
    if (from.number - (this.#view.tip?.number ?? 0) > REPLAYED_BLOCKS_MAX) return 'impossible'
    let { parentHash } = from
    while (!this.#view.has(parentHash) && from.number - found.length > lowest) {
      if (found.length + 1 >= REPLAYED_BLOCKS_MAX) return 'impossible'
      const block = await lookUp(link, 'eth_getBlockByHash', parentHash)
      if (block?.ref.hash !== parentHash) return 'failed'
      found.unshift(block)
      parentHash = block.ref.parentHash
    }
    return found
  }

  async #replay(
    missing: readonly LookedUp[],
    logs: ReadonlyMap<SharedSubscription, readonly LogsOfBlock[]>,
  ): Promise<void> {
    const replayLogs = (isOf: (hash: string) => boolean): void => {
      for (const [shared, found] of logs) {
        const told = this.#logs.get(shared)
        for (const log of found.filter(({ hash }) => isOf(hash)).flatMap((block) => block.logs))
          if (told?.note(log) === true) shared.replay(JSON.stringify(log))
      }
    }
    const isMissing = new Set(missing.map(({ ref }) => ref.hash))
    for (const { ref } of missing) this.#view.extend(ref)
    for (const [shared, told] of this.#logs) for (const log of told.takeLeft()) shared.replay(log)
    replayLogs((hash) => !isMissing.has(hash))
    for (const { ref, json } of missing) {
      this.#heads?.replay(headOf(json))
      replayLogs((hash) => hash === ref.hash)
      // Lets what was told go out before there is more of it than a client may have unread.
      await breathe()
    }
  }

  /** False: what comes next has to wait. */
  #take(shared: SharedSubscription, notification: Notification): boolean {
    if (shared !== this.#heads) {
      if (this.#logs.get(shared)?.note(notification.result) !== false) shared.tell(notification)
      return true
    }
    const head = readBlock(notification.result)
    if (head === undefined) {
      shared.tell(notification)
      return true
    }
    if (this.#view.has(head.hash)) return true
    const { oldest } = this.#view
    // A reorg of blocks from before the subscription is told as the node tells it: nobody has been told of what they replace.
    if (oldest === undefined || head.number <= oldest.number || this.#view.has(head.parentHash)) {
      this.#view.extend(head)
      shared.tell(notification)
      this.#link?.tellHead(head.number)
      return true
    }
    void this.#fill(shared, head, notification)
    return false
  }

  /** Nodes leave heads out when they take several blocks at once. */
  async #fill(shared: SharedSubscription, head: BlockRef, notification: Notification): Promise<void> {
    const link = this.#link as NodeLink
    const found = await this.#walkBack(link, head, this.#view.oldest?.number)
    // Where the node is lost, another one is asked for all of it.
    if (link.isLost || link !== this.#link) return
    if (found === 'failed') {
      link.close()
      return
    }
    if (found === 'impossible' || shared !== this.#heads) {
      this.#onStuck()
      this.release()
      return
    }
    for (const { ref, json } of found) {
      this.#view.extend(ref)
      shared.replay(headOf(json))
    }
    this.#view.extend(head)
    shared.tell(notification)
    link.tellHead(head.number)
    this.release()
  }
}

/** Of blocks that still stand, oldest first, those whose logs may not have been told. */
function checkedOf(kept: readonly KnownBlock[]): readonly KnownBlock[] {
  const sinceMs = (kept.at(-1)?.knownMs ?? 0) - CHECKED_MS
  return kept.filter(({ knownMs }, index) => knownMs > sinceMs || index >= kept.length - CHECKED_BLOCKS)
}

const headOf = (block: Members): string =>
  JSON.stringify(Object.fromEntries(Object.entries(block).filter(([name]) => !BODY_MEMBERS.has(name))))

async function lookUp(
  link: NodeLink,
  method: string,
  block: string,
  onAnswer?: () => void,
): Promise<LookedUp | undefined> {
  const answer = await link.call(method, JSON.stringify([block, false]), onAnswer)
  const ref = readBlock(answer?.result)
  return ref === undefined ? undefined : { ref, json: answer?.result as Members }
}

/** In the order of the blocks; undefined: the node does not tell. */
async function findLogs(
  link: NodeLink,
  filter: LogFilter,
  hashes: readonly string[],
): Promise<readonly LogsOfBlock[] | undefined> {
  const found = await Promise.all(
    hashes.map(async (hash) => {
      const answer = await link.call('eth_getLogs', JSON.stringify([{ ...filter, blockHash: hash }]))
      return { hash, logs: answer?.result }
    }),
  )
  const isWhole = (one: { readonly hash: string; readonly logs: unknown }): one is LogsOfBlock =>
    Array.isArray(one.logs)
  return found.every(isWhole) ? found : undefined
}
