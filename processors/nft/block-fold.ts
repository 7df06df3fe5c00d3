import { TRANSFER_EVENTS } from '../../schemas/eth/nft-transfers.ts'
import { type Balance, negative, readBalance, shown, sum, writeBalance } from './balance.ts'
import type { FoldedRows } from './folded-rows.ts'
import type { WordColumn } from './growing-rows.ts'
import { COUNTED, type Span, TRANSFER } from './read-step.ts'
import type { Senders } from './senders.ts'
import { NOBODY, type StepState, TOKEN_ID, TOKEN_KEY, Touched } from './step-state.ts'
import type { Turns } from './turns.ts'

/** A fold that begins with it knows that nobody had anything before. */
const FIRST_BLOCK = 1
// In 32-bit words.
const ADDRESS = 5
const WORD = 8
const SINGLE = 'ERC721'
const MANY = 'ERC1155'

interface StepParts {
  readonly state: StepState
  readonly folded: FoldedRows
  readonly span: Span
  readonly transfers: Uint32Array
  readonly senders: Senders
  readonly turns: Turns
}

interface FoldedBlock {
  readonly number: number
  readonly timeSec: number
}

/** A transfer of the block at hand, its parts by their numbers. */
interface Move {
  /** Place among the words. */
  readonly at: number
  readonly contract: number
  readonly from: number
  readonly to: number
  readonly token: number
  readonly isMany: boolean
  /** Who had a token that is one of a kind; undefined where nobody knows. */
  readonly before: number | undefined
}

/** Of somebody who has another amount of a token after the block than before. */
interface Change {
  readonly token: number
  readonly account: number
  readonly standard: string
  readonly before: Balance
  readonly after: Balance
  readonly sinceBlock: number
  readonly sinceTimeSec: number
}

type TransferRow = Pick<
  RowOf<FoldedRows['transfers']>,
  keyof RowOf<FoldedRows['accountTransfers']> & keyof RowOf<FoldedRows['transfers']>
>
type RowOf<Rows extends { next(): object }> = ReturnType<Rows['next']>

/** Folds the blocks of a step, one after the other. */
export class BlockFold {
  readonly #parts: StepParts
  readonly #isFromFirstBlock: boolean
  // What the block at hand has touched, and what that was before it.
  readonly #singles = new Touched()
  readonly #ownerBefore: number[] = []
  readonly #holdings = new Touched()
  readonly #balanceBefore: Balance[] = []
  readonly #pairs = new Touched()
  readonly #tokensBefore: number[] = []
  readonly #accounts = new Touched()
  readonly #contracts = new Touched()
  readonly #tokens = new Touched()
  readonly #counted = { all: new Touched(), contract: new Touched(), from: new Touched(), to: new Touched() }
  #block: FoldedBlock = { number: 0, timeSec: 0 }
  /** Place of the block's hash among the words. */
  #hash = 0
  readonly #balance = new Uint32Array(WORD + 2)

  constructor(parts: StepParts) {
    this.#parts = parts
    this.#isFromFirstBlock = parts.span.start <= FIRST_BLOCK
  }

  /** The block's transfers are in the order of the chain, from one place among the words up to another. */
  async foldBlock(block: FoldedBlock, first: number, end: number): Promise<void> {
    const { turns } = this.#parts
    this.#block = block
    this.#hash = first + TRANSFER.blockHash
    const moves: Move[] = []
    for (let at = first; at < end; at += TRANSFER.row) {
      if (at > first && this.#isTwice(at)) continue
      moves.push(this.#move(at))
      if (turns.isOver()) await this.#nextTurn()
    }
    for (const [place, token] of this.#singles.keys.entries()) {
      this.#changeOwner(token, this.#ownerBefore[place] as number)
      if (turns.isOver()) await this.#nextTurn()
    }
    for (const [place, holding] of this.#holdings.keys.entries()) {
      this.#changeBalance(holding, this.#balanceBefore[place] as Balance)
      if (turns.isOver()) await this.#nextTurn()
    }
    for (const [place, pair] of this.#pairs.keys.entries()) {
      this.#countPair(pair, this.#tokensBefore[place] as number)
      if (turns.isOver()) await this.#nextTurn()
    }
    this.#tellTotals()
    for (const move of moves) {
      this.#tell(move)
      if (turns.isOver()) await this.#nextTurn()
    }
    this.#tellTransferTotals()
    for (const touched of [this.#singles, this.#holdings, this.#pairs, this.#accounts, this.#contracts, this.#tokens])
      touched.clear()
  }

  async #nextTurn(): Promise<void> {
    const { folded, span, turns } = this.#parts
    await folded.writeIfMany(span)
    await turns.next()
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

  #move(at: number): Move {
    const { state, transfers } = this.#parts
    const contract = state.contractAt(transfers, at + TRANSFER.contract)
    const from = state.accountAt(transfers, at + TRANSFER.from)
    const to = state.accountAt(transfers, at + TRANSFER.to)
    const isMany = transfers[at + TRANSFER.isMany] === 1
    const token = state.tokenAt(contract, isMany, transfers, at + TRANSFER.tokenId)
    if (!isMany) return { at, contract, from, to, token, isMany, before: this.#pass(token, to) }
    const amount = readBalance(transfers, at + TRANSFER.amount, 0n)
    this.#add(token, from, negative(amount))
    this.#add(token, to, amount)
    return { at, contract, from, to, token, isMany, before: undefined }
  }

  /**
   * Who holds a token that is one of a kind is whom its last transfer went to, whoever the log says it came from: a contract may lie, or
   * mint what is there. Returns who had it; undefined where nobody knows.
   */
  #pass(token: number, to: number): number | undefined {
    const { owner, isKnown } = this.#parts.state
    const before = owner.get(token)
    owner.set(token, to)
    const isFirst = this.#singles.add(token)
    if (isFirst) this.#ownerBefore[this.#singles.keys.length - 1] = before
    return !isFirst || this.#isFromFirstBlock || isKnown.get(token) === 1 ? before : undefined
  }

  #add(token: number, account: number, amount: Balance): void {
    if (account === NOBODY) return
    const { state } = this.#parts
    const holding = state.holdingOf(token, account)
    const before = state.balance[holding] as Balance
    state.balance[holding] = sum(before, amount)
    if (this.#holdings.add(holding)) this.#balanceBefore[this.#holdings.keys.length - 1] = before
  }

  #changeOwner(token: number, before: number): void {
    const { state } = this.#parts
    const after = state.owner.get(token)
    if (before === after) return
    state.isKnown.set(token, 1)
    const { number, timeSec } = this.#block
    const since = { sinceBlock: number, sinceTimeSec: timeSec }
    if (before !== NOBODY) this.#change({ token, account: before, standard: SINGLE, before: 1, after: 0, ...since })
    if (after !== NOBODY) this.#change({ token, account: after, standard: SINGLE, before: 0, after: 1, ...since })
  }

  #changeBalance(holding: number, before: Balance): void {
    const { state } = this.#parts
    const after = state.balance[holding] as Balance
    if (before === after) return
    const [token, account] = [state.holdings.keys[2 * holding], state.holdings.keys[2 * holding + 1]] as [
      number,
      number,
    ]
    if (before <= 0 && after > 0) {
      state.sinceBlock.set(holding, this.#block.number)
      state.sinceTimeSec.set(holding, this.#block.timeSec)
    }
    const [sinceBlock, sinceTimeSec] = [state.sinceBlock.get(holding), state.sinceTimeSec.get(holding)]
    this.#change({ token, account, standard: MANY, before, after, sinceBlock, sinceTimeSec })
    state.tokenHolders.add(token, Number(after > 0) - Number(before > 0))
    this.#tokens.add(token)
  }

  #change({ token, account, standard, before, after, sinceBlock, sinceTimeSec }: Change): void {
    const { state, folded } = this.#parts
    const key = token * TOKEN_KEY
    const contract = state.tokens.keys[key] as number
    const row = folded.changes.next()
    this.#pushBlock(row)
    row.contract.push(state.contracts.keys, contract * ADDRESS)
    row.token_id.push(state.tokens.keys, key + TOKEN_ID)
    row.standard.push(standard)
    row.holder.push(state.accounts.keys, account * ADDRESS)
    this.#pushBalance(before, row.amount_before, row.excess_before)
    this.#pushBalance(after, row.amount, row.excess)
    row.since_block.pushNumber(sinceBlock)
    row.since_time.pushNumber(sinceTimeSec)
    const pair = state.pairOf(contract, account)
    if (this.#pairs.add(pair)) this.#tokensBefore[this.#pairs.keys.length - 1] = state.pairTokens.get(pair)
    state.addToPair(pair, Number(after > 0) - Number(before > 0), sum(shown(after), negative(shown(before))))
  }

  /** What an account has of a contract, and what that makes of the figures of both. */
  #countPair(pair: number, before: number): void {
    const { state, folded } = this.#parts
    const [contract, account] = [state.pairs.keys[2 * pair], state.pairs.keys[2 * pair + 1]] as [number, number]
    const after = state.pairTokens.get(pair)
    const row = folded.pairs.next()
    this.#pushBlock(row)
    row.contract.push(state.contracts.keys, contract * ADDRESS)
    row.holder.push(state.accounts.keys, account * ADDRESS)
    row.tokens.pushNumber(after)
    this.#pushBalance(state.pairAmount[pair] as Balance, row.amount, row.excess)
    const more = Number(after > 0) - Number(before > 0)
    state.contractHoldings.add(contract, after - before)
    state.contractHolders.add(contract, more)
    state.accountHoldings.add(account, after - before)
    state.accountContracts.add(account, more)
    this.#contracts.add(contract)
    this.#accounts.add(account)
  }

  #tellTotals(): void {
    const { state, folded } = this.#parts
    for (const account of this.#accounts.keys) {
      const row = folded.holderTotals.next()
      this.#pushBlock(row)
      row.holder.push(state.accounts.keys, account * ADDRESS)
      row.holdings.pushNumber(state.accountHoldings.get(account))
      row.contracts.pushNumber(state.accountContracts.get(account))
    }
    for (const contract of this.#contracts.keys) {
      const row = folded.contractTotals.next()
      this.#pushBlock(row)
      row.contract.push(state.contracts.keys, contract * ADDRESS)
      row.holdings.pushNumber(state.contractHoldings.get(contract))
      row.holders.pushNumber(state.contractHolders.get(contract))
    }
    for (const token of this.#tokens.keys) {
      const key = token * TOKEN_KEY
      const row = folded.tokenTotals.next()
      this.#pushBlock(row)
      row.contract.push(state.contracts.keys, (state.tokens.keys[key] as number) * ADDRESS)
      row.token_id.push(state.tokens.keys, key + TOKEN_ID)
      row.holders.pushNumber(state.tokenHolders.get(token))
    }
  }

  #tell(move: Move): void {
    const { transfers, folded } = this.#parts
    const { at, contract, from, to, isMany } = move
    const reasons = this.#reasonsOf(move)
    const inAll = folded.transfers.next()
    this.#pushTransfer(inAll, at, isMany, reasons)
    inAll.from_address.push(transfers, at + TRANSFER.from)
    inAll.to_address.push(transfers, at + TRANSFER.to)
    this.#count('all', 0, isMany)
    this.#count('contract', contract, isMany)
    if (from !== NOBODY) this.#tellAccount('from', from, move, reasons)
    if (to !== NOBODY) this.#tellAccount('to', to, move, reasons)
  }

  #tellAccount(side: 'from' | 'to', account: number, { at, isMany }: Move, reasons: string): void {
    const { transfers, folded } = this.#parts
    const row = folded.accountTransfers.next()
    this.#pushTransfer(row, at, isMany, reasons)
    row.account.push(transfers, at + TRANSFER[side])
    row.side.push(side)
    row.other.push(transfers, at + (side === 'from' ? TRANSFER.to : TRANSFER.from))
    this.#count(side, account, isMany)
  }

  #pushTransfer(row: TransferRow, at: number, isMany: boolean, reasons: string): void {
    const { transfers, senders } = this.#parts
    this.#pushBlock(row)
    row.log_index.push(transfers, at + TRANSFER.logIndex)
    row.batch_index.push(transfers, at + TRANSFER.batchIndex)
    row.time.pushNumber(this.#block.timeSec)
    row.transaction_index.push(transfers, at + TRANSFER.transactionIndex)
    row.transaction_hash.push(transfers, at + TRANSFER.transactionHash)
    row.contract.push(transfers, at + TRANSFER.contract)
    row.standard.push(isMany ? MANY : SINGLE)
    const event = TRANSFER_EVENTS[(transfers[at + TRANSFER.event] as number) - 1]
    if (event === undefined) throw new Error('a transfer was told by an event that nobody knows')
    row.event.push(event)
    row.token_id.push(transfers, at + TRANSFER.tokenId)
    row.amount.push(transfers, at + TRANSFER.amount)
    senders.pushTo(row.sender, transfers, at)
    row.reasons.push(reasons)
  }

  /** What is odd about a transfer; of an amount after the whole block. */
  #reasonsOf({ at, from, token, isMany, before }: Move): string {
    const { state, transfers } = this.#parts
    const reasons: string[] = []
    if (before !== undefined && from !== NOBODY && from !== before) reasons.push('from_not_holder')
    if (before !== undefined && from === NOBODY && before !== NOBODY) reasons.push('minted_again')
    if (isMany && from !== NOBODY && this.#isFromFirstBlock) {
      const holding = state.holdingOf(token, from)
      const balance = state.balance[holding] as Balance
      if (balance < 0 && balance !== this.#balanceBefore[this.#holdings.placeOf(holding)])
        reasons.push('from_lacks_amount')
    }
    if (isZero(transfers, at + TRANSFER.amount)) reasons.push('no_amount')
    return reasons.join(',')
  }

  #count(kind: (typeof COUNTED)[number], key: number, isMany: boolean): void {
    const { transfers, singles } = this.#parts.state.counted[kind]
    transfers.add(key, 1)
    if (!isMany) singles.add(key, 1)
    this.#counted[kind].add(key)
  }

  #tellTransferTotals(): void {
    const { state, folded } = this.#parts
    for (const kind of COUNTED) {
      const keys = kind === 'contract' ? state.contracts.keys : state.accounts.keys
      for (const key of this.#counted[kind].keys) {
        const row = folded.transferTotals.next()
        this.#pushBlock(row)
        row.kind.push(kind)
        // Of all, the first account: the zero address.
        row.key.push(keys, key * ADDRESS)
        row.transfers.pushNumber(state.counted[kind].transfers.get(key))
        row.singles.pushNumber(state.counted[kind].singles.get(key))
      }
      this.#counted[kind].clear()
    }
  }

  #pushBlock(row: { readonly block_number: WordColumn; readonly block_hash: WordColumn }): void {
    row.block_number.pushNumber(this.#block.number)
    row.block_hash.push(this.#parts.transfers, this.#hash)
  }

  #pushBalance(balance: Balance, amount: WordColumn, excess: WordColumn): void {
    writeBalance(this.#balance, 0, balance)
    amount.push(this.#balance, 0)
    excess.push(this.#balance, WORD)
  }
}

function isZero(words: Uint32Array, at: number): boolean {
  for (let i = 0; i < WORD; i++) if (words[at + i] !== 0) return false
  return true
}
