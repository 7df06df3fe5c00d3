import { keccak256 } from './keccak.ts'

const CAPITAL_FROM = 8

/** Whether letters of both cases are those of the checksum of EIP-55; letters of one case have none. */
export function hasRightChecksum(address: string): boolean {
  const digits = address.slice(2)
  if (digits === digits.toLowerCase() || digits === digits.toUpperCase()) return true
  return checksumAddress(address.toLowerCase()) === address
}

/**
 * An address, lower-case hex with 0x as it is stored, with the checksum of EIP-55 as it is answered: a letter is a capital where the hex
 * digit of the hash of the text at its place is 8 or more. Not viem's: loading viem is a third of a start's work.
 */
export function checksumAddress(stored: string): string {
  const digits = stored.slice(2)
  const hash = keccak256(Buffer.from(digits, 'latin1'))
  let text = '0x'
  for (let i = 0; i < digits.length; i++) {
    const byte = hash[i >> 1] ?? 0
    const nibble = i % 2 === 0 ? byte >> 4 : byte & 0x0f
    const digit = digits.charAt(i)
    text += nibble >= CAPITAL_FROM ? digit.toUpperCase() : digit
  }
  return text
}
