import type { EventWriter } from '../../infra/ports/event-log.ts'
import type { WarehouseReader } from '../../infra/ports/warehouse.ts'
import type { Hex } from '../../schemas/eth/hex.ts'
import type { RefreshNftInput } from '../../schemas/jobs/read-nft.ts'
import { type ContractType, readContract } from './read-contract.ts'
import { type Reading, readToken, type TokenQuestion } from './read-token.ts'
import type { Recently } from './recently.ts'
import {
  attemptsOf,
  type ContractPlace,
  changedAt,
  changedTokens,
  type KnownContract,
  knownContract,
  movedAs,
  tokenOf,
  type UnreadToken,
  unreadTokens,
} from './unread.ts'

/** Tokens of all contracts that wait, together, that one round may read; shared among them. */
const ROUND_TOKENS = 2_000
/** Of one contract at once, where no other waits. */
const RUN_TOKENS_MAX = 200
/** A run that takes longer makes room. */
const RUN_MS_MAX = 15_000
/** Tokens of one contract that are asked for side by side: mostly they lie on one server. */
const TOKENS_AT_ONCE = 4
/** What a contract says of itself is read again so often at least while its tokens move. */
const CONTRACT_STANDS_SEC = 600
/** Of a contract without one, the next turn begins with the first token. */
const CURSORS_MAX = 100_000

export interface ReadingSome extends Reading {
  readonly warehouse: WarehouseReader
  readonly writer: EventWriter
  readonly recently: Recently
  /** Of contracts of which there is more to read, or that change: the token behind which the next turn goes on, the newest entry last. */
  readonly cursors: Map<string, Hex>
}

/** How many tokens of a contract are read at once while so many contracts wait: at least one, so that all of them go on. */
export function tokensPerRun(contractsWaiting: number): number {
  return Math.min(RUN_TOKENS_MAX, Math.max(1, Math.floor(ROUND_TOKENS / Math.max(1, contractsWaiting))))
}

export interface Run extends ContractPlace {
  /** What nobody has read and what is due again, or what the contract's events say has changed. */
  readonly which: 'unread' | 'changed'
  readonly contractsWaiting: number
}

export interface Done {
  /** Tokens. */
  readonly read: number
  readonly isMore: boolean
}

/**
 * Reads some of what is to be read of a contract, and tells the log. A server that keeps us waiting ends the run: others go first then.
 * Throws AppError of a node fault; what was read before is told.
 */
export async function readSome(reading: ReadingSome, run: Run, signal: AbortSignal): Promise<Done> {
  const { warehouse, recently, cursors, now } = reading
  const cursor = nameOf(run, run.which)
  const after = cursors.get(cursor)
  const looked = nameOf(run, 'looked at')
  // Whether any token came or went is asked of all of them: while they are walked, once a minute.
  if (run.which === 'changed' || after === undefined || !recently.has(looked)) {
    await readContractIfNew(reading, run)
    recently.add(looked)
  }
  const limit = tokensPerRun(run.contractsWaiting)
  const walk = { after, limit }
  const found =
    run.which === 'unread'
      ? await unreadTokens(warehouse, run, { ...walk, nowSec: now() })
      : await changedTokens(warehouse, run, walk)
  const waiting = found.filter(({ tokenId }) => !recently.has(nameOf(run, tokenId)))
  const read = await readTokens(reading, run, waiting, signal)
  const isMore = read < waiting.length || found.length === limit
  const next = waiting[read]
  const passed = next === undefined ? found.length : found.indexOf(next)
  const to = found[passed - 1]?.tokenId ?? after
  // What has changed again and again is not begun anew: those come first that were read longest ago.
  moveCursor(cursors, cursor, isMore || run.which === 'changed' ? to : undefined)
  return { read, isMore }
}

function moveCursor(cursors: ReadingSome['cursors'], cursor: string, to: Hex | undefined): void {
  cursors.delete(cursor)
  if (to !== undefined) cursors.set(cursor, to)
  const [oldest] = cursors.size > CURSORS_MAX ? cursors.keys() : []
  if (oldest !== undefined) cursors.delete(oldest)
}

function nameOf({ chain, contract }: ContractPlace, tokenId: string): string {
  return `${chain} ${contract} ${tokenId}`
}

/** Returns how many were read before time, or a slow server, ended it. */
async function readTokens(
  reading: ReadingSome,
  place: ContractPlace,
  tokens: readonly UnreadToken[],
  signal: AbortSignal,
): Promise<number> {
  const endMs = performance.now() + RUN_MS_MAX
  let [next, done, isLate] = [0, 0, false]
  const worker = async (): Promise<void> => {
    while (!isLate && !signal.aborted && performance.now() < endMs) {
      const token = tokens[next++]
      if (token === undefined) return
      const answer = await readToken(reading, { ...place, ...token })
      await reading.writer.append('nft.metadata', [answer.event])
      reading.recently.add(nameOf(place, token.tokenId))
      isLate ||= answer.isLate
      done++
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: TOKENS_AT_ONCE }, worker))
  for (const one of ended) if (one.status === 'rejected') throw one.reason
  return done
}

/**
 * Reads what a contract says of itself where nobody has, where it says that this has changed, tokens came or went, or the block was
 * reverted, or where its tokens have gone on moving; once a minute at most.
 */
async function readContractIfNew(reading: ReadingSome, place: ContractPlace): Promise<void> {
  const { warehouse, recently, now } = reading
  if (recently.has(nameOf(place, 'contract'))) return
  const known = await knownContract(warehouse, place)
  const isFresh = known !== undefined && !known.isReverted && known.readSec > now() - CONTRACT_STANDS_SEC
  if (isFresh && known.blockNumber >= (await changedAt(warehouse, place, known))) return
  await readContractNow(reading, place)
}

/** Returns what it is. */
async function readContractNow(reading: ReadingSome, place: ContractPlace): Promise<ContractType> {
  const { warehouse, node, writer, recently, now } = reading
  const known = await knownContract(warehouse, place)
  const moved = await movedAs(warehouse, place)
  const deployed = known !== undefined && isSettled(known) ? known.deployed : undefined
  const { event, tokenType } = await readContract(node, { ...place, moved, known: deployed, nowSec: now() })
  await writer.append('nft.metadata', [event])
  recently.add(nameOf(place, 'contract'))
  return tokenType
}

/** Whether asking again how a contract came to be would say the same. What nobody could say may be said later, by another node. */
function isSettled({ isReverted, deployed: { deployReason } }: KnownContract): boolean {
  return !isReverted && (deployReason === null || deployReason === 'made_by_contract')
}

/** Reads one token, or what the contract says of itself, whatever was read before: somebody has asked. */
export async function readAsked(reading: ReadingSome, { tokenId, ...place }: RefreshNftInput): Promise<void> {
  if (tokenId === null) {
    await readContractNow(reading, place)
    return
  }
  const token = (await tokenOf(reading.warehouse, place, tokenId)) ?? (await unseenToken(reading, place, tokenId))
  if (token === undefined) return
  const { event } = await readToken(reading, { ...place, ...token, isAsked: true })
  await reading.writer.append('nft.metadata', [event])
  reading.recently.add(nameOf(place, tokenId))
}

/** A token that was never moved in what is indexed may have been there before: it is what its contract is. Undefined of a contract without tokens. */
async function unseenToken(
  reading: ReadingSome,
  place: ContractPlace,
  tokenId: string,
): Promise<TokenQuestion | undefined> {
  const known = await knownContract(reading.warehouse, place)
  const standard = known === undefined ? await readContractNow(reading, place) : known.tokenType
  if (standard !== 'ERC721' && standard !== 'ERC1155') return undefined
  const attempts = await attemptsOf(reading.warehouse, place, tokenId)
  return { ...place, tokenId, standard, attempts, isUnseen: true }
}
