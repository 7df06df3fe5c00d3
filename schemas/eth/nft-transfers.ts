import { bytesOf } from './hex.ts'
import { KEPT_EVENTS } from './kept-logs.ts'
import { addressAt, isZero, numberAt, WORD_BYTES, wordAt } from './words.ts'

/** What a token is by the log that moved it. Those of before the standards are told as ERC-721. */
export const TOKEN_STANDARDS = ['ERC721', 'ERC1155'] as const
export type TokenStandard = (typeof TOKEN_STANDARDS)[number]

/** One token, or one range of tokens, that went from one address to another. All bytes are views of the log's. */
export interface TokenTransfer {
  /** 20 bytes; zeros where it was made. */
  readonly from: Uint8Array
  /** 20 bytes; zeros where it ended. */
  readonly to: Uint8Array
  /** 32 bytes, big-endian: the token, or the first one of a range. */
  readonly tokenId: Uint8Array
  /** 32 bytes, big-endian: the last one, which differs in ranges alone (ERC-2309). */
  readonly lastTokenId: Uint8Array
  /** 32 bytes, big-endian: of each token; 1 where it is one of a kind, 0 where it only says whom the next one of its contract goes to. */
  readonly amount: Uint8Array
}

/** What a log says about tokens. */
export type TransferLog =
  | {
      readonly kind: 'transfers'
      readonly event: TransferEvent
      readonly standard: TokenStandard
      /** In the order of the log; a batch may be empty. */
      readonly transfers: readonly TokenTransfer[]
    }
  /** Has the topic of an event that moves tokens, and not its form: nothing can be made of it. */
  | { readonly kind: 'malformed'; readonly event: TransferEvent }
  /** Moves nothing that is one of a kind, or of an ERC-1155 contract. */
  | { readonly kind: 'other' }

/** A log, as a block has it. */
export interface RawLog {
  /** 32 bytes for each of up to four topics. */
  readonly topics: Uint8Array
  /** All of it. */
  readonly data: Uint8Array
}

/** How a contract of before ERC-721 tells of what it moves. Nobody can see it in a log: an old ERC-20 contract has the same forms. */
export type EarlyForm =
  /** `Transfer` without an indexed field, as CryptoKitties has it. */
  | 'unindexed'
  /** `Transfer` with two indexed fields, as ERC-20 has it; the third is the token. */
  | 'two_indexed'
  /** CryptoPunks. */
  | 'punks'

export interface LogOrigin {
  /** Undefined for contracts that keep to a standard: nearly all. */
  readonly early: EarlyForm | undefined
  /** What the same contract logged before it in the same transaction; `elsewhere`: that may be among logs that are not here. */
  readonly before: RawLog | 'elsewhere' | undefined
  /** What the same contract logged behind it in the same transaction may be among logs that are not here. */
  readonly isCutOff: boolean
}

type Read = (log: RawLog, origin: LogOrigin) => readonly TokenTransfer[] | undefined

interface Form {
  readonly standard: TokenStandard
  /** Whether logs of this topic, of this origin and with so many topics, move tokens at all. */
  readonly isMove: (log: RawLog, origin: LogOrigin) => boolean
  /** Undefined where the log has not the event's form. */
  readonly read: Read
}

const INDEXED_THREE = 4 * WORD_BYTES
const ADDRESS_BYTES = 20
const NOBODY = new Uint8Array(ADDRESS_BYTES)
const NO_AMOUNT = new Uint8Array(WORD_BYTES)
const ONE = new Uint8Array(WORD_BYTES)
ONE[WORD_BYTES - 1] = 1

const always = () => true
const ofPunks = (_: RawLog, { early }: LogOrigin) => early === 'punks'

/** Events that move tokens, by their signatures. ERC-20's `Transfer` is ERC-721's, with a field less that is indexed. */
const FORMS = {
  'Transfer(address,address,uint256)': {
    event: 'Transfer',
    standard: 'ERC721',
    isMove: isTransfer,
    read: readTransfer,
  },
  'ERC721Transfer(address,address,uint256)': {
    event: 'ERC721Transfer',
    standard: 'ERC721',
    isMove: always,
    read: readIndexed,
  },
  'ConsecutiveTransfer(uint256,uint256,address,address)': {
    event: 'ConsecutiveTransfer',
    standard: 'ERC721',
    isMove: always,
    read: readRange,
  },
  'TransferSingle(address,address,address,uint256,uint256)': {
    event: 'TransferSingle',
    standard: 'ERC1155',
    isMove: always,
    read: readSingle,
  },
  'TransferBatch(address,address,address,uint256[],uint256[])': {
    event: 'TransferBatch',
    standard: 'ERC1155',
    isMove: always,
    read: readBatch,
  },
  'Assign(address,uint256)': { event: 'Assign', standard: 'ERC721', isMove: ofPunks, read: readAssign },
  'PunkTransfer(address,address,uint256)': {
    event: 'PunkTransfer',
    standard: 'ERC721',
    isMove: ofPunks,
    read: (log) => readTwoIndexed(log),
  },
  'PunkBought(uint256,uint256,address,address)': {
    event: 'PunkBought',
    standard: 'ERC721',
    isMove: ofPunks,
    read: readPunkBought,
  },
} as const satisfies Readonly<Record<string, Form & { readonly event: string }>>

/** The event that told of a transfer. */
export type TransferEvent = (typeof FORMS)[keyof typeof FORMS]['event']
export const TRANSFER_EVENTS: readonly TransferEvent[] = [...new Set(Object.values(FORMS).map(({ event }) => event))]

interface KnownEvent extends Form {
  readonly event: TransferEvent
  /** 32 bytes. */
  readonly topic: Uint8Array
}

/** By the first four bytes of their topics, which differ. */
const BY_TOPIC: ReadonlyMap<number, KnownEvent> = new Map(
  KEPT_EVENTS.flatMap(({ signature, topic }) => {
    const form = FORMS[signature as keyof typeof FORMS] as (Form & { readonly event: TransferEvent }) | undefined
    return form === undefined ? [] : [[prefixOf(bytesOf(topic)), { ...form, topic: bytesOf(topic) }] as const]
  }),
)

/** The tokens that a log moves. Never throws: a contract may log whatever it likes, and one log stops no block. */
export function decodeTransfers(log: RawLog, origin: LogOrigin): TransferLog {
  const { topics } = log
  const known = topics.length < WORD_BYTES ? undefined : BY_TOPIC.get(prefixOf(topics))
  if (known === undefined || !beginsWith(topics, known.topic) || !known.isMove(log, origin)) return { kind: 'other' }
  const { event, standard } = known
  const transfers = known.read(log, origin)
  return transfers === undefined ? { kind: 'malformed', event } : { kind: 'transfers', event, standard, transfers }
}

/** Of the Punks' own it is told only where the bid that it belongs to may be elsewhere. */
function isTransfer(log: RawLog, { early, isCutOff }: LogOrigin): boolean {
  if (early === undefined) return log.topics.length === INDEXED_THREE
  return early !== 'punks' || (isCutOff && receiverOf(log) !== undefined)
}

function readTransfer(log: RawLog, origin: LogOrigin): readonly TokenTransfer[] | undefined {
  switch (origin.early) {
    case 'unindexed':
      return readUnindexed(log)
    case 'two_indexed':
      return readTwoIndexed(log)
    case 'punks':
      return readTwoIndexed(log, NO_AMOUNT)
    default:
      return readIndexed(log)
  }
}

/** from, to and token indexed (EIP-721). */
function readIndexed({ topics, data }: RawLog): readonly TokenTransfer[] | undefined {
  if (topics.length !== INDEXED_THREE || data.length > 0) return undefined
  return single({ from: addressAt(topics, 32), to: addressAt(topics, 64), tokenId: wordAt(topics, 96) })
}

function readTwoIndexed({ topics, data }: RawLog, amount = ONE): readonly TokenTransfer[] | undefined {
  if (topics.length !== 3 * WORD_BYTES || data.length !== WORD_BYTES) return undefined
  return single({ from: addressAt(topics, 32), to: addressAt(topics, 64), tokenId: wordAt(data, 0), amount })
}

function readUnindexed({ topics, data }: RawLog): readonly TokenTransfer[] | undefined {
  if (topics.length !== WORD_BYTES || data.length !== 3 * WORD_BYTES) return undefined
  return single({ from: addressAt(data, 0), to: addressAt(data, 32), tokenId: wordAt(data, 64) })
}

/** First token, from and to indexed; the last token, which counts, in the data (EIP-2309). */
function readRange({ topics, data }: RawLog): readonly TokenTransfer[] | undefined {
  if (topics.length !== INDEXED_THREE || data.length !== WORD_BYTES) return undefined
  const range = { from: addressAt(topics, 64), to: addressAt(topics, 96), tokenId: wordAt(topics, 32) }
  const lastTokenId = wordAt(data, 0)
  if (range.tokenId === undefined || lastTokenId === undefined || isAbove(range.tokenId, lastTokenId)) return undefined
  return single({ ...range, lastTokenId })
}

/** operator, from and to indexed; token and amount in the data (EIP-1155). */
function readSingle({ topics, data }: RawLog): readonly TokenTransfer[] | undefined {
  if (topics.length !== INDEXED_THREE || data.length !== 2 * WORD_BYTES) return undefined
  const amount = wordAt(data, 32)
  return single({ from: addressAt(topics, 64), to: addressAt(topics, 96), tokenId: wordAt(data, 0), amount })
}

/** As `readSingle`, with two arrays, which must be of one length: whoever took the shorter one was lied to. */
function readBatch({ topics, data }: RawLog): readonly TokenTransfer[] | undefined {
  if (topics.length !== INDEXED_THREE) return undefined
  const [from, to] = [addressAt(topics, 64), addressAt(topics, 96)]
  const [ids, amounts] = [wordsOf(data, 0), wordsOf(data, WORD_BYTES)]
  if (from === undefined || to === undefined || ids === undefined || ids.length !== amounts?.length) return undefined
  const transfers: TokenTransfer[] = []
  for (let at = 0; at < ids.length; at += WORD_BYTES) {
    const tokenId = ids.subarray(at, at + WORD_BYTES)
    transfers.push({ from, to, tokenId, lastTokenId: tokenId, amount: amounts.subarray(at, at + WORD_BYTES) })
  }
  return transfers
}

function readAssign({ topics, data }: RawLog): readonly TokenTransfer[] | undefined {
  if (topics.length !== 2 * WORD_BYTES || data.length !== WORD_BYTES) return undefined
  return single({ from: NOBODY, to: addressAt(topics, 32), tokenId: wordAt(data, 0) })
}

/**
 * Punk, from and to indexed, the price in the data. An accepted bid has neither price nor receiver: the contract clears the bid before
 * it logs it (larvalabs/cryptopunks#19). Its receiver is that of the `Transfer` before; nobody where that is elsewhere, for whoever has both.
 */
function readPunkBought({ topics, data }: RawLog, { before }: LogOrigin): readonly TokenTransfer[] | undefined {
  if (topics.length !== INDEXED_THREE || data.length !== WORD_BYTES) return undefined
  const told = { from: addressAt(topics, 64), to: addressAt(topics, 96), tokenId: wordAt(topics, 32) }
  const isBid = told.to !== undefined && isZero(told.to) && isZero(data)
  if (!isBid || before === 'elsewhere') return single(told)
  return single({ ...told, to: before && receiverOf(before) })
}

/** Of the Punks' own `Transfer`, which tells how many and not which. */
function receiverOf({ topics, data }: RawLog): Uint8Array | undefined {
  if (topics.length !== 3 * WORD_BYTES || data.length !== WORD_BYTES) return undefined
  return beginsWith(topics, TRANSFER) ? addressAt(topics, 64) : undefined
}

const TRANSFER = bytesOf(KEPT_EVENTS[0].topic)

/** What was read of a transfer: undefined what the log does not have. */
type Told = {
  readonly [Field in keyof TokenTransfer]?: TokenTransfer[Field] | undefined
}

/** One transfer, where all of it is there. */
function single({
  from,
  to,
  tokenId,
  lastTokenId = tokenId,
  amount = ONE,
}: Told): readonly TokenTransfer[] | undefined {
  if (from === undefined || to === undefined || tokenId === undefined || lastTokenId === undefined) return undefined
  return [{ from, to, tokenId, lastTokenId, amount }]
}

/** The words of the array whose offset stands at a place; undefined where the data does not have all of it. */
function wordsOf(data: Uint8Array, place: number): Uint8Array | undefined {
  const offset = numberAt(data, place)
  const count = offset === undefined ? undefined : numberAt(data, offset)
  if (offset === undefined || count === undefined) return undefined
  const from = offset + WORD_BYTES
  const to = from + count * WORD_BYTES
  return to > data.length ? undefined : data.subarray(from, to)
}

/** Whether a number is above another; both have 32 bytes. */
function isAbove(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) > 0
}

function beginsWith(bytes: Uint8Array, beginning: Uint8Array): boolean {
  for (let i = 0; i < beginning.length; i++) if (bytes[i] !== beginning[i]) return false
  return true
}

/** Its first four bytes. */
function prefixOf(topic: Uint8Array): number {
  const [first, second, third, fourth] = [topic[0], topic[1], topic[2], topic[3]] as [number, number, number, number]
  return (first << 24) | (second << 16) | (third << 8) | fourth
}
