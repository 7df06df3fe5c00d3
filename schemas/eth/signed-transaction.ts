import { recover } from 'tiny-secp256k1'
import { bytesOf, type Hex, hexOf } from './hex.ts'
import { keccak256 } from './keccak.ts'
import { encodeRlp, type RlpItem, rlpInteger } from './rlp.ts'
import { RlpWriter } from './rlp-writer.ts'

interface AccessListEntry {
  readonly address: string
  readonly storageKeys: readonly string[]
}

interface Authorization {
  readonly chainId: string
  readonly address: string
  readonly nonce: string
  readonly yParity: string
  readonly r: string
  readonly s: string
}

/** A signed transaction as JSON-RPC shows it. Nodes differ in whether they tell a field that a type does not have as null. */
export interface SignedTransaction {
  readonly type?: string | undefined
  readonly chainId?: string | null | undefined
  readonly nonce?: string | null | undefined
  readonly gas?: string | null | undefined
  readonly gasPrice?: string | null | undefined
  readonly maxFeePerGas?: string | null | undefined
  readonly maxPriorityFeePerGas?: string | null | undefined
  readonly maxFeePerBlobGas?: string | null | undefined
  readonly to?: string | null | undefined
  readonly value: string
  readonly input?: string | null | undefined
  readonly accessList?: readonly AccessListEntry[] | null | undefined
  readonly blobVersionedHashes?: readonly string[] | null | undefined
  readonly authorizationList?: readonly Authorization[] | null | undefined
  readonly r?: string | null | undefined
  readonly s?: string | null | undefined
  readonly v?: string | null | undefined
  readonly yParity?: string | null | undefined
}

type Quantity = string | null | undefined

/** An absent field has the bytes of zero: then the hash of the whole is another one. */
function quantity(hex: Quantity): Uint8Array {
  return rlpInteger(BigInt(hex ?? '0x0'))
}

function accessList(entries: readonly AccessListEntry[]): RlpItem {
  return entries.map((entry) => [bytesOf(entry.address), entry.storageKeys.map(bytesOf)])
}

function authorizations(entries: readonly Authorization[]): RlpItem {
  return entries.map(({ chainId, address, nonce, yParity, r, s }) => [
    quantity(chainId),
    bytesOf(address),
    ...[nonce, yParity, r, s].map(quantity),
  ])
}

const LEGACY_TYPE = 0
const PRICED_TYPE = 1

/** Fields that only transactions of this type have, behind those of all types. */
const OWN_FIELDS: Readonly<Record<number, (tx: SignedTransaction) => RlpItem[]>> = {
  0: () => [],
  1: () => [],
  2: () => [],
  3: (tx) => [quantity(tx.maxFeePerBlobGas), (tx.blobVersionedHashes ?? []).map(bytesOf)],
  4: (tx) => [authorizations(tx.authorizationList ?? [])],
}

/** EIP-2718 type, 0 for legacy. */
export function transactionType({ type }: Pick<SignedTransaction, 'type'>): number {
  return Number(type ?? LEGACY_TYPE)
}

/** Whether the encoding of transactions of this type is known: legacy, EIP-2930, EIP-1559, EIP-4844, EIP-7702. */
export function isKnownType(type: number): boolean {
  return OWN_FIELDS[type] !== undefined
}

/** All fields but the signature, in the order of their RLP list (EIP-2930, EIP-1559, EIP-4844, EIP-7702). */
function unsignedFields(tx: SignedTransaction): RlpItem[] {
  const type = transactionType(tx)
  const ownFields = OWN_FIELDS[type]
  if (ownFields === undefined) throw new Error(`transaction type ${type} has no known encoding`)
  const fees = type <= PRICED_TYPE ? [tx.gasPrice] : [tx.maxPriorityFeePerGas, tx.maxFeePerGas]
  const common = [
    ...[tx.nonce, ...fees, tx.gas].map(quantity),
    bytesOf(tx.to ?? '0x'),
    quantity(tx.value),
    bytesOf(tx.input ?? '0x'),
  ]
  if (type === LEGACY_TYPE) return common
  return [quantity(tx.chainId), ...common, accessList(tx.accessList ?? []), ...ownFields(tx)]
}

function enveloped(type: number, fields: readonly RlpItem[]): Uint8Array {
  const body = encodeRlp(fields)
  if (type === LEGACY_TYPE) return body
  const typed = new Uint8Array(1 + body.length)
  typed[0] = type
  typed.set(body, 1)
  return typed
}

/** The EIP-2718 bytes of a signed transaction of a known type as they stand in a block: what its hash is taken of. */
export function encodeTransaction(tx: SignedTransaction): Uint8Array {
  return writeTransaction(new RlpWriter(), tx)
}

/** The same of all transactions of a block; good until the next block. */
export function encodeTransactions(transactions: readonly SignedTransaction[]): readonly Uint8Array[] {
  blockWriter.reset()
  return transactions.map((tx) => writeTransaction(blockWriter, tx))
}

/** Of one block at a time. */
const blockWriter = new RlpWriter()

/** Fields as `unsignedFields` and the signature have them, last to first. */
function writeTransaction(writer: RlpWriter, tx: SignedTransaction): Uint8Array {
  const type = transactionType(tx)
  const writeOwnFields = WRITE_OWN_FIELDS[type]
  if (writeOwnFields === undefined) throw new Error(`transaction type ${type} has no known encoding`)
  const end = writer.mark
  writer.quantity(tx.s)
  writer.quantity(tx.r)
  writer.quantity(type === LEGACY_TYPE ? tx.v : (tx.yParity ?? tx.v))
  writeOwnFields(writer, tx)
  if (type !== LEGACY_TYPE) writeAccessList(writer, tx.accessList ?? [])
  writer.hex(tx.input ?? '0x')
  writer.quantity(tx.value)
  writer.hex(tx.to ?? '0x')
  writer.quantity(tx.gas)
  if (type <= PRICED_TYPE) writer.quantity(tx.gasPrice)
  else {
    writer.quantity(tx.maxFeePerGas)
    writer.quantity(tx.maxPriorityFeePerGas)
  }
  writer.quantity(tx.nonce)
  if (type !== LEGACY_TYPE) writer.quantity(tx.chainId)
  writer.closeList(end)
  if (type !== LEGACY_TYPE) writer.rawByte(type)
  return writer.take(end)
}

const WRITE_OWN_FIELDS: Readonly<Record<number, (writer: RlpWriter, tx: SignedTransaction) => void>> = {
  0: () => {},
  1: () => {},
  2: () => {},
  3(writer, tx) {
    writeHashes(writer, tx.blobVersionedHashes ?? [])
    writer.quantity(tx.maxFeePerBlobGas)
  },
  4(writer, tx) {
    const end = writer.mark
    for (const entry of (tx.authorizationList ?? []).toReversed()) writeAuthorization(writer, entry)
    writer.closeList(end)
  },
}

function writeHashes(writer: RlpWriter, hashes: readonly string[]): void {
  const end = writer.mark
  for (let i = hashes.length - 1; i >= 0; i--) writer.hex(hashes[i] as string)
  writer.closeList(end)
}

function writeAccessList(writer: RlpWriter, entries: readonly AccessListEntry[]): void {
  const end = writer.mark
  for (const { address, storageKeys } of entries.toReversed()) {
    const endOfEntry = writer.mark
    writeHashes(writer, storageKeys)
    writer.hex(address)
    writer.closeList(endOfEntry)
  }
  writer.closeList(end)
}

function writeAuthorization(writer: RlpWriter, { chainId, address, nonce, yParity, r, s }: Authorization): void {
  const end = writer.mark
  for (const part of [s, r, yParity, nonce]) writer.quantity(part)
  writer.hex(address)
  writer.quantity(chainId)
  writer.closeList(end)
}

/** What `v` of a legacy transaction begins with, without a chain id and with one (yellow paper, appendix F; EIP-155). */
const V_WITHOUT_CHAIN = 27n
const V_WITH_CHAIN = 35n

/** The bytes that were signed, and which of the two keys signed them. */
function signedPart(tx: SignedTransaction): { readonly bytes: Uint8Array; readonly recovery: number } {
  const type = transactionType(tx)
  const fields = unsignedFields(tx)
  if (type !== LEGACY_TYPE) return { bytes: enveloped(type, fields), recovery: Number(tx.yParity ?? tx.v) }
  const v = BigInt(tx.v ?? '0x0')
  if (v < V_WITH_CHAIN) return { bytes: encodeRlp(fields), recovery: Number(v - V_WITHOUT_CHAIN) }
  const chainId = (v - V_WITH_CHAIN) / 2n
  const bytes = encodeRlp([...fields, rlpInteger(chainId), rlpInteger(0), rlpInteger(0)])
  return { bytes, recovery: Number((v - V_WITH_CHAIN) % 2n) }
}

/** What the sender of a transaction signs; of a legacy one `v` says whether the chain id belongs to it. */
export function signingBytes(tx: SignedTransaction): Uint8Array {
  return signedPart(tx).bytes
}

const ADDRESS_FROM = 12
const SIGNATURE_PART_DIGITS = 64

/** Who signed a transaction of a known type; undefined where the signature is nobody's. It costs about 0.3 milliseconds. */
export function signerOf(tx: SignedTransaction): Hex | undefined {
  const { bytes, recovery } = signedPart(tx)
  if (recovery !== 0 && recovery !== 1) return undefined
  try {
    const publicKey = recover(keccak256(bytes), signatureOf(tx), recovery)
    // The first byte says that both coordinates follow.
    return publicKey === null ? undefined : hexOf(keccak256(publicKey.subarray(1)).subarray(ADDRESS_FROM))
  } catch {
    return undefined // r or s is not a number that a signature can have
  }
}

/** r and s, 32 bytes each. Throws where they are longer. */
function signatureOf({ r, s }: SignedTransaction): Uint8Array {
  const digits = [r, s].map((part) => (part ?? '0x0').slice(2).padStart(SIGNATURE_PART_DIGITS, '0'))
  return bytesOf(`0x${digits.join('')}`)
}
