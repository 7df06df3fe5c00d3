import { TOTAL_KINDS } from '../../schemas/tables/nft.ts'
import type { TimeSlices } from '../loop/time-slices.ts'
import { type Balance, readBalance, sum } from './balance.ts'
import { Balances, FigureRows, Figures, Touched } from './figures.ts'
import { KeyTable } from './key-table.ts'
import { HOLDING, TOTAL } from './read-step.ts'
import { type JournalLimits, UndoJournal } from './undo-journal.ts'

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
  readonly transfers: Figures
  readonly singles: Figures

  constructor(rows: FigureRows, journal: UndoJournal) {
    this.transfers = new Figures(rows, journal)
    this.singles = new Figures(rows, journal)
  }

  add(key: number, isMany: boolean): void {
    this.transfers.add(key, 1)
    if (!isMany) this.singles.add(key, 1)
  }

  load(key: number, words: Uint32Array, at: number): void {
    this.transfers.set(key, numberAt(words, at))
    this.singles.set(key, numberAt(words, at + NUMBER))
  }
}

/** How many keys there are of each kind: those from one count up to a later one came between. */
export interface Sizes {
  readonly accounts: number
  readonly contracts: number
  readonly tokens: number
  readonly holdings: number
  readonly pairs: number
}

/** Keys of all kinds. */
export const keysOf = ({ accounts, contracts, tokens, holdings, pairs }: Sizes): number =>
  accounts + contracts + tokens + holdings + pairs

/**
 * What blocks touch, as it stands after the blocks that are folded: contracts, accounts, tokens, what accounts have of tokens that there
 * are many of (holdings), and what they have of contracts (pairs), each by a number of its own. It is what the tables tell of the keys
 * that are there; of others they tell nothing where it is whole.
 */
export class FoldState {
  /** Whether it knows all that is folded, from the fold's first block on. */
  readonly isWhole: boolean
  /** Of all figures. Keys stay when blocks are taken back: what such blocks have not changed was so before them. */
  readonly journal = new UndoJournal()
  readonly #rows = {
    accounts: new FigureRows(7),
    contracts: new FigureRows(5),
    tokens: new FigureRows(5),
    holdings: new FigureRows(4),
    pairs: new FigureRows(3),
  }
  readonly accounts = new KeyTable(ADDRESS)
  readonly accountHoldings = new Figures(this.#rows.accounts, this.journal)
  readonly accountContracts = new Figures(this.#rows.accounts, this.journal)
  readonly sent = new TransferCounts(this.#rows.accounts, this.journal)
  readonly received = new TransferCounts(this.#rows.accounts, this.journal)

  readonly contracts = new KeyTable(ADDRESS)
  readonly contractHoldings = new Figures(this.#rows.contracts, this.journal)
  readonly contractHolders = new Figures(this.#rows.contracts, this.journal)
  readonly ofContract = new TransferCounts(this.#rows.contracts, this.journal)

  readonly tokens = new KeyTable(TOKEN_KEY)
  /** Of one that is one of a kind: an account. */
  readonly owner = new Figures(this.#rows.tokens, this.journal)
  /** 1 where somebody has or had it, as far as blocks are folded. */
  readonly isKnown = new Figures(this.#rows.tokens, this.journal)
  /** Of one that there are many of. */
  readonly tokenHolders = new Figures(this.#rows.tokens, this.journal)

  /** Token and account. */
  readonly holdings = new KeyTable(2)
  readonly balance = new Balances(this.#rows.holdings, this.journal)
  readonly sinceBlock = new Figures(this.#rows.holdings, this.journal)
  readonly sinceTimeSec = new Figures(this.#rows.holdings, this.journal)

  /** Contract and account. */
  readonly pairs = new KeyTable(2)
  readonly pairTokens = new Figures(this.#rows.pairs, this.journal)
  readonly pairAmount = new Balances(this.#rows.pairs, this.journal)

  /** What the block at hand has touched: tokens that are one of a kind, and those that there are many of; the rest as above. */
  readonly touched = {
    singles: new Touched(this.#rows.tokens),
    holdings: new Touched(this.#rows.holdings),
    pairs: new Touched(this.#rows.pairs),
    accounts: new Touched(this.#rows.accounts),
    contracts: new Touched(this.#rows.contracts),
    tokens: new Touched(this.#rows.tokens),
  }

  readonly #key = new Uint32Array(TOKEN_KEY)

  constructor({ isWhole, limits }: { readonly isWhole: boolean; readonly limits: JournalLimits }) {
    this.isWhole = isWhole
    this.journal.limits = limits
    this.accounts.numberOf(new Uint32Array(ADDRESS))
  }

  sizes(): Sizes {
    const { accounts, contracts, tokens, holdings, pairs } = this
    return {
      accounts: accounts.size,
      contracts: contracts.size,
      tokens: tokens.size,
      holdings: holdings.size,
      pairs: pairs.size,
    }
  }

  /** Makes room for all that so many transfers may touch, so that nobody has to wait while tables grow. */
  async reserve(transfers: number, slices: TimeSlices): Promise<void> {
    for (const kind of ['accounts', 'contracts', 'tokens', 'holdings', 'pairs'] as const) {
      const more = kind === 'contracts' || kind === 'tokens' ? transfers : 2 * transfers
      await this[kind].reserve(more, slices)
      await this.#rows[kind].reserve(this[kind].size + more, slices)
    }
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
    return this.pairs.numberOf(this.#both(contract, account))
  }

  holdingOf(token: number, account: number): number {
    return this.holdings.numberOf(this.#both(token, account))
  }

  isMany(token: number): boolean {
    return this.tokens.keys[token * TOKEN_KEY + 1] === 1
  }

  contractOf(token: number): number {
    return this.tokens.keys[token * TOKEN_KEY] as number
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

  /** Takes what the tables tell of tokens. Whoever has one of those that are one of a kind is a key then, with his contract. */
  async loadHoldings(rows: Uint32Array, slices: TimeSlices): Promise<void> {
    await each(rows, HOLDING.row, slices, (words, at) => {
      const contract = this.contractAt(words, at)
      const isMany = words[at + HOLDING.isMany] === 1
      const token = this.tokenAt(contract, isMany, words, at + HOLDING.tokenId)
      if (!isMany) {
        this.isKnown.set(token, 1)
        if (words[at + HOLDING.amount] !== 1) return
        const owner = this.accountAt(words, at + HOLDING.holder)
        this.owner.set(token, owner)
        this.pairOf(contract, owner)
        return
      }
      const account = this.accountAt(words, at + HOLDING.holder)
      if (account === NOBODY) this.tokenHolders.set(token, numberAt(words, at + HOLDING.amount))
      else {
        const holding = this.holdingOf(token, account)
        this.balance.set(holding, balanceAt(words, at + HOLDING.amount))
        this.sinceBlock.set(holding, numberAt(words, at + HOLDING.sinceBlock))
        this.sinceTimeSec.set(holding, words[at + HOLDING.sinceTime] as number)
      }
    })
  }

  /** The same of contracts and accounts. */
  async loadTotals(rows: Uint32Array, slices: TimeSlices): Promise<void> {
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
        this.pairAmount.set(pair, balanceAt(words, at + TOTAL.amount))
      }
    })
  }

  addToPair(pair: number, tokens: number, amount: Balance): void {
    this.pairTokens.add(pair, tokens)
    this.pairAmount.set(pair, sum(this.pairAmount.get(pair), amount))
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
