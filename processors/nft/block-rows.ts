import { TOTAL_KINDS, type TotalKind, TRANSFER_LISTS, type TransferList } from '../../schemas/tables/nft.ts'
import { type Balance, writeBalance } from './balance.ts'
import { type FoldState, NOBODY, TOKEN_ID, TOKEN_KEY } from './fold-state.ts'
import type { FoldedBlock, FoldedRows } from './folded-rows.ts'
import type { WordColumn } from './growing-rows.ts'
import { TRANSFER } from './read-step.ts'
import type { Senders } from './senders.ts'

// In 32-bit words.
const ADDRESS = 5
const WORD = 8
/** Places among `TOKEN_STANDARDS`: of tokens that are one of a kind, and of those that there are many of. */
const [SINGLE, MANY] = [0, 1]

const LIST = Object.fromEntries(TRANSFER_LISTS.map((kind, i) => [kind, i])) as Readonly<Record<TransferList, number>>
const TOTAL = Object.fromEntries(TOTAL_KINDS.map((kind, i) => [kind, i])) as Readonly<Record<TotalKind, number>>

interface Parts {
  readonly state: FoldState
  readonly folded: FoldedRows
  readonly transfers: Uint32Array
  readonly senders: Senders
}

type HoldingRow = ReturnType<FoldedRows['holders']['next']>
type TotalRow = ReturnType<FoldedRows['totals']['next']>

/** Rows of the block at hand, of what the state tells after it. */
export class BlockRows {
  readonly #parts: Parts
  #block: FoldedBlock = { number: 0, timeSec: 0 }
  readonly #balance = new Uint32Array(WORD + 2)

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Another block begins; its hash is at a place among the transfers' words. */
  begin(block: FoldedBlock, hash: number): void {
    this.#block = block
    this.#parts.folded.begin(block, this.#parts.transfers, hash)
  }

  /** Somebody has got a token that is one of a kind, or has it no more. */
  single(token: number, account: number, isHeld: boolean): void {
    const row = this.#parts.folded.holdings.next()
    this.#pushHolding(row, token, account)
    row.standard.push(SINGLE)
    this.#pushBalance(row.amount, row.excess, isHeld ? 1 : 0)
    row.since_block.pushNumber(this.#block.number)
    row.since_time.pushNumber(this.#block.timeSec)
  }

  /** Somebody has another amount than before of a token that there are many of. */
  holding(holding: number): void {
    const { state, folded } = this.#parts
    const row = folded.holdings.next()
    this.#pushHolding(row, state.tokenOf(holding), state.holderOf(holding))
    row.standard.push(MANY)
    this.#pushBalance(row.amount, row.excess, state.balance.get(holding))
    row.since_block.pushNumber(state.sinceBlock.get(holding))
    row.since_time.pushNumber(state.sinceTimeSec.get(holding))
  }

  /** How many hold a token that there are many of. */
  holders(token: number): void {
    const { state, folded } = this.#parts
    const row = folded.holders.next()
    this.#pushHolding(row, token, NOBODY)
    row.standard.push(MANY)
    this.#pushBalance(row.amount, row.excess, state.tokenHolders.get(token))
  }

  /** What an account has of a contract. */
  pair(pair: number): void {
    const { state } = this.#parts
    const ofContract = this.#total(TOTAL.contract_account)
    ofContract.key.push(state.contracts.keys, state.contractOfPair(pair) * ADDRESS)
    ofContract.other.push(state.accounts.keys, state.accountOfPair(pair) * ADDRESS)
    this.#pushPair(ofContract, pair)
    const ofAccount = this.#total(TOTAL.account_contract)
    ofAccount.key.push(state.accounts.keys, state.accountOfPair(pair) * ADDRESS)
    ofAccount.other.push(state.contracts.keys, state.contractOfPair(pair) * ADDRESS)
    this.#pushPair(ofAccount, pair)
  }

  contract(contract: number): void {
    const { contracts, contractHoldings, contractHolders, ofContract } = this.#parts.state
    const row = this.#total(TOTAL.contract)
    row.key.push(contracts.keys, contract * ADDRESS)
    row.tokens.pushNumber(contractHoldings.get(contract))
    row.others.pushNumber(contractHolders.get(contract))
    row.sent.pushNumber(ofContract.transfers.get(contract))
    row.sent_singles.pushNumber(ofContract.singles.get(contract))
  }

  account(account: number): void {
    const { accounts, accountHoldings, accountContracts, sent, received } = this.#parts.state
    const row = this.#total(TOTAL.account)
    row.key.push(accounts.keys, account * ADDRESS)
    row.tokens.pushNumber(accountHoldings.get(account))
    row.others.pushNumber(accountContracts.get(account))
    row.sent.pushNumber(sent.transfers.get(account))
    row.sent_singles.pushNumber(sent.singles.get(account))
    row.received.pushNumber(received.transfers.get(account))
    row.received_singles.pushNumber(received.singles.get(account))
  }

  /** A transfer at a place among the words, in each of its lists; with what is odd about it. */
  transfer(at: number, odd: number): void {
    const { transfers } = this.#parts
    this.#listed(at, LIST.all, odd)
    this.#listed(at, LIST.contract, odd).key.push(transfers, at + TRANSFER.contract)
    // Nothing is kept of the zero address.
    if (!isZero(transfers, at + TRANSFER.from, ADDRESS))
      this.#listed(at, LIST.from, odd).key.push(transfers, at + TRANSFER.from)
    if (!isZero(transfers, at + TRANSFER.to, ADDRESS))
      this.#listed(at, LIST.to, odd).key.push(transfers, at + TRANSFER.to)
  }

  /** A row of a transfer without its list's key. */
  #listed(at: number, list: number, odd: number) {
    const { transfers, senders, folded } = this.#parts
    const row = folded.transfers.next()
    row.kind.push(list)
    row.log_index.push(transfers, at + TRANSFER.logIndex)
    row.batch_index.push(transfers, at + TRANSFER.batchIndex)
    row.transaction_index.push(transfers, at + TRANSFER.transactionIndex)
    row.transaction_hash.push(transfers, at + TRANSFER.transactionHash)
    row.contract.push(transfers, at + TRANSFER.contract)
    row.standard.push(transfers[at + TRANSFER.isMany] as number)
    row.event.push((transfers[at + TRANSFER.event] as number) - 1)
    row.from_address.push(transfers, at + TRANSFER.from)
    row.to_address.push(transfers, at + TRANSFER.to)
    row.token_id.push(transfers, at + TRANSFER.tokenId)
    row.amount.push(transfers, at + TRANSFER.amount)
    senders.pushTo(row.sender, transfers, at)
    row.reasons.push(odd)
    return row
  }

  /** A row of totals without its figures. */
  #total(kind: number): TotalRow {
    const row = this.#parts.folded.totals.next()
    row.kind.push(kind)
    return row
  }

  #pushPair(row: TotalRow, pair: number): void {
    const { state } = this.#parts
    this.#pushBalance(row.amount, row.excess, state.pairAmount.get(pair))
    row.tokens.pushNumber(state.pairTokens.get(pair))
  }

  #pushHolding(row: HoldingRow, token: number, account: number): void {
    const { tokens, contracts, accounts } = this.#parts.state
    const key = token * TOKEN_KEY
    row.contract.push(contracts.keys, (tokens.keys[key] as number) * ADDRESS)
    row.token_id.push(tokens.keys, key + TOKEN_ID)
    row.holder.push(accounts.keys, account * ADDRESS)
  }

  #pushBalance(amount: WordColumn, excess: WordColumn, balance: Balance): void {
    // Nearly all of them, with nothing above.
    if (typeof balance === 'number' && balance >= 0) {
      amount.pushNumber(balance)
      return
    }
    writeBalance(this.#balance, 0, balance)
    amount.push(this.#balance, 0)
    excess.push(this.#balance, WORD)
  }
}

/** Whether so many words are 0. */
export function isZero(words: Uint32Array, at: number, width: number): boolean {
  for (let i = 0; i < width; i++) if (words[at + i] !== 0) return false
  return true
}
