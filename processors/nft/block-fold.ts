import type { TimeSlices } from '../loop/time-slices.ts'
import { type Balance, negative, readBalance, shown, sum } from './balance.ts'
import { BlockRows, isZero } from './block-rows.ts'
import { type FoldState, NOBODY } from './fold-state.ts'
import type { FoldedBlock, FoldedRows } from './folded-rows.ts'
import { ODD } from './odd-transfers.ts'
import { type Span, TRANSFER } from './read-step.ts'
import type { Senders } from './senders.ts'
import type { TransferParts } from './transfer-parts.ts'

/** A fold that begins with it knows that nobody had anything before. */
const FIRST_BLOCK = 1
/** In 32-bit words. */
const WORD = 8
/** Who had a token, where nobody knows. */
const UNKNOWN = -1

interface StepParts {
  readonly state: FoldState
  readonly folded: FoldedRows
  readonly span: Span
  readonly transfers: Uint32Array
  readonly parts: TransferParts
  readonly senders: Senders
  readonly slices: TimeSlices
}

/** Transfers, and those of tokens that are one of a kind among them. */
export interface BlockCounts {
  readonly transfers: number
  readonly singles: number
}

/** Folds the blocks of a step, one after the other. */
export class BlockFold {
  readonly #parts: StepParts
  readonly #rows: BlockRows
  readonly #isFromFirstBlock: boolean
  /** The transfers of the block at hand: places among the words. */
  readonly #places: number[] = []
  /** Who had a token that is one of a kind. */
  readonly #had: number[] = []
  // What they have touched, before the block.
  readonly #ownerBefore: number[] = []
  readonly #balanceBefore: Balance[] = []
  readonly #tokensBefore: number[] = []
  #block: FoldedBlock = { number: 0, timeSec: 0 }

  constructor(parts: StepParts) {
    this.#parts = parts
    this.#rows = new BlockRows(parts)
    this.#isFromFirstBlock = parts.span.start <= FIRST_BLOCK
  }

  /** The block's transfers are in the order of the chain, from one place among the words up to another. */
  async foldBlock(block: FoldedBlock, first: number, end: number): Promise<BlockCounts> {
    const rows = this.#rows
    const { state, span } = this.#parts
    this.#block = block
    state.journal.begin(block.number, span.to)
    rows.begin(block, first + TRANSFER.blockHash)
    for (let at = first; at < end; at += TRANSFER.row) {
      if (at > first && this.#isTwice(at)) continue
      this.#move(at)
      if (this.#parts.slices.isOver()) await this.#nextTurn()
    }
    const { singles, holdings, pairs, tokens, contracts, accounts } = state.touched
    await this.#each(singles.keys, (token, i) => this.#changeOwner(token, this.#ownerBefore[i] as number))
    await this.#each(holdings.keys, (holding, i) => this.#changeBalance(holding, this.#balanceBefore[i] as Balance))
    await this.#each(pairs.keys, (pair, i) => this.#countPair(pair, this.#tokensBefore[i] as number))
    await this.#each(tokens.keys, (token) => rows.holders(token))
    await this.#each(contracts.keys, (contract) => rows.contract(contract))
    await this.#each(accounts.keys, (account) => rows.account(account))
    await this.#each(this.#places, (at, i) => rows.transfer(at, this.#oddOf(i)))
    return this.#endBlock()
  }

  #endBlock(): BlockCounts {
    this.#parts.state.journal.end()
    const transfers = this.#places.length
    const singles = this.#places.filter((at) => !this.#isMany(at)).length
    for (const numbers of [this.#places, this.#had]) numbers.length = 0
    for (const touched of Object.values(this.#parts.state.touched)) touched.clear()
    return { transfers, singles }
  }

  /** Does something for each key; others have their turns meanwhile, so that keys may not change. */
  async #each(keys: readonly number[], work: (key: number, place: number) => void): Promise<void> {
    for (let i = 0; i < keys.length; i++) {
      work(keys[i] as number, i)
      if (this.#parts.slices.isOver()) await this.#nextTurn()
    }
  }

  async #nextTurn(): Promise<void> {
    const { folded, span, slices } = this.#parts
    await folded.writeIfMany(span)
    await slices.next()
  }

  /** Whether a row is there once more: it was written twice. */
  #isTwice(at: number): boolean {
    const { transfers } = this.#parts
    const before = at - TRANSFER.row
    return (
      transfers[at + TRANSFER.logIndex] === transfers[before + TRANSFER.logIndex] &&
      transfers[at + TRANSFER.batchIndex] === transfers[before + TRANSFER.batchIndex]
    )
  }

  #isMany(at: number): boolean {
    return this.#parts.transfers[at + TRANSFER.isMany] === 1
  }

  #move(at: number): void {
    const { state, parts, transfers } = this.#parts
    const isMany = this.#isMany(at)
    const row = at / TRANSFER.row
    const contract = parts.contract[row] as number
    const token = parts.token[row] as number
    const from = parts.from[row] as number
    const to = parts.to[row] as number
    this.#places.push(at)
    this.#had.push(isMany ? UNKNOWN : this.#pass(token, to))
    if (isMany) {
      const amount = readBalance(transfers, at + TRANSFER.amount, 0n)
      this.#add(token, from, negative(amount))
      this.#add(token, to, amount)
    }
    state.ofContract.add(contract, isMany)
    state.touched.contracts.add(contract)
    if (from !== NOBODY) {
      state.sent.add(from, isMany)
      state.touched.accounts.add(from)
    }
    if (to !== NOBODY) {
      state.received.add(to, isMany)
      state.touched.accounts.add(to)
    }
  }

  /**
   * Who holds a token that is one of a kind is whom its last transfer went to, whoever the log says it came from: a contract may lie, or
   * mint what is there. Returns who had it.
   */
  #pass(token: number, to: number): number {
    const { owner, isKnown, touched } = this.#parts.state
    const before = owner.get(token)
    owner.set(token, to)
    const isFirst = touched.singles.add(token)
    if (isFirst) this.#ownerBefore[touched.singles.keys.length - 1] = before
    return !isFirst || this.#isFromFirstBlock || isKnown.get(token) === 1 ? before : UNKNOWN
  }

  #add(token: number, account: number, amount: Balance): void {
    if (account === NOBODY) return
    const { state } = this.#parts
    const holding = state.holdingOf(token, account)
    const before = state.balance.get(holding)
    state.balance.set(holding, sum(before, amount))
    const { holdings } = state.touched
    if (holdings.add(holding)) this.#balanceBefore[holdings.keys.length - 1] = before
  }

  #changeOwner(token: number, before: number): void {
    const { state } = this.#parts
    const after = state.owner.get(token)
    if (before === after) return
    state.isKnown.set(token, 1)
    if (before !== NOBODY) {
      this.#rows.single(token, before, false)
      this.#addToPair(this.#pairOf(token, before), -1, -1)
    }
    if (after !== NOBODY) {
      this.#rows.single(token, after, true)
      this.#addToPair(this.#pairOf(token, after), 1, 1)
    }
  }

  #changeBalance(holding: number, before: Balance): void {
    const { state } = this.#parts
    const after = state.balance.get(holding)
    if (before === after) return
    if (before <= 0 && after > 0) {
      state.sinceBlock.set(holding, this.#block.number)
      state.sinceTimeSec.set(holding, this.#block.timeSec)
    }
    this.#rows.holding(holding)
    const token = state.tokenOf(holding)
    const more = Number(after > 0) - Number(before > 0)
    this.#addToPair(this.#pairOf(token, state.holderOf(holding)), more, sum(shown(after), negative(shown(before))))
    state.tokenHolders.add(token, more)
    state.touched.tokens.add(token)
  }

  #pairOf(token: number, account: number): number {
    const { state } = this.#parts
    return state.pairOf(state.contractOf(token), account)
  }

  #addToPair(pair: number, tokens: number, amount: Balance): void {
    const { state } = this.#parts
    const { pairs } = state.touched
    if (pairs.add(pair)) this.#tokensBefore[pairs.keys.length - 1] = state.pairTokens.get(pair)
    state.addToPair(pair, tokens, amount)
  }

  /** What an account has of a contract, and what that makes of the figures of both. */
  #countPair(pair: number, before: number): void {
    const { state } = this.#parts
    this.#rows.pair(pair)
    const [contract, account] = [state.contractOfPair(pair), state.accountOfPair(pair)]
    const after = state.pairTokens.get(pair)
    const more = Number(after > 0) - Number(before > 0)
    state.contractHoldings.add(contract, after - before)
    state.contractHolders.add(contract, more)
    state.accountHoldings.add(account, after - before)
    state.accountContracts.add(account, more)
    // Who had a token may be somebody whom no transfer names.
    state.touched.accounts.add(account)
  }

  /** What is odd about a transfer, by its place in the block; of an amount after the whole block. */
  #oddOf(place: number): number {
    const { transfers, parts } = this.#parts
    const at = this.#places[place] as number
    const from = parts.from[at / TRANSFER.row] as number
    const had = this.#had[place] as number
    let odd = isZero(transfers, at + TRANSFER.amount, WORD) ? ODD.no_amount : 0
    if (had !== UNKNOWN && from !== had) {
      if (from !== NOBODY) odd |= ODD.from_not_holder
      else odd |= ODD.minted_again
    }
    if (this.#isMany(at) && from !== NOBODY && this.#isFromFirstBlock && this.#isLacking(at / TRANSFER.row))
      odd |= ODD.from_lacks_amount
    return odd
  }

  /** Whether who has sent it has less than nothing after the block, and something else than before. */
  #isLacking(row: number): boolean {
    const { state, parts } = this.#parts
    const holding = state.holdingOf(parts.token[row] as number, parts.from[row] as number)
    const balance = state.balance.get(holding)
    return balance < 0 && balance !== this.#balanceBefore[state.touched.holdings.placeOf(holding)]
  }
}
