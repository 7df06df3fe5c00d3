import type { ExecutionBlock } from '../../infra/ports/execution-source.ts'
import { bytesOf, hexOf } from '../../schemas/eth/hex.ts'
import { WORD_BYTES } from '../../schemas/eth/words.ts'
import { ADDRESS_BYTES, HASH_BYTES } from '../../schemas/events/execution-block.ts'
import { transactionColumns } from '../unit/execution-columns.ts'

// Transfers as a chain of Ethereum's size has them: many small contracts and one large one, many holders and one that holds much.

/** keccak256("Transfer(address,address,uint256)") */
const TRANSFER = bytesOf('0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef')
/** keccak256("TransferSingle(address,address,address,uint256,uint256)") */
const TRANSFER_SINGLE = bytesOf('0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62')
/** Every so manyth contract has tokens that there are many of. */
const EVERY_NTH_IS_1155 = 5
const NO_BYTES = new Uint8Array()
const FIRST_TIME_SEC = 1_700_000_000
const SECONDS_PER_BLOCK = 12

export interface TokenChainSize {
  readonly transfers: number
  readonly transfersPerBlock: number
  readonly tokens: number
  readonly contracts: number
  readonly holders: number
  /** Tokens of the large contract, each of a holder of its own at first. */
  readonly tokensOfLarge: number
  /** Tokens that go to the one who holds much. */
  readonly tokensOfWhale: number
}

export const LARGE_CONTRACT = 0
export const WHALE = 1

/** 20 bytes, spread as hashes are: of a contract or a holder by its number. */
export function addressOf(kind: 'contract' | 'holder', number: number): Uint8Array {
  const bytes = new Uint8Array(ADDRESS_BYTES)
  const view = new DataView(bytes.buffer)
  let state = Math.imul(number + 1, 0x9e3779b1) ^ (kind === 'contract' ? 0x85ebca6b : 0xc2b2ae35)
  for (let at = 0; at < ADDRESS_BYTES; at += 4) {
    state = mix(state + at)
    view.setUint32(at, state >>> 0)
  }
  return bytes
}

function mix(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}

/** Blocks one after the other, with hashes of their numbers. First every token is made, then they move at random. */
export function* tokenChain(size: TokenChainSize): Generator<ExecutionBlock> {
  const holderOf = new Int32Array(size.tokens).fill(-1)
  let seed = 1
  const random = (below: number): number => {
    seed = mix(seed + 0x9e3779b1)
    return (seed >>> 0) % below
  }
  for (let first = 0, number = 1; first < size.transfers; first += size.transfersPerBlock, number++) {
    const moves = Math.min(size.transfersPerBlock, size.transfers - first)
    const block = emptyBlock(number, moves)
    for (let i = 0; i < moves; i++) {
      const made = first + i
      const token = made < size.tokens ? made : movedToken(random(size.tokens - size.tokensOfWhale), size)
      const from = holderOf[token] as number
      const to = receiverOf(made, token, size, random)
      holderOf[token] = to
      putLog(block, i, { contract: contractOf(token, size), token, from, to })
    }
    yield block
  }
}

/** Of all tokens but those that stay with the one who holds much. */
function movedToken(number: number, { tokensOfLarge, tokensOfWhale }: TokenChainSize): number {
  return number < tokensOfLarge ? number : number + tokensOfWhale
}

function receiverOf(made: number, token: number, size: TokenChainSize, random: (below: number) => number): number {
  const ofWhale = token >= size.tokensOfLarge && token < size.tokensOfLarge + size.tokensOfWhale
  if (ofWhale) return WHALE
  return made < size.tokensOfLarge ? made : random(size.holders)
}

/** So far apart are the numbers that blocks of branches have their hashes of. */
const BRANCH = 2 ** 24

/** Blocks of a branch, counted from 1 on, that follow on a block of the chain: tokens move at random, whoever has them. */
export function* tokenBranch(
  size: TokenChainSize,
  { fork, branch, blocks }: { readonly fork: number; readonly branch: number; readonly blocks: number },
): Generator<ExecutionBlock> {
  let seed = branch
  const random = (below: number): number => {
    seed = mix(seed + 0x9e3779b1)
    return (seed >>> 0) % below
  }
  const idOf = (number: number): number => (number > fork ? branch * BRANCH + number : number)
  for (let number = fork + 1; number <= fork + blocks; number++) {
    const block = emptyBlock(number, size.transfersPerBlock, idOf)
    for (let i = 0; i < size.transfersPerBlock; i++) {
      const token = movedToken(random(size.tokens - size.tokensOfWhale), size)
      const [from, to] = [random(size.holders), random(size.holders)]
      putLog(block, i, { contract: contractOf(token, size), token, from, to })
    }
    yield block
  }
}

function contractOf(token: number, { tokensOfLarge, contracts }: TokenChainSize): number {
  return token < tokensOfLarge ? LARGE_CONTRACT : 1 + ((token - tokensOfLarge) % (contracts - 1))
}

function emptyBlock(number: number, logs: number, idOf = (own: number): number => own): ExecutionBlock {
  return {
    header: {
      number,
      hash: hashOf(idOf(number)),
      parentHash: hashOf(idOf(number - 1)),
      timestampSec: FIRST_TIME_SEC + SECONDS_PER_BLOCK * number,
      coinbase: `0x${'00'.repeat(ADDRESS_BYTES)}`,
      extraData: '0x',
      baseFeePerGasWei: '0',
      gasUsed: 0,
    },
    matchesHash: true,
    logsCheck: 'receipts',
    hasOutcomes: true,
    provenSenders: [],
    withdrawals: [],
    columns: transactionColumns([]),
    logs: {
      logIndex: new Uint32Array(logs),
      transactionIndex: new Uint32Array(logs),
      transactionHash: new Uint8Array(logs * HASH_BYTES),
      address: new Uint8Array(logs * ADDRESS_BYTES),
      topics: new Array<Uint8Array>(logs).fill(NO_BYTES),
      data: new Array<Uint8Array>(logs).fill(NO_BYTES),
    },
  }
}

function hashOf(number: number): string {
  const bytes = new Uint8Array(HASH_BYTES)
  const view = new DataView(bytes.buffer)
  for (let at = 0; at < HASH_BYTES - 4; at += 4) view.setUint32(at, mix(number + at) >>> 0)
  view.setUint32(HASH_BYTES - 4, number)
  return hexOf(bytes)
}

interface Move {
  readonly contract: number
  readonly token: number
  /** -1: nobody. */
  readonly from: number
  readonly to: number
}

function putLog({ header, logs }: ExecutionBlock, row: number, { contract, token, from, to }: Move): void {
  logs.logIndex[row] = row
  logs.transactionIndex[row] = row
  const hash = logs.transactionHash.subarray(row * HASH_BYTES, (row + 1) * HASH_BYTES)
  new DataView(hash.buffer, hash.byteOffset).setUint32(0, header.number)
  new DataView(hash.buffer, hash.byteOffset).setUint32(4, row)
  logs.address.set(addressOf('contract', contract), row * ADDRESS_BYTES)
  const isMany = contract !== LARGE_CONTRACT && contract % EVERY_NTH_IS_1155 === 0
  const topics = logs.topics as Uint8Array[]
  const data = logs.data as Uint8Array[]
  const people = [from === -1 ? new Uint8Array(ADDRESS_BYTES) : addressOf('holder', from), addressOf('holder', to)]
  topics[row] = isMany
    ? words(TRANSFER_SINGLE, addressOf('holder', to), ...people)
    : words(TRANSFER, ...people, numberBytes(token))
  data[row] = isMany ? words(numberBytes(token), numberBytes(1)) : new Uint8Array()
}

function numberBytes(value: number): Uint8Array {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value)
  return bytes
}

/** Each at the end of a word. */
function words(...values: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(values.length * WORD_BYTES)
  for (const [i, value] of values.entries()) bytes.set(value, (i + 1) * WORD_BYTES - value.length)
  return bytes
}
