import type { BroadcastNode, LoggedDeposit } from '../../infra/ports/broadcast-node.ts'
import { alreadyDeposited, type BroadcastReason } from '../../schemas/broadcast-reasons.ts'
import type { RawTransaction } from '../../schemas/eth/raw-transaction.ts'
import { createdSlot } from '../../schemas/validator-lifecycle.ts'
import type { BroadcastChain } from './broadcast-staking.ts'
import type { SentStaking, SentStakings } from './sent-stakings.ts'
import type { StakingBook } from './staking-book.ts'

/** Why a transaction is not broadcast: a word for programs, and a sentence. */
export interface BroadcastFault {
  readonly reason: BroadcastReason
  readonly sentence: string
}

export interface RefusedBroadcast extends BroadcastFault {
  readonly status: 'refused'
}

/** Carries a refusal out of the steps that a broadcast consists of. */
export class Refusal extends Error {
  readonly refusal: RefusedBroadcast

  constructor(reason: BroadcastReason, sentence: string) {
    super(sentence)
    this.refusal = { status: 'refused', reason, sentence }
  }
}

/** Deposit data roots that validators were created with, by public key; undefined where nobody knows it any more. */
type CreatedRoots = ReadonlyMap<string, string | undefined>

interface CreatedHere {
  readonly roots: CreatedRoots
  readonly depositContract: string
  /** Newest blocks in which a deposit may be, at most; an hour more is looked at in any case. */
  readonly blocks: number
}

/** A chain whose nodes tell of deposits. */
export interface DepositChain extends Pick<BroadcastChain, 'registered'> {
  readonly broadcast: Pick<BroadcastNode, 'recentDeposits'>
}

/** Whether the chain has a deposit for one of the validators already. Throws AppError of a node fault. */
export async function chainFault(chain: DepositChain, created: CreatedHere): Promise<BroadcastFault | undefined> {
  const before = await depositedKey(chain, created)
  return before === undefined ? undefined : deposited(before)
}

/**
 * One of the validators that the nodes know a deposit for; undefined where there is none. A stranger may deposit for any public key, with a
 * signature that is none: only the registry, and deposits with the root of what was created, tell of one.
 */
export async function depositedKey(chain: DepositChain, created: CreatedHere): Promise<string | undefined> {
  return (await depositedKeys(chain, created))[0]
}

/** As `depositedKey`, all of them; some are named twice. */
export async function depositedKeys(
  chain: DepositChain,
  { roots, depositContract, blocks }: CreatedHere,
): Promise<readonly string[]> {
  const [registered, deposits] = await Promise.all([
    chain.registered([...roots.keys()]),
    chain.broadcast.recentDeposits(depositContract, blocks),
  ])
  const own = deposits.filter(({ pubkey, depositDataRoot }) => roots.get(pubkey) === depositDataRoot)
  return [...registered, ...own.map(({ pubkey }) => pubkey)]
}

/** Blocks since the first of the validators was created, at most: a slot has one block. Before that nobody had their deposits. */
export async function blocksSinceCreation(
  { name, node }: Pick<BroadcastChain, 'name' | 'node'>,
  { created }: Pick<StakingBook, 'created'>,
  pubkeys: readonly string[],
): Promise<number> {
  const [{ clock }, headSlot] = await Promise.all([node.facts(), node.headSlot()])
  const slots = pubkeys.flatMap((pubkey) => {
    const set = created.of(name, pubkey)
    if (set === undefined) return []
    return [createdSlot(clock, { createdAtSec: Date.parse(set.createdAt) / 1_000, createdAtSlot: set.createdAtSlot })]
  })
  return Math.max(0, headSlot - Math.min(...slots))
}

type SentKeys = Pick<SentStaking, 'account' | 'pubkeys'>

/** As `chainFault`, of what was told before: whether the chain has a deposit for one of its validators, by itself or by another. */
export async function sentFault(
  chain: BroadcastChain,
  book: Pick<StakingBook, 'created'>,
  sent: SentKeys,
): Promise<BroadcastFault | undefined> {
  return chainFault(chain, await createdHere(chain, book, sent))
}

async function createdHere(
  chain: BroadcastChain,
  { created }: Pick<StakingBook, 'created'>,
  { account, pubkeys, blocks }: SentKeys & { readonly blocks?: number | undefined },
): Promise<CreatedHere> {
  const { depositContract } = await chain.node.facts()
  const whose = { chain: chain.name, account }
  const roots = new Map(pubkeys.map((pubkey) => [pubkey, created.termsOf(whose, pubkey)?.depositDataRoot]))
  return { roots, depositContract, blocks: blocks ?? (await blocksSinceCreation(chain, { created }, pubkeys)) }
}

/** What tells of deposits for a transaction's validators, where the transaction itself is in no block that a node has. */
export interface DepositsTold {
  /** Those that the registry knows. */
  readonly registered: readonly string[]
  /** Those that a log deposits for with the data that was created, by whatever transaction. */
  readonly logged: readonly string[]
  /** Those of them that another transaction has deposited for in a final block. */
  readonly finalByOthers: readonly string[]
  /** Those that another transaction has a log for, with whatever data: a stranger's count only where the registry has taken them in. */
  readonly byOthers: readonly string[]
  /** Those that its own logs deposit for: then a node will show it in a block. */
  readonly byItself: readonly string[]
}

interface Search {
  readonly sent: SentStaking
  readonly finalBlockNumber: number
  /** The newest, where those before them were looked at; otherwise all since their creation. */
  readonly blocks: number | undefined
}

/** Throws AppError of a node fault. */
export async function depositsTold(
  chain: BroadcastChain,
  book: Pick<StakingBook, 'created'>,
  { sent, finalBlockNumber, blocks: newest }: Search,
): Promise<DepositsTold> {
  const { account, pubkeys, txHash } = sent
  const { roots, depositContract, blocks } = await createdHere(chain, book, { account, pubkeys, blocks: newest })
  const [registered, deposits] = await Promise.all([
    chain.registered(pubkeys),
    chain.broadcast.recentDeposits(depositContract, blocks),
  ])
  const named = (isMeant: (deposit: LoggedDeposit) => boolean) => {
    const keys = new Set(deposits.filter(isMeant).map(({ pubkey }) => pubkey))
    return pubkeys.filter((pubkey) => keys.has(pubkey))
  }
  const isOfRoot = ({ pubkey, depositDataRoot }: LoggedDeposit) => roots.get(pubkey) === depositDataRoot
  const isOther = ({ transactionHash }: LoggedDeposit) => transactionHash !== txHash
  return {
    registered,
    logged: named(isOfRoot),
    finalByOthers: named((one) => isOfRoot(one) && isOther(one) && one.blockNumber <= finalBlockNumber),
    byOthers: named(isOther),
    byItself: named((one) => !isOther(one)),
  }
}

function deposited(pubkey: string): BroadcastFault {
  return { reason: 'already_deposited', sentence: alreadyDeposited(pubkey) }
}

/** Whether the staking contract would refuse the transaction as the chain is now, or have too little gas for it. */
export async function simulationFault(
  { node }: BroadcastChain,
  { sender: from, to = '0x', valueWei, data, gas }: RawTransaction,
): Promise<BroadcastFault | undefined> {
  const call = { from, to, valueWei, data }
  const simulated = await node.simulate(call)
  switch (simulated.status) {
    case 'unknown':
      return undefined
    case 'reverted':
      return {
        reason: 'would_fail',
        sentence: 'the staking contract would refuse the transaction as the chain is now',
      }
    case 'done':
      // Nodes find what a call needs within some percent and tell the upper end: a limit below it may still be enough.
      if (gas >= simulated.gas || (await node.simulate({ ...call, gas })).status === 'done') return undefined
      return {
        reason: 'gas_too_low',
        sentence: `the transaction needs ${simulated.gas} gas as the chain is now, and its limit is ${gas}`,
      }
  }
}

interface Sending {
  readonly hash: string
  readonly sender: string
  readonly nonce: number
  readonly pubkeys: readonly string[]
}

/**
 * Whether the sender's transactions so far leave out a nonce before this one: it would wait for others that nobody has seen, and its validators
 * with it, for ever maybe. Throws AppError of a node fault.
 */
export async function nonceFault(
  { name, node }: BroadcastChain,
  sent: SentStakings,
  { sender, nonce }: Pick<Sending, 'sender' | 'nonce'>,
): Promise<BroadcastFault | undefined> {
  // What was taken before there was this rule can be replaced.
  if (sent.pendingAt(name, { sender, nonce }).length > 0) return undefined
  let { nonce: next } = await node.terms(sender)
  // The node that was asked may not have yet what others have taken.
  while (next < nonce && sent.pendingAt(name, { sender, nonce: next }).length > 0) next++
  if (nonce <= next) return undefined
  return {
    reason: 'nonce_too_high',
    sentence: `the sender's next transaction has nonce ${next}: one of ${nonce} would wait for those before it, sign it with ${next}`,
  }
}

/** Whether anything that was broadcast for the same validators, or with the same nonce, is in the way. Throws AppError of a node fault. */
export async function bookFault(
  chain: BroadcastChain,
  sent: SentStakings,
  sending: Sending,
): Promise<BroadcastFault | undefined> {
  const { hash, sender, nonce, pubkeys } = sending
  const others = sent.carrying(chain.name, pubkeys).filter(({ txHash }) => txHash !== hash)
  const before = pubkeys.find((pubkey) => sent.depositing(chain.name, pubkey) !== undefined)
  if (before !== undefined) return deposited(before)
  const replaced = sent.pendingAt(chain.name, { sender, nonce }).filter(({ txHash }) => txHash !== hash)
  if (replaced.some((other) => !areSame(other.pubkeys, pubkeys)))
    return {
      reason: 'other_validators',
      sentence: `a transaction of nonce ${nonce} is pending for other validators: a replacement has to carry the same ones`,
    }
  const pending = others.find((other) => other.end === undefined && !replaced.includes(other))
  if (pending !== undefined) return isPending(pending, pubkeys)
  // Who could not be reached may have it all the same, and who refused it may have got it from another.
  for (const untaken of others.filter(({ end }) => end === 'unsent' || end === 'refused'))
    if (untaken.sender !== sender || untaken.nonce !== nonce)
      if (await chain.broadcast.isKnown(untaken.txHash)) return isPending(untaken, pubkeys)
  return undefined
}

function isPending(other: SentStaking, pubkeys: readonly string[]): BroadcastFault {
  const { txHash, nonce } = other
  return {
    reason: 'pending_transaction',
    sentence: `${txHash} is pending for ${sharedKey(other, pubkeys)}: replace it by one of the same nonce (${nonce}), or wait until it has failed`,
  }
}

function sharedKey({ pubkeys }: SentStaking, among: readonly string[]): string {
  return pubkeys.find((pubkey) => among.includes(pubkey)) ?? ''
}

function areSame(some: readonly string[], others: readonly string[]): boolean {
  const keys = new Set(some)
  return keys.size === others.length && others.every((key) => keys.has(key))
}

/** What nodes say, in words that each has of its own. */
const NODE_REASONS: readonly (readonly [RegExp, BroadcastReason])[] = [
  [/nonce.{0,12}(too )?low|nonce is too low|old ?nonce/i, 'nonce_too_low'],
  [/insufficient (funds|balance)/i, 'insufficient_funds'],
  [/underpriced|fee ?cap|less than block base fee|fee too low|gas price (too low|below)/i, 'underpriced'],
  [/intrinsic gas|gas limit/i, 'gas_limit'],
]

export function refusedByNode(words: string): RefusedBroadcast {
  const reason = NODE_REASONS.find(([pattern]) => pattern.test(words))?.[1] ?? 'refused_by_node'
  return { status: 'refused', reason, sentence: `the chain's node does not take the transaction: ${words}` }
}
