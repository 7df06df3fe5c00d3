import type { TransactionState } from '../../infra/ports/broadcast-node.ts'
import { alreadyDeposited } from '../../schemas/broadcast-reasons.ts'
import { isNodeFault } from '../../schemas/errors.ts'
import { bytesOf } from '../../schemas/eth/hex.ts'
import { HASH_BYTES } from '../../schemas/events/execution-block.ts'
import type { StakingEnd } from '../../schemas/events/staking-broadcast.ts'
import { depositsTold } from './broadcast-faults.ts'
import { type BroadcastChain, type Broadcasting, tellEnd } from './broadcast-staking.ts'
import { durably } from './durable-steps.ts'
import { type DepositedOtherwise, SeenDeposits } from './seen-deposits.ts'
import type { SentStaking } from './sent-stakings.ts'

/** Blocks before a transaction that no node has is sent once more. */
const RESEND_BLOCKS = 4

/** What this process has seen of one transaction. */
class Followed {
  /** Number of the block at which it was sent last. */
  sentAt: number | undefined
  /** Block at which its nonce was seen to be used by another transaction. */
  usedAt: TransactionState['head'] | undefined
  /** Whether its validators were seen to be deposited, though not by it: it is never sent again. */
  isDeposited = false
  /** Number of the block up to which their deposits were looked for: of what this process has not seen, all is looked at once. */
  searchedTo: number | undefined
  /** What was seen of them. */
  readonly deposits = new SeenDeposits()
}

interface BlockNumbers {
  readonly headNumber: number
  readonly finalBlockNumber: number
}

/**
 * Follows what was broadcast on one chain, block by block, until it has ended: what is in no node's pool is sent again, which is how what
 * was told and never sent gets sent, and what a reorg took out of the chain gets into it again.
 */
export class StakingFollower {
  readonly #following: Pick<Broadcasting, 'writer' | 'log' | 'book' | 'now'>
  readonly #chain: BroadcastChain
  /** What is known of those that have not ended, by hash. */
  readonly #followed = new Map<string, Followed>()
  #lookedAt: string | undefined

  constructor(following: Pick<Broadcasting, 'writer' | 'log' | 'book' | 'now'>, chain: BroadcastChain) {
    this.#following = following
    this.#chain = chain
  }

  /**
   * Looks after all that is pending if the chain has another head than at the last look, or no node has answered for one of them.
   * Throws AppError of a node fault where no node tells the head.
   */
  async look(): Promise<void> {
    const { book } = this.#following
    const pending = book.sent.pending(this.#chain.name)
    this.#forgetAllBut(new Set(pending.map(({ txHash }) => txHash)))
    if (pending.length === 0) return
    const head = await this.#chain.blocks.head()
    // What was broadcast since is looked at, too.
    const seen = `${head.hash} ${pending.map(({ txHash }) => txHash).join()}`
    if (seen === this.#lookedAt) return
    let isWhole = true
    for (const sent of pending) if (!(await this.#isLookedAt(sent, head.number))) isWhole = false
    if (isWhole) this.#lookedAt = seen
  }

  #of(txHash: string): Followed {
    const known = this.#followed.get(txHash) ?? new Followed()
    this.#followed.set(txHash, known)
    return known
  }

  /** What has ended is looked at no more. */
  #forgetAllBut(pending: ReadonlySet<string>): void {
    for (const txHash of this.#followed.keys()) if (!pending.has(txHash)) this.#followed.delete(txHash)
  }

  /** False when no node has answered for it: that keeps nobody from looking at the next one. */
  async #isLookedAt(sent: SentStaking, headNumber: number): Promise<boolean> {
    try {
      await this.#lookAt(sent, headNumber)
      return true
    } catch (error) {
      if (!isNodeFault(error)) throw error
      const { chain, txHash } = sent
      this.#following.log.warn({ chain, txHash, reason: error.message }, 'a staking transaction could not be looked at')
      return false
    }
  }

  async #lookAt(sent: SentStaking, headNumber: number): Promise<void> {
    const { book } = this.#following
    // Another one of its nonce may have ended it meanwhile.
    if (book.sent.of(sent.chain, sent.txHash)?.end !== undefined) return
    const state = await this.#chain.broadcast.state(sent.txHash, sent.sender)
    const { included, finalBlockNumber } = state
    if (included !== undefined) {
      this.#of(sent.txHash).usedAt = undefined // by itself, then
      if (included.blockNumber > finalBlockNumber) return
      const end = await this.#endInBlock(sent, included)
      if (end !== undefined) await this.#end(sent, end)
      return
    }
    if (state.nonce > sent.nonce) {
      if (await this.#isUsedFinally(sent, state)) await this.#endReplaced(sent, state)
      return
    }
    this.#of(sent.txHash).usedAt = undefined
    if (!state.isKnown) await this.#sendAgain(sent, { headNumber, finalBlockNumber })
  }

  /** What a final block says, which its hash commits to; undefined while it is not the chain's. */
  async #endInBlock(
    { txHash }: SentStaking,
    { blockHash, blockNumber }: NonNullable<TransactionState['included']>,
  ): Promise<{ readonly status: StakingEnd; readonly blockNumber: number } | undefined> {
    const { blocks } = this.#chain
    const [final, canonical] = [await blocks.finalized(), await blocks.blockByNumber(blockNumber)]
    if (final === undefined || final.number < blockNumber || canonical?.header.hash !== blockHash) return undefined
    const { hash, succeeded } = canonical.columns
    const wanted = bytesOf(txHash)
    const row = succeeded.findIndex(
      (_, i) => Buffer.compare(hash.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES), wanted) === 0,
    )
    if (row === -1) return undefined
    return { status: succeeded[row] === 1 ? 'mined' : 'failed', blockNumber }
  }

  async #end(
    sent: SentStaking,
    end: { readonly status: StakingEnd; readonly blockNumber?: number; readonly deposited?: string[] },
  ): Promise<void> {
    const { book, log } = this.#following
    const others = book.sent.pendingAt(sent.chain, sent).filter(({ txHash }) => txHash !== sent.txHash)
    await tellEnd(this.#following, sent, end)
    log.info({ chain: sent.chain, txHash: sent.txHash, end: end.status }, 'a staking transaction has ended')
    for (const other of others) await tellEnd(this.#following, other, { status: 'replaced' })
  }

  /** Whether the nonce was used at a block that is final now: what a newer block says, a reorg may take back. */
  async #isUsedFinally({ txHash }: SentStaking, { head, finalBlockNumber }: TransactionState): Promise<boolean> {
    const followed = this.#of(txHash)
    const { usedAt } = followed
    if (usedAt !== undefined && usedAt.number > finalBlockNumber) return false
    const canonical = usedAt === undefined ? undefined : await this.#chain.blocks.blockByNumber(usedAt.number)
    if (usedAt !== undefined && canonical?.header.hash === usedAt.hash) return true
    followed.usedAt = head
    return false
  }

  /** Its nonce is used by a final block: by another one that was broadcast here, or by a stranger to us. */
  async #endReplaced(sent: SentStaking, { head, finalBlockNumber }: TransactionState): Promise<void> {
    const { book } = this.#following
    for (const other of book.sent.pendingAt(sent.chain, sent)) {
      if (other.txHash === sent.txHash) continue
      const { included } = await this.#chain.broadcast.state(other.txHash, other.sender)
      // It is looked at by itself, and ends this one with it.
      if (included !== undefined && included.blockNumber <= finalBlockNumber) return
    }
    const { ever, otherwise, final } = await this.#deposits(sent, { headNumber: head.number, finalBlockNumber })
    if (ever.length === 0 && !this.#of(sent.txHash).isDeposited) return await this.#end(sent, { status: 'replaced' })
    if (ever.length === 0) return
    // Then it was mined, whatever a node says, or something else has deposited them: of both nobody deposits them again.
    this.#tellDeposited(sent, otherwise)
    if (final.length === ever.length) await this.#end(sent, { status: 'superseded', deposited: [...final] })
  }

  /**
   * Whether its validators were deposited while it is in no block: by another one, so that it would be a second deposit. It may still be
   * mined, so it ends only when all of them are: of others a second transaction could be broadcast then.
   */
  async #isDeposited(sent: SentStaking, at: BlockNumbers): Promise<boolean> {
    const { pubkeys, otherwise, final } = await this.#deposits(sent, at)
    if (pubkeys.length === 0) return this.#of(sent.txHash).isDeposited
    this.#tellDeposited(sent, otherwise)
    if (final.length === sent.pubkeys.length) await this.#end(sent, { status: 'superseded', deposited: [...final] })
    return true
  }

  /** What is final is remembered: only blocks that this process has not seen are looked at, and those of an hour before. */
  async #deposits(sent: SentStaking, { headNumber, finalBlockNumber }: BlockNumbers): Promise<DepositedOtherwise> {
    const followed = this.#of(sent.txHash)
    const { searchedTo } = followed
    const blocks = searchedTo === undefined ? undefined : Math.max(0, headNumber - searchedTo)
    const told = await depositsTold(this.#chain, this.#following.book, { sent, finalBlockNumber, blocks })
    followed.searchedTo = headNumber
    return followed.deposits.add(told, sent.pubkeys)
  }

  /** Once for each. */
  #tellDeposited({ chain, txHash, sender, nonce }: SentStaking, pubkeys: readonly string[]): void {
    const [first] = pubkeys
    const followed = this.#of(txHash)
    if (first === undefined || followed.isDeposited) return
    followed.isDeposited = true
    this.#following.log.error(
      { chain, txHash, sender, nonce, reason: alreadyDeposited(first) },
      'a pending staking transaction is not sent again: its sender has to use its nonce otherwise, if it is not used yet',
    )
  }

  async #sendAgain(sent: SentStaking, { headNumber, finalBlockNumber }: BlockNumbers): Promise<void> {
    const { txHash, rawTransaction } = sent
    const followed = this.#of(txHash)
    const { sentAt } = followed
    if (rawTransaction === undefined || (sentAt !== undefined && Math.abs(headNumber - sentAt) < RESEND_BLOCKS)) return
    if (await this.#isDeposited(sent, { headNumber, finalBlockNumber })) return
    const { log } = this.#following
    const outcomes = await durably('broadcast-sent', () => this.#chain.broadcast.send(rawTransaction, txHash))
    followed.sentAt = headNumber
    const accepted = outcomes.filter(({ status }) => status === 'accepted').length
    const refused = outcomes.find((outcome) => outcome.status === 'refused')
    log.info(
      { chain: this.#chain.name, txHash, accepted, ...(refused === undefined ? {} : { words: refused.words }) },
      'a staking transaction that the node does not have was sent again',
    )
  }
}
