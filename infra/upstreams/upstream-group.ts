import type {
  ReadSharing,
  SocketHandler,
  Upstream,
  UpstreamGroup,
  UpstreamSocket,
  UpstreamStatus,
  Wanted,
} from '../ports/upstreams.ts'
import type { HttpUpstream } from './http-upstream.ts'
import type { Member, MemberSocket } from './member.ts'
import { RetryBudget } from './retry-budget.ts'
import { connectSocket, type OpenSocket } from './socket.ts'

/** Between two tries of a WebSocket that does not connect: they double up to here. */
const LOOKS_UNTRIED_MAX = 16

/** A block that no node has told for so long, nor a newer one, is none: the chain has gone back, or who had it was wrong, or is gone. */
const TOLD_HEAD_MS_MAX = 10_000

/** The newest block that clients of a network were told of. */
export class ToldHead {
  #number = 0
  #toldMs = Number.NEGATIVE_INFINITY

  /** Its number; 0: none counts. Times are of one monotonic clock. */
  at(nowMs: number): number {
    return nowMs - this.#toldMs > TOLD_HEAD_MS_MAX ? 0 : this.#number
  }

  note(number: number, nowMs: number): void {
    this.#number = number
    this.#toldMs = nowMs
  }
}

export interface GroupOptions {
  /** Reads that are slow are asked of another one, too. */
  readonly hedge?: boolean | undefined
  readonly sharing?: ReadSharing | undefined
  /** What calls have earned before. */
  readonly retries?: RetryBudget | undefined
  readonly toldHead?: ToldHead | undefined
}

/** So many nodes outvote one of them; of two nobody knows which is right, and the one that has more is believed. */
const SEVERAL = 3

/** Sooner than this another node is no gain: connections that wait for a processor take as long. */
const HEDGE_MS_MIN = 100
/** Where all nodes are slow as a rule. */
const HEDGE_MS_MAX = 2_000

/** Chooses among the upstreams of one network. */
export class HttpUpstreamGroup implements UpstreamGroup {
  readonly members: readonly Member[]
  readonly hasArchives: boolean
  readonly sharing: ReadSharing | undefined
  readonly #lagMax: number
  readonly #isHedged: boolean
  readonly #retries: RetryBudget
  readonly #toldHead: ToldHead

  constructor(
    members: readonly Member[],
    lagMax: number,
    { hedge = false, sharing, retries = new RetryBudget(), toldHead = new ToldHead() }: GroupOptions = {},
  ) {
    this.members = members
    this.#retries = retries
    this.#toldHead = toldHead
    this.#lagMax = lagMax
    this.#isHedged = hedge && members.length > 1
    this.sharing = sharing
    const archives = members.filter(({ upstream }) => upstream.isArchive)
    this.hasArchives = archives.length > 0 && archives.length < members.length
  }

  choose({ tried, key, id, isArchival, isOfHead, isSpare }: Wanted): Upstream | undefined {
    const [only] = this.members
    // Most networks have one, and most calls are their first try: nothing is left to compare.
    if (only !== undefined && this.members.length === 1 && tried.length === 0 && id === undefined)
      return only.health.isRightChain ? only.upstream : undefined
    const left = this.members.filter(
      ({ upstream, health }) =>
        health.isRightChain &&
        !tried.includes(upstream.id) &&
        (id === undefined || upstream.id === id) &&
        (isSpare !== true || health.isWell(this.#lagMax)),
    )
    const best = isArchival === true ? this.#archivesOf(left) : this.#bestOf(left)
    const from = isOfHead === true ? this.#aheadOf(best) : best
    return key === undefined ? leastLoaded(from) : firstFor(key, from)
  }

  get hasSockets(): boolean {
    return this.members.some(hasSocket)
  }

  get head(): number | undefined {
    const heads = this.members.flatMap(({ health }) =>
      health.isRightChain && health.head !== undefined ? [health.head] : [],
    )
    if (heads.length < SEVERAL) return heads.length === 0 ? undefined : Math.max(...heads)
    return heads.toSorted((one, other) => other - one)[1]
  }

  get final(): number | undefined {
    let lowest: number | undefined
    for (const { health } of this.members) {
      if (!health.isRightChain) continue
      if (health.final === undefined) return undefined
      lowest = Math.min(lowest ?? health.final, health.final)
    }
    return lowest
  }

  get strays(): number {
    return this.members.reduce((sum, { health }) => sum + health.strays, 0)
  }

  connect({ tried, id }: Wanted, handler: SocketHandler): UpstreamSocket | undefined {
    const left = this.members.filter(
      (one) =>
        hasSocket(one) &&
        one.health.isRightChain &&
        !tried.includes(one.upstream.id) &&
        (id === undefined || one.upstream.id === id),
    )
    const connecting = left.filter(mayConnect)
    const upstream = leastLoaded(this.#bestOf(connecting.length > 0 ? connecting : left))
    const member = left.find((one) => one.upstream === upstream)
    return member?.socket === undefined ? undefined : this.#connectTo(member, member.socket, handler)
  }

  #connectTo(member: Member, to: MemberSocket, handler: SocketHandler): OpenSocket {
    const socket = connectSocket(member.upstream.id, to.address, {
      onOpen: () => {
        to.connects = true
        to.failedTries = 0
        to.looksLeft = 0
        handler.onOpen()
      },
      onRefused: () => {
        to.connects = false
      },
      onMessage: (text) => handler.onMessage(text),
      onLost: () => handler.onLost(),
      onGone: () => to.open.delete(socket),
    })
    to.open.add(socket)
    return socket
  }

  /** Clients may come late: whether a WebSocket connects is tried once before they do, and again and again, ever more seldom, while it does not. */
  #trySocket(member: Member): void {
    const { socket: to, health } = member
    const isTried = to === undefined || to.connects === true || to.open.size > 0
    if (isTried || !health.isRightChain || to.looksLeft-- > 0) return
    to.looksLeft = Math.min(2 ** to.failedTries++, LOOKS_UNTRIED_MAX)
    const socket = this.#connectTo(member, to, { onOpen: () => socket.close(), onMessage: () => {}, onLost: () => {} })
  }

  /** To be called again and again: pings at each call, loses what is left out, and tries what is not known to connect. */
  tendSockets(): void {
    const isElsewhere = (than: Member): boolean =>
      this.members.some((one) => one !== than && mayConnect(one) && one.health.isWell(this.#lagMax))
    for (const member of this.members) {
      const isLeftOut = !member.health.isWell(this.#lagMax) && isElsewhere(member)
      for (const socket of member.socket?.open ?? []) {
        if (!member.health.isRightChain || isLeftOut) socket.lose()
        else socket.ping()
      }
    }
    for (const member of this.members) this.#trySocket(member)
  }

  statusOf({ upstream, health, socket }: Member): UpstreamStatus {
    return {
      id: upstream.id,
      head: health.head,
      answers: health.answers,
      fault: health.faultAt(this.#lagMax) ?? (upstream.breaker.isOpen ? 'calls to it fail' : undefined),
      socketFault: socket?.connects === false ? 'it does not connect' : undefined,
    }
  }

  has(id: string): boolean {
    return this.members.some(({ upstream }) => upstream.id === id)
  }

  all(): readonly Upstream[] {
    return this.#bestOf(this.members.filter(({ health }) => health.isRightChain)).map(({ upstream }) => upstream)
  }

  /** Those that are well and take calls; where there is none, those that are well, for calls may fail by what is asked; and then all. */
  #bestOf(members: readonly Member[]): readonly Member[] {
    const nowMs = performance.now()
    const well = members.filter(({ health }) => health.isWell(this.#lagMax))
    const allowed = well.filter(({ upstream }) => upstream.breaker.allows(nowMs))
    if (allowed.length > 0) return allowed
    return well.length > 0 ? well : members
  }

  /** Archives that are well; where there is none, as of any call. */
  #archivesOf(members: readonly Member[]): readonly Member[] {
    const best = this.#bestOf(members)
    const archives = best.filter(({ upstream }) => upstream.isArchive)
    return archives.length > 0 ? archives : best
  }

  /** Those that are known to have what clients were told to be the newest block; where there is none, all that may be believed. */
  #aheadOf(members: readonly Member[]): readonly Member[] {
    const number = this.#toldHead.at(performance.now())
    const beyond = this.#beyond
    const believed = members.filter(({ health }) => (health.told ?? 0) < beyond)
    const left = believed.length > 0 ? believed : members
    const ahead = left.filter(({ health }) => (health.told ?? 0) >= number)
    return ahead.length > 0 ? ahead : left
  }

  /** From this block on what one of several tells is of another time: it is as far above all others' as a node that is left out is behind. */
  get #beyond(): number {
    let [newest, second, count] = [0, 0, 0]
    // Without lists, for whoever asks for the newest block asks often.
    for (const { health } of this.members) {
      const { told } = health
      if (told === undefined || !health.answers || !health.isRightChain) continue
      count++
      second = Math.max(second, Math.min(newest, told))
      newest = Math.max(newest, told)
    }
    return count < SEVERAL ? Number.POSITIVE_INFINITY : second + this.#lagMax
  }

  get isSeveral(): boolean {
    return this.members.length > 1
  }

  tellsHead(id: string, number: number): boolean {
    this.members.find(({ upstream }) => upstream.id === id)?.health.tell(number)
    const nowMs = performance.now()
    if (number < this.#toldHead.at(nowMs) || number >= this.#beyond) return false
    this.#toldHead.note(number, nowMs)
    return true
  }

  headGoesBack(number: number): void {
    if (number < this.#beyond) this.#toldHead.note(number, performance.now())
  }

  /** By the fastest that is well: one that is slow itself must not say how slow is usual. */
  get hedgeMs(): number | undefined {
    if (!this.#isHedged) return undefined
    let fastestMs = HEDGE_MS_MAX
    for (const { upstream, health } of this.members)
      if (health.isWell(this.#lagMax)) fastestMs = Math.min(fastestMs, upstream.usualMs)
    return Math.max(HEDGE_MS_MIN, fastestMs)
  }

  countCall(): void {
    this.#retries.earn()
  }

  takeRetry(): boolean {
    return this.#retries.take()
  }

  retryFailed(): void {
    this.#retries.failed()
  }

  takeHedge(): boolean {
    return this.#retries.takeForSlow()
  }

  hedgeEnded(): void {
    this.#retries.endSlow()
  }
}

const hasSocket = ({ socket }: Member): boolean => socket !== undefined
const mayConnect = ({ socket }: Member): boolean => socket !== undefined && socket.connects !== false

/** A node that takes so many times as long as another is slow, and not merely farther away. */
const SLOW_FACTOR = 3

/**
 * Of two at random the one with less to do for its weight: as good as the least of all, and not everybody's at once. Weights say how often each
 * of them is one of the two, and of two with equally little to do the first one drawn is taken, so calls that come one by one are shared by them.
 */
function leastLoaded(members: readonly Member[]): Upstream | undefined {
  if (members.length < 2) return members[0]?.upstream
  const one = drawn(members) as Member
  const other = drawn(members.filter((member) => member !== one)) as Member
  const nowMs = performance.now()
  return isBetter(other.upstream, one.upstream, nowMs) ? other.upstream : one.upstream
}

function drawn(members: readonly Member[]): Member | undefined {
  let left = Math.random() * members.reduce((sum, { upstream }) => sum + upstream.weight, 0)
  for (const member of members) {
    left -= member.upstream.weight
    if (left < 0) return member
  }
  return members.at(-1)
}

function isBetter(one: HttpUpstream, other: HttpUpstream, nowMs: number): boolean {
  const [oneMs, otherMs] = [one.waitMs(nowMs), other.waitMs(nowMs)]
  const isAlike = oneMs <= otherMs * SLOW_FACTOR && otherMs <= oneMs * SLOW_FACTOR
  if (isAlike) return one.inFlight / one.weight < other.inFlight / other.weight
  return (oneMs * (one.inFlight + 1)) / one.weight < (otherMs * (other.inFlight + 1)) / other.weight
}

/** Rendezvous hashing: each key has an order of its own, in which those that are left out leave all others' places as they are. */
function firstFor(key: string, members: readonly Member[]): Upstream | undefined {
  let best: { readonly upstream: Upstream; readonly score: number } | undefined
  for (const { upstream } of members) {
    const score = upstream.weight / -Math.log(shareOf(`${key} ${upstream.id}`))
    if (best === undefined || score > best.score) best = { upstream, score }
  }
  return best?.upstream
}

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** A number between 0 and 1, both excluded, that follows from the text alone (FNV-1a, with murmur3's finalizer over it). */
function shareOf(text: string): number {
  let hash = FNV_OFFSET
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (((hash ^ (hash >>> 16)) >>> 0) + 0.5) / 2 ** 32
}
