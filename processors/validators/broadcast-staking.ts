import type { BroadcastNode } from '../../infra/ports/broadcast-node.ts'
import type { ExecutionSource } from '../../infra/ports/execution-source.ts'
import type { KeyKeeping } from '../../infra/ports/key-keeping.ts'
import type { KeyVault } from '../../infra/ports/key-vault.ts'
import type { Log } from '../../infra/ports/log.ts'
import { AppError, isNodeFault } from '../../schemas/errors.ts'
import { hexOf } from '../../schemas/eth/hex.ts'
import { parseRawTransaction, type RawTransaction } from '../../schemas/eth/raw-transaction.ts'
import { checkStaking } from '../../schemas/eth/staking-check.ts'
import { type ChainClock, formatInstant, slotAt } from '../../schemas/eth/time.ts'
import { ACCOUNTS_KEY } from '../../schemas/events/accounts.ts'
import { encodeEvent } from '../../schemas/events/codec.ts'
import { type StakingEnd, stakingBroadcast, stakingEnded } from '../../schemas/events/staking-broadcast.ts'
import type { BroadcastStakingInput, BroadcastStakingOutput } from '../../schemas/jobs/broadcast-staking.ts'
import { isExpired, type UnfundedRules } from '../../schemas/validator-lifecycle.ts'
import {
  blocksSinceCreation,
  bookFault,
  chainFault,
  nonceFault,
  Refusal,
  type RefusedBroadcast,
  refusedByNode,
  sentFault,
  simulationFault,
} from './broadcast-faults.ts'
import { isLate } from './clocks.ts'
import type { StakingChain } from './create-validators.ts'
import { createdTerms } from './created-terms.ts'
import { durably } from './durable-steps.ts'
import { type HandingOver, handOver, type RunChain } from './hand-over.ts'
import type { SentStaking } from './sent-stakings.ts'
import type { Turns } from './turns.ts'

/** A chain that staking transactions may be broadcast on. */
export interface BroadcastChain extends StakingChain, RunChain {
  readonly broadcast: BroadcastNode
  /** Its blocks, as their hashes commit to them. */
  readonly blocks: Pick<ExecutionSource, 'head' | 'finalized' | 'blockByHash' | 'blockByNumber'>
  /** Those of the public keys that the registry knows at the head. */
  registered(pubkeys: readonly string[]): Promise<readonly string[]>
}

export interface Broadcasting extends HandingOver {
  readonly vault: Pick<KeyVault & KeyKeeping, 'request' | 'lacking' | 'giveKeys' | 'exportedBefore'>
  readonly log: Log
  /** Between looking into the book and telling it, nobody else does: by the chain's name. */
  readonly turns: Turns
  readonly rules: UnfundedRules
}

const SENT = { status: 'sent' } as const
const UNAVAILABLE = { status: 'unavailable' } as const

/**
 * Sends a signed staking transaction of an account to all nodes, if it deposits for validators that the account created, as they were
 * created, nothing else that was broadcast for them can still be mined, and somebody runs them.
 *
 * A kill before `broadcast-told` leaves nothing but keys that are handed over (`hand-over.ts`); one after it leaves a transaction that is sent
 * by whoever has the book next.
 */
export async function broadcastForAccount(
  broadcasting: Broadcasting,
  chain: BroadcastChain,
  input: BroadcastStakingInput,
): Promise<BroadcastStakingOutput> {
  const parsed = parseRawTransaction(input.rawTransaction)
  if (parsed.status === 'refused') return parsed
  const { transaction } = parsed
  const { account, notAfterMs } = input
  try {
    const again = knownTo(broadcasting, chain, { transaction, account })
    if (again !== undefined) return await sendAgain(broadcasting, chain, { sent: again, transaction })
    if (isLate(broadcasting, notAfterMs)) return UNAVAILABLE
    const pubkeys = await checkedOrSent(broadcasting, chain, { transaction, account })
    const handed = await handOver(broadcasting, chain, { pubkeys, notAfterMs })
    if (handed.status === 'refused') return handed
    if (handed.status === 'late') return UNAVAILABLE
    return await tellAndSend(broadcasting, chain, { transaction, pubkeys, account, notAfterMs })
  } catch (error) {
    if (error instanceof Refusal) return error.refusal
    const isClientAway = error instanceof AppError && error.code === 'validator_client'
    if (!isClientAway && !isNodeFault(error)) throw error
    broadcasting.log.warn({ chain: chain.name, reason: error.message }, 'a staking transaction could not be broadcast')
    return isClientAway ? { status: 'unavailable', away: 'validator_client' } : UNAVAILABLE
  }
}

interface Asked {
  readonly transaction: RawTransaction
  readonly account: string
}

/** The transaction as the account has broadcast it before; undefined where it has not, or where that came to nothing. */
function knownTo(
  { book }: Broadcasting,
  chain: BroadcastChain,
  { transaction, account }: Asked,
): SentStaking | undefined {
  const sent = book.sent.of(chain.name, transaction.hash)
  if (sent === undefined || sent.account !== account) return undefined
  return sent.end === undefined || sent.end === 'mined' ? sent : undefined
}

/**
 * As `checked`. What is wrong with it may be that it was sent itself: told by somebody else during the checks, or ended here because no
 * node seemed to have it, while one does. Then it was checked before, and is followed again.
 */
async function checkedOrSent(broadcasting: Broadcasting, chain: BroadcastChain, asked: Asked) {
  try {
    return await checked(broadcasting, chain, asked)
  } catch (error) {
    const sent = broadcasting.book.sent.of(chain.name, asked.transaction.hash)
    if (!(error instanceof Refusal) || sent?.account !== asked.account) throw error
    const isUnsent = sent.end === 'unsent' || sent.end === 'refused'
    const isSent = isUnsent
      ? await chain.broadcast.isKnown(sent.txHash)
      : knownTo(broadcasting, chain, asked) !== undefined
    if (isSent) return sent.pubkeys
    throw error
  }
}

/** The validators that it deposits for; throws Refusal. */
async function checked(
  broadcasting: Broadcasting,
  chain: BroadcastChain,
  { transaction, account }: Asked,
): Promise<readonly string[]> {
  const { book, vault } = broadcasting
  const facts = await chain.node.facts()
  const rules = { chainId: facts.chainId, contract: chain.contract, depositContract: facts.depositContract }
  const whose = { chain: chain.name, account }
  const named = depositsOf(
    checkStaking(transaction, { ...rules, createdOf: (key) => book.created.termsOf(whose, key) }),
  )
  const terms = await createdTerms({ book, vault }, whose, named)
  const pubkeys = depositsOf(checkStaking(transaction, { ...rules, createdOf: (key) => terms.get(key) }))
  const [lost] = await vault.lacking(pubkeys)
  if (lost !== undefined)
    throw new Refusal('key_lost', `the key of ${lost} is lost: do not fund it, and ask the operator`)
  // What may still be mined may be replaced, however long it has been waiting.
  const waiting = new Set(book.sent.pendingAt(chain.name, transaction).flatMap((sent) => sent.pubkeys))
  const begun = pubkeys.filter((pubkey) => !waiting.has(pubkey))
  const expired = await firstExpired(broadcasting, chain, { clock: facts.clock, pubkeys: begun })
  if (expired !== undefined)
    throw new Refusal('expired', `${expired} was created too long ago and is expired: create another one`)
  const roots = new Map(pubkeys.map((pubkey) => [pubkey, terms.get(pubkey)?.depositDataRoot]))
  const unknown = pubkeys.find((pubkey) => roots.get(pubkey) === undefined)
  if (unknown !== undefined)
    throw new Refusal(
      'unknown_deposit_data',
      `what ${unknown} was created with is not known any more: ask the operator`,
    )
  const blocks = await blocksSinceCreation(chain, book, pubkeys)
  const fault = await chainFault(chain, { roots, depositContract: facts.depositContract, blocks })
  if (fault !== undefined) throw new Refusal(fault.reason, fault.sentence)
  const simulated = await simulationFault(chain, transaction)
  if (simulated !== undefined) throw new Refusal(simulated.reason, simulated.sentence)
  return pubkeys
}

/** A validator that has waited for its deposit longer than one may, at the slot of the clock or of the head: the later one. */
async function firstExpired(
  { book, rules, now }: Broadcasting,
  chain: BroadcastChain,
  { clock, pubkeys }: { readonly clock: ChainClock; readonly pubkeys: readonly string[] },
): Promise<string | undefined> {
  const atSlot = Math.max(slotAt(clock, now() / 1_000), await chain.node.headSlot())
  return pubkeys.find((pubkey) => {
    const set = book.created.of(chain.name, pubkey)
    if (set === undefined) return false
    const created = { createdAtSec: Date.parse(set.createdAt) / 1_000, createdAtSlot: set.createdAtSlot }
    return isExpired(clock, created, { atSlot, expiryEpochs: rules.expiryEpochs })
  })
}

function depositsOf(checked: ReturnType<typeof checkStaking>): readonly string[] {
  switch (checked.status) {
    case 'refused':
      throw new Refusal(checked.reason, checked.sentence)
    case 'undecided':
      throw new Error('with all rules known a transaction is decided')
    case 'ok':
      return checked.deposits.map(({ pubkey }) => hexOf(pubkey))
  }
}

interface Telling extends Asked {
  readonly pubkeys: readonly string[]
  readonly notAfterMs: number
}

async function tellAndSend(
  broadcasting: Broadcasting,
  chain: BroadcastChain,
  telling: Telling,
): Promise<BroadcastStakingOutput> {
  const { transaction, account } = telling
  const told = await broadcasting.turns.take(chain.name, () => tell(broadcasting, chain, telling))
  if (told === 'late') return UNAVAILABLE
  if (told === 'known') {
    const sent = knownTo(broadcasting, chain, { transaction, account })
    return sent === undefined ? UNAVAILABLE : await sendAgain(broadcasting, chain, { sent, transaction })
  }
  const result = await send(chain, transaction)
  if (result.status === 'sent') return SENT
  // A refusal or a silence is one node's word for one moment.
  if (await isKnownForSure(chain, transaction.hash)) return SENT
  // Who follows it may have told its end while nodes were asked.
  if (broadcasting.book.sent.of(chain.name, transaction.hash)?.end === undefined)
    await tellEnd(broadcasting, told, { status: result.isRefusedByAll ? 'refused' : 'unsent' })
  return result.refusal ?? UNAVAILABLE
}

/** Whether a node shows it; false where nobody can tell. */
async function isKnownForSure({ broadcast }: BroadcastChain, txHash: string): Promise<boolean> {
  try {
    return await broadcast.isKnown(txHash)
  } catch (error) {
    if (!isNodeFault(error)) throw error
    return false
  }
}

/** Tells the log, unless somebody else has told it of the same transaction meanwhile, or it is too late; throws Refusal. */
async function tell(
  { book, writer, now, wallNow }: Broadcasting,
  chain: BroadcastChain,
  { transaction, account, pubkeys, notAfterMs }: Telling,
): Promise<SentStaking | 'known' | 'late'> {
  const { hash, sender, nonce, raw } = transaction
  if (isLate({ wallNow }, notAfterMs)) return 'late'
  const before = book.sent.of(chain.name, hash)
  if (before !== undefined && (before.end === undefined || before.end === 'mined')) return 'known'
  const fault =
    (await bookFault(chain, book.sent, { hash, sender, nonce, pubkeys })) ??
    (await nonceFault(chain, book.sent, { sender, nonce }))
  if (fault !== undefined) throw new Refusal(fault.reason, fault.sentence)
  // Nodes may have been asked for what was broadcast before.
  if (isLate({ wallNow }, notAfterMs)) return 'late'
  const event = encodeEvent(stakingBroadcast, {
    id: `account.staking-broadcast:${chain.name}:${hash}:${(before?.attempt ?? 0) + 1}`,
    key: ACCOUNTS_KEY,
    time: formatInstant(Math.floor(now() / 1_000)),
    data: { chain: chain.name, account, txHash: hash, sender, nonce, pubkeys: [...pubkeys], rawTransaction: raw },
  })
  await durably('broadcast-told', () => book.tell(writer, [event]))
  const told = book.sent.of(chain.name, hash)
  if (told === undefined) throw new Error('the book has what it was told')
  return told
}

/**
 * Sends what was told before: it does not end by that, whatever the nodes say now. Where its validators are deposited, by itself or by
 * another, it is not sent: a second deposit is lost.
 */
async function sendAgain(
  { book }: Broadcasting,
  chain: BroadcastChain,
  { sent, transaction }: { readonly sent: SentStaking; readonly transaction: RawTransaction },
): Promise<BroadcastStakingOutput> {
  if (sent.end === 'mined') return SENT
  const fault = await sentFault(chain, book, sent)
  if (fault !== undefined) {
    if (await chain.broadcast.isKnown(sent.txHash)) return SENT
    throw new Refusal(fault.reason, fault.sentence)
  }
  const result = await send(chain, transaction)
  return result.status === 'sent' ? SENT : (result.refusal ?? UNAVAILABLE)
}

type SendResult =
  | { readonly status: 'sent' }
  /** `refusal`: of the first node that has one. */
  | { readonly status: 'unsent'; readonly isRefusedByAll: boolean; readonly refusal: RefusedBroadcast | undefined }

async function send(chain: BroadcastChain, { raw, hash }: RawTransaction): Promise<SendResult> {
  const outcomes = await durably('broadcast-sent', () => chain.broadcast.send(raw, hash))
  if (outcomes.some(({ status }) => status === 'accepted')) return SENT
  const refusals = outcomes.filter((outcome) => outcome.status === 'refused')
  const [first] = refusals
  return {
    status: 'unsent',
    isRefusedByAll: refusals.length === outcomes.length,
    refusal: first === undefined ? undefined : refusedByNode(first.words),
  }
}

/** Tells the log how a transaction ended. */
export async function tellEnd(
  { book, writer, now }: Pick<Broadcasting, 'book' | 'writer' | 'now'>,
  { chain, account, txHash, attempt }: SentStaking,
  end: { readonly status: StakingEnd; readonly blockNumber?: number; readonly deposited?: string[] },
): Promise<void> {
  const event = encodeEvent(stakingEnded, {
    id: `account.staking-ended:${chain}:${txHash}:${attempt}`,
    key: ACCOUNTS_KEY,
    time: formatInstant(Math.floor(now() / 1_000)),
    data: { chain, account, txHash, ...end },
  })
  await durably('broadcast-ended', () => book.tell(writer, [event]))
}
