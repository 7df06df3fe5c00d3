import { bytesOf, type Hex, hexOf } from './hex.ts'
import { keccak256 } from './keccak.ts'
import type { RlpItem } from './rlp.ts'
import { decodeRlp } from './rlp.ts'
import { encodeTransaction, type SignedTransaction, signerOf } from './signed-transaction.ts'
import type { Wei } from './units.ts'

/** What nodes take into their pools (geth, txMaxSize). */
export const RAW_TRANSACTION_BYTES_MAX = 131_072

/** A signed transaction of type 0 with a chain id, 1 or 2, as its bytes say it. */
export interface RawTransaction {
  /** Lower-case hex of the bytes that are sent. */
  readonly raw: Hex
  readonly hash: Hex
  /** Who has signed it. */
  readonly sender: Hex
  readonly chainId: number
  readonly nonce: number
  /** Undefined where it creates a contract. */
  readonly to: Hex | undefined
  readonly valueWei: Wei
  readonly data: Hex
  readonly gas: bigint
  /** Of type 2; the gas price of the others. */
  readonly maxFeePerGasWei: Wei
  readonly accessList: readonly AccessListEntry[]
}

interface AccessListEntry {
  readonly address: Hex
  readonly storageKeys: readonly Hex[]
}

export type RawTransactionFault = 'malformed_transaction' | 'unsupported_type' | 'no_chain_id' | 'bad_signature'

export type ParsedRawTransaction =
  | { readonly status: 'ok'; readonly transaction: RawTransaction }
  | { readonly status: 'refused'; readonly reason: RawTransactionFault; readonly sentence: string }

/** First bytes of what is no typed transaction: an RLP list. */
const LIST_FROM = 0xc0
/** Names of the fields in the order of their list (EIP-155, EIP-2930, EIP-1559). */
const FIELDS = {
  0: ['nonce', 'gasPrice', 'gas', 'to', 'value', 'input', 'v', 'r', 's'],
  1: ['chainId', 'nonce', 'gasPrice', 'gas', 'to', 'value', 'input', 'accessList', 'yParity', 'r', 's'],
  2: [
    ...['chainId', 'nonce', 'maxPriorityFeePerGas', 'maxFeePerGas', 'gas', 'to', 'value', 'input', 'accessList'],
    ...['yParity', 'r', 's'],
  ],
} as const
type Type = keyof typeof FIELDS

/** Bytes that an integer has at most. */
const INTEGER_BYTES_MAX: Readonly<Record<string, number>> = {
  ...{ chainId: 6, nonce: 6, gas: 8, yParity: 1, v: 6 },
  ...{ gasPrice: 32, maxFeePerGas: 32, maxPriorityFeePerGas: 32, value: 32, r: 32, s: 32 },
}
const ADDRESS_BYTES = 20
const WORD_BYTES = 32

/**
 * Reads what `eth_sendRawTransaction` takes; hex of either case. Strict: one way to write a transaction is allowed, so that its hash
 * names it, and the sender is who the signature proves.
 */
export function parseRawTransaction(text: string): ParsedRawTransaction {
  if (!/^0[xX](?:[0-9a-fA-F]{2})+$/.test(text)) return malformed('is no hex')
  const bytes = bytesOf(text)
  if (bytes.length > RAW_TRANSACTION_BYTES_MAX) return malformed(`is larger than ${RAW_TRANSACTION_BYTES_MAX} bytes`)
  const first = bytes[0] ?? 0
  const type = first >= LIST_FROM ? 0 : first
  if (!isKnown(type))
    return refused('unsupported_type', `a transaction of type ${type} is not taken: send one of type 2`)
  const item = decodeRlp(type === 0 ? bytes : bytes.subarray(1))
  const signed = item === undefined ? undefined : signedTransaction(type, item)
  if (signed === undefined) return malformed(`is not the canonical RLP of a signed transaction of type ${type}`)
  return checked(bytes, signed)
}

function checked(bytes: Uint8Array, { fields, transaction }: Signed): ParsedRawTransaction {
  const chainId = chainIdOf(fields)
  if (chainId === undefined)
    return refused('no_chain_id', 'the transaction is signed for no chain, so that any chain would take it (EIP-155)')
  if (BigInt(fields.maxPriorityFeePerGas ?? '0x0') > BigInt(fields.maxFeePerGas ?? fields.gasPrice ?? '0x0'))
    return malformed('has a maxPriorityFeePerGas above its maxFeePerGas')
  const sender = hasOneSignature(fields) ? signerOf(transaction) : undefined
  if (sender === undefined) return refused('bad_signature', 'the signature of the transaction is none (EIP-2)')
  // What is not written as nodes write it has another hash than they would tell.
  if (Buffer.compare(encodeTransaction(transaction), bytes) !== 0) return malformed('is not in canonical form')
  const { to, input = '0x' } = fields
  return {
    status: 'ok',
    transaction: {
      raw: hexOf(bytes),
      hash: hexOf(keccak256(bytes)),
      sender,
      chainId,
      nonce: Number(fields.nonce),
      to: to === '0x' ? undefined : to,
      valueWei: BigInt(fields.value ?? '0x0'),
      data: input,
      gas: BigInt(fields.gas ?? '0x0'),
      maxFeePerGasWei: BigInt(fields.maxFeePerGas ?? fields.gasPrice ?? '0x0'),
      accessList: (transaction.accessList ?? []) as readonly AccessListEntry[],
    },
  }
}

interface Signed {
  /** All but the access list, hex. */
  readonly fields: Readonly<Record<string, Hex>>
  readonly transaction: SignedTransaction
}

function isKnown(type: number): type is Type {
  return type in FIELDS
}

/** Undefined where a field is missing or of another form. */
function signedTransaction(type: Type, item: RlpItem): Signed | undefined {
  const names = FIELDS[type]
  if (!isList(item) || item.length !== names.length) return undefined
  const fields: Record<string, Hex> = {}
  let accessList: readonly AccessListEntry[] | undefined
  for (const [i, name] of names.entries()) {
    const value = item[i] as RlpItem
    if (name === 'accessList') {
      accessList = accessListOf(value)
      if (accessList === undefined) return undefined
      continue
    }
    const text = fieldOf(name, value)
    if (text === undefined) return undefined
    fields[name] = text
  }
  const { to, value = '0x0', ...others } = fields
  const typed = {
    ...others,
    value,
    ...(to === '0x' ? {} : { to }),
    ...(accessList === undefined ? {} : { accessList }),
  }
  return { fields, transaction: { type: `0x${type}`, ...typed } as SignedTransaction }
}

/** Integers as quantities, an address and data as their bytes. */
function fieldOf(name: string, value: RlpItem): Hex | undefined {
  if (isList(value)) return undefined
  if (name === 'input') return hexOf(value)
  if (name === 'to') return value.length === 0 || value.length === ADDRESS_BYTES ? hexOf(value) : undefined
  const isInteger = value[0] !== 0 && value.length <= (INTEGER_BYTES_MAX[name] ?? 0)
  if (!isInteger) return undefined
  return value.length === 0 ? '0x0' : `0x${BigInt(hexOf(value)).toString(16)}`
}

function accessListOf(value: RlpItem): readonly AccessListEntry[] | undefined {
  if (!isList(value)) return undefined
  const entries: AccessListEntry[] = []
  for (const entry of value) {
    if (!isList(entry) || entry.length !== 2) return undefined
    const [address, keys] = entry as readonly [RlpItem, RlpItem]
    if (!isBytes(address, ADDRESS_BYTES) || !isList(keys)) return undefined
    const words = keys.filter((key) => isBytes(key, WORD_BYTES))
    if (words.length !== keys.length) return undefined
    entries.push({ address: hexOf(address), storageKeys: words.map(hexOf) })
  }
  return entries
}

function isList(item: RlpItem): item is readonly RlpItem[] {
  return Array.isArray(item)
}

function isBytes(item: RlpItem, length: number): item is Uint8Array {
  return !isList(item) && item.length === length
}

/** `v` is chain id * 2 + 35 or 36; 27 and 28 name no chain (EIP-155). */
const V_WITH_CHAIN = 35

function chainIdOf({ chainId, v }: Readonly<Record<string, Hex>>): number | undefined {
  if (chainId !== undefined) return Number(chainId)
  const parity = Number(v) // of six bytes at most
  return parity < V_WITH_CHAIN ? undefined : Math.floor((parity - V_WITH_CHAIN) / 2)
}

/** Order of the curve secp256k1. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** Of the two signatures that every signature makes, one is allowed (EIP-2). */
function hasOneSignature({ r, s }: Readonly<Record<string, Hex>>): boolean {
  const [rValue, sValue] = [BigInt(r ?? '0x0'), BigInt(s ?? '0x0')]
  return rValue > 0n && rValue < ORDER && sValue > 0n && sValue <= ORDER / 2n
}

function malformed(what: string): ParsedRawTransaction {
  return refused('malformed_transaction', `signed_transaction ${what}`)
}

function refused(reason: RawTransactionFault, sentence: string): ParsedRawTransaction {
  return { status: 'refused', reason, sentence }
}
