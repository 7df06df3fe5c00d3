import type { EarlyForm } from './nft-transfers.ts'

/**
 * Contracts of before ERC-721, by their addresses on Ethereum: in a log alone nothing tells them from ERC-20 contracts. They are told
 * as ERC-721.
 */
const EARLY_CONTRACTS: Readonly<Record<string, EarlyForm>> = {
  // CryptoKitties
  '06012c8cf97bead5deae237070f9587f8e7a266d': 'unindexed',
  // CryptoPunks
  b47e3cd837ddf8e4c57f05d70ab865de6e193bbb: 'punks',
}

/** How the contract at an address (20 bytes) tells of what it moves; undefined where it keeps to a standard, as nearly all do. */
export function earlyFormOf(address: Uint8Array): EarlyForm | undefined {
  // Two comparisons for each log, instead of a text.
  const first = address[0]
  if (first !== 0x06 && first !== 0xb4) return undefined
  return EARLY_CONTRACTS[Buffer.from(address.buffer, address.byteOffset, address.byteLength).toString('hex')]
}
