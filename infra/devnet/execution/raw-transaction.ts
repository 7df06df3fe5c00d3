import { encodeRlp, type RlpItem, rlpInteger } from '../../../schemas/eth/trie.ts'
import type { Hex } from '../engine.ts'

interface AccessListEntry {
  readonly address: Hex
  readonly storageKeys: readonly Hex[]
}

interface Authorization {
  readonly chainId: Hex
  readonly address: Hex
  readonly nonce: Hex
  readonly yParity: Hex
  readonly r: Hex
  readonly s: Hex
}

/** A signed transaction as JSON-RPC shows it. */
export interface RpcTransaction {
  readonly type: Hex
  readonly hash: Hex
  readonly from: Hex
  readonly chainId?: Hex
  readonly nonce: Hex
  readonly gas: Hex
  readonly gasPrice?: Hex
  readonly maxFeePerGas?: Hex
  readonly maxPriorityFeePerGas?: Hex
  readonly maxFeePerBlobGas?: Hex
  readonly to: Hex | null
  readonly value: Hex
  readonly input: Hex
  readonly accessList?: readonly AccessListEntry[]
  readonly blobVersionedHashes?: readonly Hex[]
  readonly authorizationList?: readonly Authorization[]
  readonly r: Hex
  readonly s: Hex
  readonly v?: Hex
  readonly yParity?: Hex
}

/** Bytes of a hex text. */
export function bytesOf(hex: Hex): Uint8Array {
  return new Uint8Array(Buffer.from(hex.slice(2), 'hex'))
}

export function hexOf(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`
}

function quantity(hex: Hex | undefined): Uint8Array {
  return rlpInteger(BigInt(hex ?? '0x0'))
}

function accessList(entries: readonly AccessListEntry[] = []): RlpItem {
  return entries.map((entry) => [bytesOf(entry.address), entry.storageKeys.map(bytesOf)])
}

function authorizations(entries: readonly Authorization[] = []): RlpItem {
  return entries.map((entry) => [
    quantity(entry.chainId),
    bytesOf(entry.address),
    quantity(entry.nonce),
    quantity(entry.yParity),
    quantity(entry.r),
    quantity(entry.s),
  ])
}

/** Fields of a typed transaction up to its type's own ones (EIP-2930, EIP-1559, EIP-4844, EIP-7702), then the signature. */
function typedFields(tx: RpcTransaction): RlpItem[] {
  const fees = tx.type === '0x1' ? [tx.gasPrice] : [tx.maxPriorityFeePerGas, tx.maxFeePerGas]
  const own: Record<string, () => RlpItem[]> = {
    '0x1': () => [],
    '0x2': () => [],
    '0x3': () => [quantity(tx.maxFeePerBlobGas), (tx.blobVersionedHashes ?? []).map(bytesOf)],
    '0x4': () => [authorizations(tx.authorizationList)],
  }
  const ownFields = own[tx.type]
  if (ownFields === undefined) throw new Error(`transaction type ${tx.type} has no known encoding`)
  return [
    quantity(tx.chainId),
    quantity(tx.nonce),
    ...fees.map(quantity),
    quantity(tx.gas),
    bytesOf(tx.to ?? '0x'),
    quantity(tx.value),
    bytesOf(tx.input),
    accessList(tx.accessList),
    ...ownFields(),
    quantity(tx.yParity ?? tx.v),
  ]
}

/** The EIP-2718 bytes of a signed transaction as they stand in a block: what its hash is taken of. */
export function encodeTransaction(tx: RpcTransaction): Uint8Array {
  const signature = [quantity(tx.r), quantity(tx.s)]
  if (tx.type === '0x0') {
    const fields = [quantity(tx.nonce), quantity(tx.gasPrice), quantity(tx.gas), bytesOf(tx.to ?? '0x')]
    return encodeRlp([...fields, quantity(tx.value), bytesOf(tx.input), quantity(tx.v), ...signature])
  }
  const body = encodeRlp([...typedFields(tx), ...signature])
  const typed = new Uint8Array(1 + body.length)
  typed[0] = Number(tx.type)
  typed.set(body, 1)
  return typed
}
