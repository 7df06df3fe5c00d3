import { bytes32, encodeCall } from './call-data.ts'
import type { Hex } from './hex.ts'
import { bytesOf } from './hex.ts'
import { isZero, numberAt, toBigInt, WORD_BYTES, wordAt } from './words.ts'

// What token contracts are asked: ERC-165, ERC-721 and ERC-1155 with their metadata.

/** Identifiers of interfaces (ERC-165). */
export const INTERFACES = {
  erc165: '0x01ffc9a7',
  none: '0xffffffff',
  erc721: '0x80ac58cd',
  erc1155: '0xd9b67a26',
} as const

export const NAME_CALL = encodeCall('0x06fdde03', [])
export const SYMBOL_CALL = encodeCall('0x95d89b41', [])
export const TOTAL_SUPPLY_CALL = encodeCall('0x18160ddd', [])

export function supportsCall(interfaceId: Hex): Hex {
  const word = new Uint8Array(WORD_BYTES)
  word.set(bytesOf(interfaceId))
  return encodeCall('0x01ffc9a7', [bytes32(word)])
}

/** `tokenURI` of ERC-721, `uri` of ERC-1155; the token has 32 bytes. */
export function tokenUriCall(standard: 'ERC721' | 'ERC1155', tokenId: Uint8Array): Hex {
  return encodeCall(standard === 'ERC721' ? '0xc87b56dd' : '0x0e89341c', [bytes32(tokenId)])
}

const decoder = new TextDecoder()

/** A text that was returned; also one of at most 32 bytes, as contracts of before strings were usual return it. */
export function decodeText(data: Uint8Array): string | undefined {
  const offset = numberAt(data, 0)
  const length = offset === undefined ? undefined : numberAt(data, offset)
  if (offset !== undefined && length !== undefined) {
    const from = offset + WORD_BYTES
    if (from + length <= data.length) return decoder.decode(data.subarray(from, from + length))
  }
  if (data.length !== WORD_BYTES) return undefined
  return decoder.decode(data).replace(/\0+$/, '')
}

/** Undefined for what is no boolean. */
export function decodeBoolean(data: Uint8Array): boolean | undefined {
  const last = data[WORD_BYTES - 1] ?? 0
  return data.length < WORD_BYTES || !isZero(data, 0, WORD_BYTES - 1) || last > 1 ? undefined : last === 1
}

export function decodeUint(data: Uint8Array): bigint | undefined {
  const word = wordAt(data, 0)
  return word === undefined ? undefined : toBigInt(word)
}
