import { TOTAL_KINDS } from '../../schemas/tables/nft.ts'
import type { TimeSlices } from '../loop/time-slices.ts'
import { type Balance, readBalance, sum } from './balance.ts'
import { KeyTable } from './key-table.ts'
import { HOLDING, type StepRows, TOTAL } from './read-step.ts'

/** Numbers below 2^53 by the numbers of keys, 0 where none was set. */
export class Figures {
  #values = new Float64Array(256)

  get(key: number): number {
    return this.#values[key] ?? 0
  }

  set(key: number, value: number): void {
    if (key >= this.#values.length) {
      const values = new Float64Array(2 ** Math.ceil(Math.log2(key + 1)))
      values.set(this.#values)
      this.#values = values
    }
    this.#values[key] = value
  }

  add(key: number, value: number): number {
    const after = this.get(key) + value
    this.set(key, after)
    return after
  }
}

/** Keys that a block has touched, each once, in the order in which it did. */
export class Touched {
  /** Of each key, counted through all blocks, from 1 on. */
  readonly #places = new Figures()
  /** How many there were in the blocks before. */
  #before = 0
  readonly keys: number[] = []

  /** Whether it is the first time in this block. */
  add(key: number): boolean {
    if (this.placeOf(key) !== -1) return false
    this.#places.set(key, this.#before + this.keys.length + 1)
    this.keys.push(key)
    return true
  }

  /** Among the keys; -1 where the block has not touched it. */
  placeOf(key: number): number {
    return Math.max(this.#places.get(key) - this.#before, 0) - 1
  }

  /** Another block begins. */
  clear(): void {
    this.#before += this.keys.length
    this.keys.length = 0
  }
}

/** The zero address: it is nobody, and the first account. */
export const NOBODY = 0
// In 32-bit words.
const ADDRESS = 5
const WORD = 8
const NUMBER = 2
/** The key of a token: its contract, whether there are many of it, and its id. */
export const TOKEN_KEY = 2 + WORD
export const TOKEN_ID = 2

/** Transfers, and those of tokens that are one of a kind among them. */
class TransferCounts {
  readonly transfers = new Figures()
  readonly singles = new Figures()

  add(key: number, isMany: boolean): void {
    this.transfers.add(key, 1)
    if (!isMany) this.singles.add(key, 1)
  }

  load(key: number, words: Uint32Array, at: number): void {
    this.transfers.set(key, numberAt(words, at))
    this.singles.set(key, numberAt(words, at + NUMBER))
  }
}

/**
 * All that a step touches, as it stands after the blocks that are folded: contracts, accounts, tokens, what accounts have of tokens that
 * there are many of (holdings), and what they have of contracts (pairs), each by a number of its own.
 */
export class StepState {
  readonly accounts = new KeyTable(ADDRESS)
  readonly accountHoldings = new Figures()
  readonly accountContracts = new Figures()
  readonly sent = new TransferCounts()
  readonly received = new TransferCounts()

  readonly contracts = new KeyTable(ADDRESS)
  readonly contractHoldings = new Figures()
  readonly contractHolders = new Figures()
  readonly ofContract = new TransferCounts()

  readonly tokens = new KeyTable(TOKEN_KEY)
  /** Of one that is one of a kind: an account. */
  readonly owner = new Figures()
  /** 1 where somebody has or had it, as far as blocks are folded. */
  readonly isKnown = new Figures()
  /** Of one that there are many of. */
  readonly tokenHolders = new Figures()

  /** Token and account. */
  readonly holdings = new KeyTable(2)
  readonly balance: Balance[] = []
  readonly sinceBlock = new Figures()
  readonly sinceTimeSec = new Figures()

  /** Contract and account. */
  readonly pairs = new KeyTable(2)
  readonly pairTokens = new Figures()
  readonly pairAmount: Balance[] = []

  readonly #key = new Uint32Array(TOKEN_KEY)

  constructor() {
    this.accounts.numberOf(new Uint32Array(ADDRESS))
  }

  contractAt(words: Uint32Array, at: number): number {
    return this.contracts.numberOf(words, at)
  }

  accountAt(words: Uint32Array, at: number): number {
    return this.accounts.numberOf(words, at)
  }

  tokenAt(contract: number, isMany: boolean, words: Uint32Array, at: number): number {
    this.#key[0] = contract
    this.#key[1] = isMany ? 1 : 0
    for (let i = 0; i < WORD; i++) this.#key[TOKEN_ID + i] = words[at + i] as number
    return this.tokens.numberOf(this.#key)
  }

  pairOf(contract: number, account: number): number {
    const pair = this.pairs.numberOf(this.#both(contract, account))
    if (pair === this.pairAmount.length) this.pairAmount.push(0)
    return pair
  }

  hasPair(contract: number, account: number): boolean {
    return this.pairs.find(this.#both(contract, account)) !== -1
  }

  holdingOf(token: number, account: number): number {
    const holding = this.holdings.numberOf(this.#both(token, account))
    if (holding === this.balance.length) this.balance.push(0)
    return holding
  }

  tokenOf(holding: number): number {
    return this.holdings.keys[2 * holding] as number
  }

  holderOf(holding: number): number {
    return this.holdings.keys[2 * holding + 1] as number
  }

  contractOfPair(pair: number): number {
    return this.pairs.keys[2 * pair] as number
  }

  accountOfPair(pair: number): number {
    return this.pairs.keys[2 * pair + 1] as number
  }

  /** Takes what the tables tell of tokens. */
  async loadHoldings(rows: StepRows['holdings'], slices: TimeSlices): Promise<void> {
    await each(rows, HOLDING.row, slices, (words, at) => {
      const isMany = words[at + HOLDING.isMany] === 1
      const token = this.tokenAt(this.contractAt(words, at), isMany, words, at + HOLDING.tokenId)
      const account = this.accountAt(words, at + HOLDING.holder)
      if (!isMany) {
        this.isKnown.set(token, 1)
        if (words[at + HOLDING.amount] === 1) this.owner.set(token, account)
      } else if (account === NOBODY) this.tokenHolders.set(token, numberAt(words, at + HOLDING.amount))
      else {
        const holding = this.holdingOf(token, account)
        this.balance[holding] = balanceAt(words, at + HOLDING.amount)
        this.sinceBlock.set(holding, numberAt(words, at + HOLDING.sinceBlock))
        this.sinceTimeSec.set(holding, words[at + HOLDING.sinceTime] as number)
      }
    })
  }

  /** The same of contracts and accounts. */
  async loadTotals(rows: StepRows['totals'], slices: TimeSlices): Promise<void> {
    await each(rows, TOTAL.row, slices, (words, at) => {
      const kind = TOTAL_KINDS[words[at] as number]
      const tokens = numberAt(words, at + TOTAL.tokens)
      const others = numberAt(words, at + TOTAL.others)
      if (kind === 'contract') {
        const contract = this.contractAt(words, at + TOTAL.key)
        this.contractHoldings.set(contract, tokens)
        this.contractHolders.set(contract, others)
        this.ofContract.load(contract, words, at + TOTAL.sent)
      } else if (kind === 'account') {
        const account = this.accountAt(words, at + TOTAL.key)
        this.accountHoldings.set(account, tokens)
        this.accountContracts.set(account, others)
        this.sent.load(account, words, at + TOTAL.sent)
        this.received.load(account, words, at + TOTAL.received)
      } else {
        const pair = this.pairOf(this.contractAt(words, at + TOTAL.key), this.accountAt(words, at + TOTAL.other))
        this.pairTokens.set(pair, tokens)
        this.pairAmount[pair] = balanceAt(words, at + TOTAL.amount)
      }
    })
  }

  addToPair(pair: number, tokens: number, amount: Balance): void {
    this.pairTokens.add(pair, tokens)
    this.pairAmount[pair] = sum(this.pairAmount[pair] as Balance, amount)
  }

  #both(first: number, second: number): Uint32Array {
    this.#key[0] = first
    this.#key[1] = second
    return this.#key
  }
}

async function each(
  words: Uint32Array,
  row: number,
  slices: TimeSlices,
  take: (words: Uint32Array, at: number) => void,
): Promise<void> {
  for (let at = 0; at < words.length; at += row) {
    take(words, at)
    if (slices.isOver()) await slices.next()
  }
}

/** Of 64 bits, below 2^53. */
export function numberAt(words: Uint32Array, at: number): number {
  return (words[at + 1] as number) * 2 ** 32 + (words[at] as number)
}

/** An amount of 256 bits with its excess of 64 behind it. */
function balanceAt(words: Uint32Array, at: number): Balance {
  const [low, high] = [words[at + WORD] as number, words[at + WORD + 1] as number]
  return readBalance(words, at, low === 0 && high === 0 ? 0n : (BigInt(high | 0) << 32n) | BigInt(low))
}
